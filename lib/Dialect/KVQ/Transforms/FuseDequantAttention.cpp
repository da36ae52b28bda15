//===- FuseDequantAttention.cpp - gather + attention to dequant_attention -===//
//
// The rows are decoded where attention reads them. What stands between gather
// and attention is followed by an AxisTrace: if attention gets the axes of the
// cache in their order, with heads possibly repeated, the operations are gone;
// multiplications by a number become part of the scale (K) or are done on the
// output (V).
//
//===----------------------------------------------------------------------===//

#include "AxisTrace.h"
#include "EffectsBetween.h"
#include "ViewChain.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kvq {
#define GEN_PASS_DEF_FUSEDEQUANTATTENTION
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

namespace {

/// Where the keys or the values of an attention come from.
struct CacheSource {
  GatherOp gather;
  /// Null where the format needs none.
  DequantizeOp dequantize;
  std::optional<AxisTrace> trace;
  /// Whether the global scale of `dequantize` is not known to be the handle's:
  /// then values are those of the cache times a ratio.
  bool rescaled = false;
};

} // namespace

/// Names the operation that a value comes from; a function for its argument
/// would tell nothing.
static Report blame(Report report, Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    op = cast<BlockArgument>(value).getOwner()->getParentOp();
  return isa<FunctionOpInterface>(op) ? report : report.at(op);
}

/// Whether an operation makes rows of a cache.
static bool isCacheReader(Operation *op) {
  return isa<GatherOp, DequantizeOp>(op);
}

