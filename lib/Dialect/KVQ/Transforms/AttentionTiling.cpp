//===- AttentionTiling.cpp - Tiling of kvq.attention ----------------------===//
//
// The loops of attention run over sequences, KV heads, queries and keys. Keys
// are a reduction whose parts meet in `kvq.merge_states`: its identity is the
// output 0 with lse -inf, and a sink is a part of its own, the output 0 with
// the sink as lse.
//
//===----------------------------------------------------------------------===//

#include "TilingModel.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::tiling;

namespace {

/// The numbers of the loops; those that an operation does not have are null.
struct Loops {
  explicit Loops(AttentionOp op) {
    bool ragged = bool(op.getQoIndptr());
    if (!ragged)
      sequences = count++;
    if (!ShapedType::isDynamic(
            cast<ShapedType>(op.getK().getType()).getDimSize(2)))
      heads = count++;
    if (!ragged)
      queries = count++;
    keys = count++;
  }

  std::optional<unsigned> sequences, heads, queries;
  unsigned keys, count = 0;
};

struct AttentionLoops : public OpLoopsBase<AttentionOp> {
  static SmallVector<utils::IteratorType> getIteratorTypes(AttentionOp op) {
    Loops loops(op);
    SmallVector<utils::IteratorType> types(loops.count,
                                           utils::IteratorType::parallel);
    types[loops.keys] = utils::IteratorType::reduction;
    return types;
  }

  static OperandLoops getLoops(AttentionOp op, OpOperand &operand);
  static LogicalResult checkTile(AttentionOp op, ArrayRef<OpFoldResult> offsets,
                                 ArrayRef<OpFoldResult> sizes);
  static void placeTile(AttentionOp op, AttentionOp tiled, OpBuilder &b,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes);
};

} // namespace

OperandLoops AttentionLoops::getLoops(AttentionOp op, OpOperand &operand) {
  auto type = dyn_cast<ShapedType>(operand.get().getType());
  if (!type)
    return {};
  // One value may be several operands.
  auto is = [&](MutableOperandRange range) {
    return !range.empty() && &range[0] == &operand;
  };
  Loops numbers(op);
  DimLoop whole, sequences{numbers.sequences}, kvHeads{numbers.heads},
      heads{numbers.heads}, queries{numbers.queries}, keys{numbers.keys};
  if (numbers.heads) {
    auto q = cast<ShapedType>(op.getQ().getType());
    heads.factor = q.getDimSize(q.getRank() - 2) /
                   cast<ShapedType>(op.getK().getType()).getDimSize(2);
  }
  if (is(op.getKMutable()) || is(op.getVMutable()))
    return {sequences, keys, kvHeads, whole};
  if (is(op.getQoIndptrMutable()))
    return {whole};
  if (is(op.getSeqLensMutable()))
    return {sequences};
  if (is(op.getSinksMutable()))
    return {heads};
  if (is(op.getMaskMutable())) {
    OperandLoops loops{sequences, heads, queries, keys};
    for (unsigned dim = 0; dim < 3; ++dim)
      if (type.getDimSize(dim) == 1)
        loops[dim] = whole;
    return loops;
  }
  OperandLoops loops;
  if (op.getQoIndptr())
    loops = {whole, heads};
  else
    loops = {sequences, queries, heads};
  if (!is(op.getLseMutable()))
    loops.push_back(whole);
  return loops;
}

//===----------------------------------------------------------------------===//
// Places of tiles
//===----------------------------------------------------------------------===//

/// Whether `offset` and `size` are known to cover dimension `dim` of `value`.
static bool isWhole(OpFoldResult offset, OpFoldResult size, Value value,
                    int64_t dim) {
  if (!isConstantIntValue(offset, 0))
    return false;
  auto type = cast<ShapedType>(value.getType());
  if (!type.isDynamicDim(dim))
    return isConstantIntValue(size, type.getDimSize(dim));
  Operation *op =
      dyn_cast<Value>(size) ? cast<Value>(size).getDefiningOp() : nullptr;
  auto isDim = [&](auto dimOp) {
    return dimOp && dimOp.getSource() == value &&
           dimOp.getConstantIndex() == dim;
  };
  return isDim(dyn_cast_or_null<tensor::DimOp>(op)) ||
         isDim(dyn_cast_or_null<memref::DimOp>(op));
}

