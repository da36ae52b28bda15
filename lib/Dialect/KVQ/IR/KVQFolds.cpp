//===- KVQFolds.cpp - Folds and canonicalizations -------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

/// Takes off a cast that only forgets static information, as a handle does not
/// depend on it.
static bool foldCast(OpOperand &operand) {
  auto cast = operand.get().getDefiningOp<memref::CastOp>();
  if (!cast || !isa<MemRefType>(cast.getSource().getType()) ||
      !memref::CastOp::canFoldIntoConsumerOp(cast))
    return false;
  operand.set(cast.getSource());
  return true;
}

OpFoldResult MakeCacheOp::fold(FoldAdaptor) {
  // make_cache of the parts of one handle is that handle.
  if (auto data = getData().getDefiningOp<CacheDataOp>()) {
    Value cache = data.getCache();
    auto sameCache = [&](Value part, auto accessor) {
      using Accessor = decltype(accessor);
      if (!part)
        return true;
      auto op = part.getDefiningOp<Accessor>();
      return op && op.getCache() == cache;
    };
    if (cache.getType() == getType() &&
        sameCache(getScales(), CacheScalesOp()) &&
        sameCache(getGlobalScale(), CacheGlobalScaleOp()))
      return cache;
  }
  bool changed = false;
  for (OpOperand &operand : getOperation()->getOpOperands())
    changed |= foldCast(operand);
  return changed ? OpFoldResult(getCache()) : OpFoldResult();
}

/// The part of the `make_cache` that defines `cache`, if its type is the one
/// of the accessor.
static OpFoldResult foldAccessor(Value cache, Type type,
                                 Value (*getPart)(MakeCacheOp)) {
  auto make = cache.getDefiningOp<MakeCacheOp>();
  if (!make)
    return {};
  Value part = getPart(make);
  return part && part.getType() == type ? OpFoldResult(part) : OpFoldResult();
}

OpFoldResult CacheDataOp::fold(FoldAdaptor) {
  return foldAccessor(getCache(), getType(),
                      [](MakeCacheOp op) -> Value { return op.getData(); });
}

OpFoldResult CacheScalesOp::fold(FoldAdaptor) {
  return foldAccessor(getCache(), getType(),
                      [](MakeCacheOp op) -> Value { return op.getScales(); });
}

OpFoldResult CacheGlobalScaleOp::fold(FoldAdaptor) {
  return foldAccessor(getCache(), getType(), [](MakeCacheOp op) -> Value {
    return op.getGlobalScale();
  });
}

namespace {

/// A part of a handle that was made here is the memref it was made from, with
/// the accessor's type.
template <typename Accessor, typename GetPart>
struct PartOfMadeCache : public OpRewritePattern<Accessor> {
  PartOfMadeCache(MLIRContext *context, GetPart getPart)
      : OpRewritePattern<Accessor>(context), getPart(getPart) {}

  LogicalResult matchAndRewrite(Accessor op,
                                PatternRewriter &rewriter) const override {
    auto make = op.getCache().template getDefiningOp<MakeCacheOp>();
    if (!make)
      return rewriter.notifyMatchFailure(op, "handle is not made here");
    Value part = getPart(make);
    if (!memref::CastOp::areCastCompatible(part.getType(), op.getType()))
      return rewriter.notifyMatchFailure(op, "types cannot be cast");
    rewriter.replaceOpWithNewOp<memref::CastOp>(op, op.getType(), part);
    return success();
  }

private:
  GetPart getPart;
};

template <typename Accessor, typename GetPart>
void addPartOfMadeCache(RewritePatternSet &results, GetPart getPart) {
  results.add(std::make_unique<PartOfMadeCache<Accessor, GetPart>>(
      results.getContext(), getPart));
}

} // namespace

void CacheDataOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                              MLIRContext *) {
  addPartOfMadeCache<CacheDataOp>(
      results, [](MakeCacheOp op) -> Value { return op.getData(); });
}

void CacheScalesOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                                MLIRContext *) {
  addPartOfMadeCache<CacheScalesOp>(
      results, [](MakeCacheOp op) -> Value { return op.getScales(); });
}

void CacheGlobalScaleOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                                     MLIRContext *) {
  addPartOfMadeCache<CacheGlobalScaleOp>(
      results, [](MakeCacheOp op) -> Value { return op.getGlobalScale(); });
}

//===----------------------------------------------------------------------===//
// ConvertScaleLayoutOp
//===----------------------------------------------------------------------===//

namespace {

/// A conversion from a layout to itself is a copy.
struct ConversionToSameLayout : public OpRewritePattern<ConvertScaleLayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvertScaleLayoutOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getFrom() != op.getTo())
      return rewriter.notifyMatchFailure(op, "layouts differ");
    if (op->getNumResults() == 1) {
      if (op.getInput().getType() != op.getResult(0).getType())
        return rewriter.notifyMatchFailure(op, "types differ");
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    if (!isa<MemRefType>(op.getInput().getType()) ||
        !isa<MemRefType>(op.getOutput().getType()))
      return rewriter.notifyMatchFailure(op, "neither tensors nor memrefs");
    rewriter.replaceOpWithNewOp<memref::CopyOp>(op, op.getInput(),
                                                op.getOutput());
    return success();
  }
};

/// Two conversions in a row are one.
struct ConversionOfConversion : public OpRewritePattern<ConvertScaleLayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvertScaleLayoutOp op,
                                PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<ConvertScaleLayoutOp>();
    if (!producer || op->getNumResults() != 1 ||
        producer.getTo() != op.getFrom() ||
        producer.getKvLayout() != op.getKvLayout() ||
        !isa<RankedTensorType>(producer.getInput().getType()))
      return rewriter.notifyMatchFailure(op, "not a chain of conversions");
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(producer.getInput());
      op.setFrom(producer.getFrom());
    });
    return success();
  }
};

} // namespace

void ConvertScaleLayoutOp::getCanonicalizationPatterns(
    RewritePatternSet &results, MLIRContext *context) {
  results.add<ConversionToSameLayout, ConversionOfConversion>(context);
}