/// Walks up from the keys or values of an attention to the gather. Returns
/// nullopt where no cache is read, a report where something is in the way.
static std::optional<Report> findSource(Value value, StringRef side,
                                        CacheSource &source) {
  SmallVector<Operation *> steps;
  auto stop = [&](Operation *obstacle) {
    return Report::get<RemarkId::AttentionOfChangedRows>(side).at(obstacle);
  };
  while (!source.gather) {
    if (Value init = getLoopInvariantSource(value)) {
      value = init;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return blame(Report::get<RemarkId::AttentionOfChangedRows>(side), value);
    auto result = cast<OpResult>(value);
    if (auto gather = dyn_cast<GatherOp>(op)) {
      if (result.getResultNumber() != 0)
        return stop(op);
      source.gather = gather;
    } else if (auto dequantize = dyn_cast<DequantizeOp>(op)) {
      if (source.dequantize)
        return stop(op);
      if (!isa<RankedTensorType>(dequantize.getData().getType()))
        return Report::get<RemarkId::AttentionOfMemRefs>(side).at(op);
      source.dequantize = dequantize;
      steps.push_back(op);
      value = dequantize.getData();
    } else if (Value operand = getTracedOperand(op)) {
      steps.push_back(op);
      value = operand;
    } else {
      return stop(op);
    }
  }

  GatherOp gather = source.gather;
  if (gather->getNumResults() == 0)
    return Report::get<RemarkId::AttentionOfMemRefs>(side).at(gather);
  CacheType cache = gather.getCache().getType();
  if (DequantizeOp dequantize = source.dequantize) {
    if (dequantize.getFormat() != cache.getFormat())
      return Report::get<RemarkId::AttentionOfOtherFormat>(
                 side, Attribute(dequantize.getFormat()),
                 Attribute(cache.getFormat()))
          .at(dequantize);
    if (dequantize.getScales()) {
      ViewChain data(dequantize.getData()), scales(dequantize.getScales());
      auto result = dyn_cast<OpResult>(scales.getBase());
      if (!result || result.getOwner() != gather ||
          result.getResultNumber() != 1 ||
          data.getBase() != gather.getResult(0) || data.findOpOnRows() ||
          scales.findOpOnRows() || !data.movesRowsAs(scales))
        return Report::get<RemarkId::AttentionOfOtherScales>(side).at(
            dequantize);
    }
  }

  source.trace.emplace(cast<ShapedType>(gather.getData().getType()).getShape());
  for (Operation *op : llvm::reverse(steps))
    if (op != source.dequantize && failed(source.trace->follow(op)))
      return stop(op);
  AxisTrace &trace = *source.trace;
  if (trace.getRank() != 4 || !trace.isAxis(0, 0) || !trace.isAxis(1, 1) ||
      !trace.isRepeatedAxis(2, 2) || !trace.isAxis(3, 3))
    return Report::get<RemarkId::AttentionOfOtherOrder>(side).at(
        steps.empty() ? gather.getOperation() : steps.front());
  // The length may be cut to its first rows: those past seq_lens are not used.
  std::optional<AxisCut> length = trace.getCut(1);
  if ((length && !isZeroInteger(length->offset)) || trace.getCut(2) ||
      trace.getCut(3))
    return Report::get<RemarkId::AttentionOfPart>(side).at(gather);
  return std::nullopt;
}

static bool isSameCut(const std::optional<AxisCut> &lhs,
                      const std::optional<AxisCut> &rhs) {
  if (!lhs || !rhs)
    return !lhs && !rhs;
  return isEqualConstantIntOrValue(lhs->offset, rhs->offset) &&
         isEqualConstantIntOrValue(lhs->size, rhs->size);
}

/// Whether the lengths that attention masks by are those of the gather, after
/// the cut of its batch.
static bool masksByLengths(AttentionOp attention, CacheSource &source) {
  Value lengths = source.gather.getSeqLens();
  const std::optional<AxisCut> &cut = source.trace->getCut(0);
  if (Value masked = attention.getSeqLens()) {
    if (!cut)
      return isSameTensor(masked, lengths);
    auto slice = stripCasts(masked).getDefiningOp<tensor::ExtractSliceOp>();
    return slice && isSameTensor(slice.getSource(), lengths) &&
           isEqualConstantIntOrValue(slice.getMixedOffsets()[0], cut->offset) &&
           isEqualConstantIntOrValue(slice.getMixedSizes()[0], cut->size) &&
           isOneInteger(slice.getMixedStrides()[0]);
  }
  // Without lengths all rows are attended to, so all must be rows of the cache.
  DenseIntElementsAttr constant;
  int64_t size = source.trace->getSize(1);
  return !cut && matchPattern(stripCasts(lengths), m_Constant(&constant)) &&
         llvm::all_of(constant.getValues<APInt>(), [&](const APInt &length) {
           return length.getSExtValue() == size;
         });
}

/// Returns an operation that changes, between a source and the attention, what
/// the fused operation reads, or null.
static Operation *findObstacle(const CacheSource &source, AttentionOp attention,
                               HandleAliasAnalysis &analysis) {
  GatherOp gather = source.gather;
  for (Value value :
       {Value(gather.getCache()), gather.getBlockTable(), gather.getSeqLens()})
    if (Operation *writer =
            findWriterBetween(gather, attention, value, analysis))
      return writer;
  return nullptr;
}

/// Multiplies `value`, an f32 or null for 1, by the factors of a source.
static Value applyFactors(OpBuilder &builder, Location loc, Value value,
                          CacheSource &source) {
  auto apply = [&](Value factor, bool divide) {
    if (!value && !divide) {
      value = factor;
      return;
    }
    if (!value)
      value = arith::ConstantOp::create(builder, loc,
                                        builder.getF32FloatAttr(1.0f));
    value =
        divide ? arith::DivFOp::create(builder, loc, value, factor).getResult()
               : arith::MulFOp::create(builder, loc, value, factor).getResult();
  };
  for (const ScalarFactor &factor : source.trace->getFactors())
    apply(factor.materialize(builder, loc), factor.divide);
  if (source.rescaled) {
    Value handle = source.gather.getCache();
    auto type = cast<CacheType>(handle.getType());
    Value memref = CacheGlobalScaleOp::create(
        builder, loc, type.getGlobalScaleType(), handle);
    Value own = memref::LoadOp::create(builder, loc, memref);
    Value dequantize = source.dequantize.getGlobalScale();
    apply(arith::DivFOp::create(builder, loc, dequantize, own), false);
  }
  return value;
}

/// Multiplies a tensor of f32 by a number and converts it to the type of
/// `init`.
static Value multiplyInto(OpBuilder &builder, Location loc, Value tensor,
                          Value factor, Value init) {
  auto type = cast<RankedTensorType>(init.getType());
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type), ValueRange(tensor),
             ValueRange(init), maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Value product =
                   arith::MulFOp::create(b, loc, arguments[0], factor);
               if (product.getType() != type.getElementType())
                 product = arith::TruncFOp::create(
                     b, loc, type.getElementType(), product);
               linalg::YieldOp::create(b, loc, product);
             })
      .getResult(0);
}