/// Whether the options admit keys by their distance from a query.
static bool hasPositions(AttentionOp op) {
  AttentionOptionsAttr options = op.getOptionsAttr();
  return options && (options.getCausal() || options.hasWindowLeft() ||
                     options.hasWindowRight());
}

/// Adds `expr` of `operands` to an index operand of a tile.
static void addToIndex(OpBuilder &b, AttentionOp tiled,
                       MutableOperandRange operand, AffineExpr expr,
                       ArrayRef<OpFoldResult> operands) {
  Location loc = tiled.getLoc();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(tiled);
  SmallVector<OpFoldResult> all(operands);
  if (!operand.empty()) {
    expr = expr + b.getAffineSymbolExpr(all.size());
    all.push_back(operand[0].get());
  }
  OpFoldResult sum = affine::makeComposedFoldedAffineApply(b, loc, expr, all);
  operand.assign(getValueOrCreateConstantIndexOp(b, loc, sum));
}

void AttentionLoops::placeTile(AttentionOp op, AttentionOp tiled, OpBuilder &b,
                               ArrayRef<OpFoldResult> offsets,
                               ArrayRef<OpFoldResult> sizes) {
  Loops loops(op);
  AffineExpr offset, size, total;
  bindSymbols(b.getContext(), offset, size, total);
  auto sizeOf = [&](Value value) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(tiled);
    return getSize(b, op.getLoc(), value, 1);
  };
  if (loops.queries && hasPositions(op)) {
    OpFoldResult first = offsets[*loops.queries], count = sizes[*loops.queries];
    // The queries after the tile no longer count.
    if (!isWhole(first, count, op.getQ(), 1))
      addToIndex(b, tiled, tiled.getQueryShiftMutable(), offset + size - total,
                 {first, count, sizeOf(op.getQ())});
  }
  OpFoldResult first = offsets[loops.keys], count = sizes[loops.keys];
  if (isWhole(first, count, op.getK(), 1))
    return;
  if (op.getSeqLens())
    addToIndex(b, tiled, tiled.getKvOffsetMutable(), offset, {first});
  else if (hasPositions(op))
    // The tile has `count` keys, of which the last is not the last of all.
    addToIndex(b, tiled, tiled.getQueryShiftMutable(), total - offset - size,
               {first, count, sizeOf(op.getK())});
}

LogicalResult AttentionLoops::checkTile(AttentionOp op,
                                        ArrayRef<OpFoldResult> offsets,
                                        ArrayRef<OpFoldResult> sizes) {
  unsigned keys = Loops(op).keys;
  if (isWhole(offsets[keys], sizes[keys], op.getK(), 1))
    return success();
  return op.emitOpError()
         << "is tiled along its keys (loop " << keys
         << ") by a loop that carries the result, accepted is a partial "
            "reduction with the strategy PartialReductionOuterParallel, as by "
            "transform.structured.tile_reduction_using_forall";
}

//===----------------------------------------------------------------------===//
// Partial reduction
//===----------------------------------------------------------------------===//

/// The parts of a result: a leading dimension, then the result's own.
static SmallVector<OpFoldResult> getPartsShape(OpBuilder &b, Location loc,
                                               Value init, OpFoldResult parts) {
  SmallVector<OpFoldResult> shape{parts};
  for (int64_t dim = 0, rank = cast<ShapedType>(init.getType()).getRank();
       dim < rank; ++dim)
    shape.push_back(getSize(b, loc, init, dim));
  return shape;
}

