//===- SplitKV.cpp - Split attention along the cached tokens --------------===//

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace kvq {
#define GEN_PASS_DEF_SPLITKV
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

/// The queries that each sequence has, dynamic where only qo_indptr knows.
static int64_t getQueriesPerSequence(DequantAttentionOp op) {
  auto q = cast<ShapedType>(op.getQ().getType());
  return op.getQoIndptr() ? ShapedType::kDynamic : q.getDimSize(1);
}

/// The number of chunks of `length` tokens that a page table has room for.
static OpFoldResult getChunks(OpBuilder &builder, DequantAttentionOp op,
                              int64_t length) {
  int64_t pageSize = op.getKCache().getType().getPageSize();
  OpFoldResult pages =
      tensor::getMixedSize(builder, op.getLoc(), op.getBlockTable(), 1);
  if (std::optional<int64_t> count = getConstantIntValue(pages))
    return builder.getIndexAttr(llvm::divideCeil(*count * pageSize, length));
  Value tokens = arith::MulIOp::create(
      builder, op.getLoc(),
      getValueOrCreateConstantIndexOp(builder, op.getLoc(), pages),
      arith::ConstantIndexOp::create(builder, op.getLoc(), pageSize));
  return arith::CeilDivUIOp::create(
             builder, op.getLoc(), tokens,
             arith::ConstantIndexOp::create(builder, op.getLoc(), length))
      .getResult();
}

/// Replaces an operation by one that computes parts, and their merge.
static SplitAttention split(RewriterBase &rewriter, DequantAttentionOp op,
                            int64_t length) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  OpFoldResult chunks = getChunks(rewriter, op, length);
  // The parts are merged by their lse, whether it is asked for or not.
  SmallVector<OpFoldResult> sizes{chunks};
  llvm::append_range(sizes,
                     tensor::getMixedSizes(rewriter, loc, op.getOutput()));
  Type f32 = rewriter.getF32Type();
  Value output = tensor::EmptyOp::create(rewriter, loc, sizes, f32);
  sizes.pop_back();
  Value lse = tensor::EmptyOp::create(rewriter, loc, sizes, f32);
  auto parts = DequantAttentionOp::create(
      rewriter, loc, TypeRange{output.getType(), lse.getType()}, op.getQ(),
      op.getKCache(), op.getVCache(), op.getBlockTable(), op.getSeqLens(),
      op.getQoIndptr(), op.getScale(), op.getSinks(), output, lse,
      op.getOptionsAttr(), op.getQkAttr(), op.getPvAttr(),
      rewriter.getI64IntegerAttr(length));
  parts->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  report<RemarkId::SplitAttention>(
      parts, length,
      getConstantIntValue(chunks) ? std::to_string(*getConstantIntValue(chunks))
                                  : "as many as the block table has room for");
  auto merge = rewriter.replaceOpWithNewOp<MergeStatesOp>(
      op, op->getResultTypes(), parts->getResult(0), parts->getResult(1),
      op.getOutput(), op.getLse());
  return {parts, merge};
}

std::optional<Report> kvq::splitKV(RewriterBase &rewriter,
                                   DequantAttentionOp op,
                                   const SplitKVOptions &options,
                                   SplitAttention &result) {
  if (!op.hasPureTensorSemantics())
    return Report::get<RemarkId::SplitOfMemRefs>();
  int64_t queries = getQueriesPerSequence(op);
  if (ShapedType::isDynamic(queries) && !options.splitDynamic)
    return Report::get<RemarkId::SplitOfUnknownQueries>();
  if (!ShapedType::isDynamic(queries) && queries > options.maxQueries)
    return Report::get<RemarkId::SplitOfManyQueries>(queries,
                                                     options.maxQueries);
  // Chunks begin at a page where pages are shorter than chunks.
  int64_t pageSize = op.getKCache().getType().getPageSize();
  int64_t length = pageSize <= options.splitLength
                       ? llvm::alignTo(options.splitLength, pageSize)
                       : options.splitLength;
  int64_t pages = cast<ShapedType>(op.getBlockTable().getType()).getDimSize(1);
  if (!ShapedType::isDynamic(pages) && pages * pageSize <= length)
    return Report::get<RemarkId::SplitOfShortCache>(pages * pageSize, length);
  result = split(rewriter, op, length);
  return std::nullopt;
}

namespace {

struct SplitKVPass : public kvq::impl::SplitKVBase<SplitKVPass> {
  using SplitKVBase::SplitKVBase;

  void runOnOperation() override {
    if (splitLength < 1) {
      reportError<RemarkId::SplitLengthNotPositive>(getOperation(),
                                                    int64_t(splitLength));
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    SmallVector<DequantAttentionOp> ops;
    getOperation()->walk([&](DequantAttentionOp op) {
      if (!op.getKvSplit())
        ops.push_back(op);
    });
    SplitKVOptions options{splitLength, maxQueries, splitDynamic};
    for (DequantAttentionOp op : ops) {
      SplitAttention result;
      if (std::optional<Report> miss = splitKV(rewriter, op, options, result))
        (void)miss->emit(op);
    }
  }
};

} // namespace