FusionOutcome kvq::fuseDequantAttention(RewriterBase &rewriter,
                                        AttentionOp attention,
                                        HandleAliasAnalysis &analysis) {
  if (!isa<RankedTensorType>(attention.getK().getType()) ||
      !isa<RankedTensorType>(attention.getV().getType()))
    return FusionOutcome::notApplicable();
  if (!isDerivedFrom(attention.getK(), isCacheReader) &&
      !isDerivedFrom(attention.getV(), isCacheReader))
    return FusionOutcome::notApplicable();

  CacheSource k, v;
  if (std::optional<Report> miss = findSource(attention.getK(), "keys", k))
    return *miss;
  if (std::optional<Report> miss = findSource(attention.getV(), "values", v))
    return *miss;
  CacheType kType = k.gather.getCache().getType();
  CacheType vType = v.gather.getCache().getType();
  if (kType.getSide() != Side::Key || vType.getSide() != Side::Value)
    return Report::get<RemarkId::AttentionOfOtherSides>(
               stringifySide(kType.getSide()), stringifySide(vType.getSide()))
        .at(kType.getSide() != Side::Key ? k.gather : v.gather);
  if (kType.getPageSize() != vType.getPageSize() ||
      kType.getNumHeads() != vType.getNumHeads())
    return Report::get<RemarkId::AttentionOfOtherPages>(
               kType.getPageSize(), kType.getNumHeads(), vType.getPageSize(),
               vType.getNumHeads())
        .at(v.gather);
  if (!isSameTensor(k.gather.getBlockTable(), v.gather.getBlockTable()) ||
      !isSameTensor(k.gather.getSeqLens(), v.gather.getSeqLens()) ||
      !isSameCut(k.trace->getCut(0), v.trace->getCut(0)))
    return Report::get<RemarkId::AttentionOfOtherTables>().at(v.gather);
  std::optional<AxisCut> batch = k.trace->getCut(0);
  Value blockTable = k.gather.getBlockTable();
  if (batch && !isa<RankedTensorType>(blockTable.getType()))
    return Report::get<RemarkId::AttentionOfPart>("keys").at(k.gather);
  if (attention.getMask())
    return blame(Report::get<RemarkId::AttentionWithMask>(),
                 attention.getMask());
  if (attention.getKvOffset() || attention.getQueryShift())
    return Report::get<RemarkId::AttentionOfTile>();
  if (!masksByLengths(attention, k))
    return Report::get<RemarkId::AttentionLengthsUnknown>().at(k.gather);
  for (const CacheSource *source : {&k, &v})
    if (Operation *writer = findObstacle(*source, attention, analysis))
      return Report::get<RemarkId::AttentionCacheWritten>(
                 source == &k ? "keys" : "values")
          .at(writer);
  for (CacheSource *source : {&k, &v})
    if (source->dequantize && source->dequantize.getGlobalScale())
      source->rescaled =
          !isGlobalScaleOf(source->dequantize.getGlobalScale(),
                           source->gather.getCache(), attention, analysis);
  bool scalesOutput = v.rescaled || !v.trace->getFactors().empty();
  if (scalesOutput && !isa<RankedTensorType>(attention.getOutput().getType()))
    return Report::get<RemarkId::AttentionOfMemRefs>("outputs");

  rewriter.setInsertionPoint(attention);
  Location loc = attention.getLoc();
  Value seqLens = attention.getSeqLens() ? Value(attention.getSeqLens())
                                         : Value(k.gather.getSeqLens());
  if (batch) {
    OpFoldResult zero = rewriter.getIndexAttr(0),
                 one = rewriter.getIndexAttr(1);
    OpFoldResult pages = tensor::getMixedSize(rewriter, loc, blockTable, 1);
    blockTable = tensor::ExtractSliceOp::create(
        rewriter, loc, blockTable, ArrayRef<OpFoldResult>{batch->offset, zero},
        ArrayRef<OpFoldResult>{batch->size, pages},
        ArrayRef<OpFoldResult>{one, one});
  }
  Value scale = applyFactors(rewriter, loc, attention.getScale(), k);
  Value epilogue = applyFactors(rewriter, loc, {}, v);

  // A factor of the values is applied before the output is rounded.
  Value output = attention.getOutput();
  if (epilogue && !getElementTypeOrSelf(output.getType()).isF32())
    output = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, output),
        rewriter.getF32Type());
  SmallVector<Type> types;
  for (Value init : {output, Value(attention.getLse())})
    if (init && isa<RankedTensorType>(init.getType()))
      types.push_back(init.getType());
  auto fused = DequantAttentionOp::create(
      rewriter, loc, types, attention.getQ(), k.gather.getCache(),
      v.gather.getCache(), blockTable, seqLens, attention.getQoIndptr(), scale,
      attention.getSinks(), output, attention.getLse(),
      attention.getOptionsAttr(), /*qk=*/MMAKindAttr(), /*pv=*/MMAKindAttr(),
      /*kv_split=*/IntegerAttr());
  fused->setDiscardableAttrs(attention->getDiscardableAttrDictionary());
  SmallVector<Value> results(fused->getResults());
  if (epilogue)
    results[0] = multiplyInto(rewriter, loc, results[0], epilogue,
                              attention.getOutput());
  report<RemarkId::FusedDequantAttention>(fused);
  SmallVector<Value> arrays{attention.getK(), attention.getV()};
  if (attention.getSeqLens())
    arrays.push_back(attention.getSeqLens());
  rewriter.replaceOp(attention, results);
  eraseDeadProducers(rewriter, arrays);
  return FusionOutcome::fused(fused);
}

namespace {

struct FuseDequantAttentionPass
    : public kvq::impl::FuseDequantAttentionBase<FuseDequantAttentionPass> {
  using FuseDequantAttentionBase::FuseDequantAttentionBase;

  void runOnOperation() override {
    HandleAliasAnalysis &analysis = getAnalysis<HandleAliasAnalysis>();
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) { attentions.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      if (failed(fuseDequantAttention(rewriter, op, analysis)
                     .reportMiss(op, require)))
        signalPassFailure();
  }
};

} // namespace