namespace {

/// PartialReductionOpInterface along the keys. The partial results are the
/// output and the lse in f32, whether the operation has an lse or not.
struct AttentionReductionModel
    : public PartialReductionOpInterface::ExternalModel<AttentionReductionModel,
                                                        AttentionOp> {
  FailureOr<SmallVector<Value>> generateInitialTensorForPartialReduction(
      Operation *operation, OpBuilder &b, Location loc,
      ArrayRef<OpFoldResult> sizes,
      const SetVector<unsigned> &reductionDims) const;

  FailureOr<TilingResult>
  tileToPartialReduction(Operation *operation, OpBuilder &b, Location loc,
                         ReductionTilingStrategy strategy, ValueRange init,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes,
                         const SetVector<unsigned> &reductionDims,
                         ArrayRef<OpFoldResult> splitReductionIvs) const;

  FailureOr<MergeResult>
  mergeReductions(Operation *operation, OpBuilder &b, Location loc,
                  ValueRange partialReduce,
                  const SetVector<unsigned> &reductionDims) const {
    auto op = cast<AttentionOp>(operation);
    auto merge =
        MergeStatesOp::create(b, loc, op->getResultTypes(), partialReduce[0],
                              partialReduce[1], op.getOutput(), op.getLse());
    return MergeResult{{merge}, SmallVector<Value>(merge.getResults())};
  }

  LogicalResult getPartialResultTilePosition(
      Operation *operation, OpBuilder &b, unsigned resultNumber,
      ReductionTilingStrategy strategy, ArrayRef<OpFoldResult> offsets,
      ArrayRef<OpFoldResult> sizes, const SetVector<unsigned> &reductionDims,
      ArrayRef<OpFoldResult> splitReductionIvs,
      SmallVector<OpFoldResult> &resultOffsets,
      SmallVector<OpFoldResult> &resultSizes) const {
    Slice slice = getPartSlice(cast<AttentionOp>(operation), b, resultNumber,
                               offsets, sizes, splitReductionIvs.front());
    resultOffsets = std::move(slice.offsets);
    resultSizes = std::move(slice.sizes);
    return success();
  }

private:
  /// The place of a tile's output (0) or lse (1) among the parts.
  static Slice getPartSlice(AttentionOp op, OpBuilder &b, unsigned number,
                            ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes, OpFoldResult part) {
    // From the queries, as the outs of `op` may be the parts already.
    Location loc = op.getLoc();
    Slice slice = getSlice(b, loc, op.getQ(),
                           AttentionLoops::getLoops(op, op.getQMutable()),
                           offsets, sizes);
    slice.sizes.back() = getSize(b, loc, op.getV(), 3);
    if (number == 1) {
      slice.offsets.pop_back();
      slice.sizes.pop_back();
    }
    slice.offsets.insert(slice.offsets.begin(), part);
    slice.sizes.insert(slice.sizes.begin(), b.getIndexAttr(1));
    return slice;
  }
};

} // namespace

FailureOr<SmallVector<Value>>
AttentionReductionModel::generateInitialTensorForPartialReduction(
    Operation *operation, OpBuilder &b, Location loc,
    ArrayRef<OpFoldResult> sizes,
    const SetVector<unsigned> &reductionDims) const {
  auto op = cast<AttentionOp>(operation);
  if (op->getNumResults() == 0)
    return op.emitOpError("is on memrefs, accepted for a partial reduction is "
                          "one on tensors");
  OpFoldResult tiles = sizes[Loops(op).keys], parts = tiles;
  if (op.getSinks())
    parts = affine::makeComposedFoldedAffineApply(
        b, loc, b.getAffineSymbolExpr(0) + 1, {tiles});
  SmallVector<OpFoldResult> shape =
      getPartsShape(b, loc, op.getOutput(), parts);
  auto makeFilled = [&](ArrayRef<OpFoldResult> shape, const APFloat &value) {
    Value empty = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
    Value scalar = arith::ConstantOp::create(
        b, loc, FloatAttr::get(b.getF32Type(), value));
    return linalg::FillOp::create(b, loc, scalar, empty).getResult(0);
  };
  const llvm::fltSemantics &f32 = APFloat::IEEEsingle();
  Value output = makeFilled(shape, APFloat::getZero(f32));
  shape.pop_back();
  Value lse = makeFilled(shape, APFloat::getInf(f32, /*Negative=*/true));
  if (op.getSinks()) {
    // [1, rows.., heads] from [heads].
    shape.front() = b.getIndexAttr(1);
    Value empty = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
    auto rows = llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1));
    Value sinks =
        linalg::BroadcastOp::create(b, loc, op.getSinks(), empty, rows)
            ->getResult(0);
    SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
        strides(shape.size(), b.getIndexAttr(1));
    offsets.front() = tiles;
    lse = tensor::InsertSliceOp::create(b, loc, sinks, lse, offsets, shape,
                                        strides);
  }
  return SmallVector<Value>{output, lse};
}

FailureOr<TilingResult> AttentionReductionModel::tileToPartialReduction(
    Operation *operation, OpBuilder &b, Location loc,
    ReductionTilingStrategy strategy, ValueRange init,
    ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
    const SetVector<unsigned> &reductionDims,
    ArrayRef<OpFoldResult> splitReductionIvs) const {
  auto op = cast<AttentionOp>(operation);
  if (strategy != ReductionTilingStrategy::PartialReductionOuterParallel)
    return op.emitOpError(
        "is tiled with the strategy PartialReductionOuterReduction, accepted "
        "is PartialReductionOuterParallel: partial results do not accumulate");

  SmallVector<Operation *> slices;
  auto sliceOf = [&](OpOperand &operand) -> Value {
    OperandLoops loops = AttentionLoops::getLoops(op, operand);
    if (llvm::none_of(loops, [](DimLoop dim) { return dim.loop; }))
      return operand.get();
    slices.push_back(
        makeSlice(b, loc, operand.get(),
                  getSlice(b, loc, operand.get(), loops, offsets, sizes)));
    return slices.back()->getResult(0);
  };
  auto sliceOfOptional = [&](MutableOperandRange operand) {
    return operand.empty() ? Value() : sliceOf(operand[0]);
  };
  SmallVector<Value> inits;
  for (auto [number, parts] : llvm::enumerate(init)) {
    Slice slice =
        getPartSlice(op, b, number, offsets, sizes, splitReductionIvs.front());
    SmallVector<OpFoldResult> strides(slice.offsets.size(), b.getIndexAttr(1));
    auto full = tensor::ExtractSliceOp::inferResultType(
        cast<RankedTensorType>(parts.getType()), slice.sizes);
    auto type = RankedTensorType::get(full.getShape().drop_front(),
                                      full.getElementType());
    auto extract = tensor::ExtractSliceOp::create(
        b, loc, type, parts, slice.offsets, slice.sizes, strides);
    slices.push_back(extract);
    inits.push_back(extract);
  }
  // The sinks are among the parts already.
  auto tiled = AttentionOp::create(
      b, loc, ValueRange(inits).getTypes(), sliceOf(op.getQMutable()),
      sliceOf(op.getKMutable()), sliceOf(op.getVMutable()),
      sliceOfOptional(op.getSeqLensMutable()),
      sliceOfOptional(op.getQoIndptrMutable()), op.getScale(),
      sliceOfOptional(op.getMaskMutable()), /*sinks=*/Value(), inits[0],
      inits[1], op.getKvOffset(), op.getQueryShift(), op.getOptionsAttr());
  AttentionLoops::placeTile(op, tiled, b, offsets, sizes);
  return TilingResult{{tiled}, SmallVector<Value>(tiled.getResults()), slices};
}

void kvq::tiling::attachAttentionTiling(MLIRContext &context) {
  AttentionOp::attachInterface<TilingModel<AttentionOp, AttentionLoops>,
                               AttentionReductionModel>(context);
}
