//===- TilingInterfaceImpl.cpp - Tiling of kvq operations -----------------===//
//
// Each operation says, for each dimension of each operand, which loop runs
// over it and how many elements one step covers. Everything else follows.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/Transforms/TilingInterfaceImpl.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace kvq;

namespace {

/// How a loop covers a dimension: `factor` elements per step. Without a loop
/// the dimension is taken whole.
struct DimLoop {
  std::optional<unsigned> loop;
  int64_t factor = 1;
};

/// The dimensions of one operand; empty for operands without a shape.
using OperandLoops = SmallVector<DimLoop, 4>;

/// A size of a tensor or a memref.
OpFoldResult getSize(OpBuilder &b, Location loc, Value value, int64_t dim) {
  auto type = cast<ShapedType>(value.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  if (isa<MemRefType>(type))
    return memref::DimOp::create(b, loc, value, dim).getResult();
  return tensor::DimOp::create(b, loc, value, dim).getResult();
}

OpFoldResult multiply(OpBuilder &b, Location loc, OpFoldResult value,
                      int64_t factor) {
  if (factor == 1)
    return value;
  AffineExpr expr = b.getAffineSymbolExpr(0) * factor;
  return affine::makeComposedFoldedAffineApply(b, loc, expr, {value});
}

OpFoldResult divide(OpBuilder &b, Location loc, OpFoldResult value,
                    int64_t factor) {
  if (factor == 1)
    return value;
  AffineExpr expr = b.getAffineSymbolExpr(0).floorDiv(factor);
  return affine::makeComposedFoldedAffineApply(b, loc, expr, {value});
}

Operation *makeSlice(OpBuilder &b, Location loc, Value value,
                     ArrayRef<OpFoldResult> offsets,
                     ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  if (isa<MemRefType>(value.getType()))
    return memref::SubViewOp::create(b, loc, value, offsets, sizes, strides);
  return tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, strides);
}

//===----------------------------------------------------------------------===//
// The loops of each operation
//===----------------------------------------------------------------------===//

/// Loops over the outer dimensions of a row-wise operation and the units of
/// its rows.
OperandLoops getRowLoops(Value value, int64_t unit) {
  OperandLoops loops;
  for (unsigned dim = 0, rank = cast<ShapedType>(value.getType()).getRank();
       dim < rank; ++dim)
    loops.push_back({dim, dim + 1 == rank ? unit : 1});
  return loops;
}

/// Elements of a row that belong together: a block, or a byte.
int64_t getUnit(KVFormatInterface format) {
  if (format.hasBlockScale())
    return format.getBlockSize();
  return format.getElementType().getWidth() == 4 ? 2 : 1;
}

template <typename OpTy>
OperandLoops getQuantizationLoops(OpTy op, OpOperand &operand) {
  if (!isa<ShapedType>(operand.get().getType()))
    return {};
  bool isScales = op.getScales() && operand.get() == op.getScales();
  return getRowLoops(operand.get(), isScales ? 1 : getUnit(op.getFormat()));
}

unsigned getNumLoops(QuantizeOp op) {
  return cast<ShapedType>(op.getInput().getType()).getRank();
}
unsigned getNumLoops(DequantizeOp op) {
  return cast<ShapedType>(op.getOutput().getType()).getRank();
}
OperandLoops getLoops(QuantizeOp op, OpOperand &operand) {
  return getQuantizationLoops(op, operand);
}
OperandLoops getLoops(DequantizeOp op, OpOperand &operand) {
  return getQuantizationLoops(op, operand);
}

int64_t getKVHeads(AttentionOp op) {
  return cast<ShapedType>(op.getK().getType()).getDimSize(2);
}

bool tilesHeads(AttentionOp op) {
  return !ShapedType::isDynamic(getKVHeads(op));
}

unsigned getNumLoops(AttentionOp op) {
  return (op.getQoIndptr() ? 0 : 1) + (tilesHeads(op) ? 1 : 0);
}

OperandLoops getLoops(AttentionOp op, OpOperand &operand) {
  Value value = operand.get();
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type)
    return {};
  bool ragged = bool(op.getQoIndptr());
  DimLoop whole, sequences, kvHeads, heads;
  if (!ragged)
    sequences.loop = 0;
  if (tilesHeads(op)) {
    kvHeads.loop = heads.loop = ragged ? 0 : 1;
    auto q = cast<ShapedType>(op.getQ().getType());
    heads.factor = q.getDimSize(q.getRank() - 2) / getKVHeads(op);
  }
  if (value == op.getK() || value == op.getV())
    return {sequences, whole, kvHeads, whole};
  if (value == op.getQoIndptr())
    return {whole};
  if (value == op.getSeqLens())
    return {sequences};
  if (value == op.getSinks())
    return {heads};
  if (value == op.getMask())
    return {type.getDimSize(0) == 1 ? whole : sequences,
            type.getDimSize(1) == 1 ? whole : heads, whole, whole};
  OperandLoops loops;
  if (ragged)
    loops = {whole, heads};
  else
    loops = {sequences, whole, heads};
  if (!op.getLse() || value != op.getLse())
    loops.push_back(whole);
  return loops;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

template <typename OpTy>
struct TilingModel
    : public TilingInterface::ExternalModel<TilingModel<OpTy>, OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    return SmallVector<utils::IteratorType>(getNumLoops(cast<OpTy>(op)),
                                            utils::IteratorType::parallel);
  }

  SmallVector<Range> getIterationDomain(Operation *op, OpBuilder &b) const {
    Location loc = op->getLoc();
    SmallVector<Range> domain(getNumLoops(cast<OpTy>(op)));
    for (OpOperand &operand : op->getOpOperands()) {
      OperandLoops loops = getLoops(cast<OpTy>(op), operand);
      for (auto [dim, dimLoop] : llvm::enumerate(loops)) {
        if (!dimLoop.loop || domain[*dimLoop.loop].size)
          continue;
        OpFoldResult size = getSize(b, loc, operand.get(), dim);
        domain[*dimLoop.loop] = {b.getIndexAttr(0),
                                 divide(b, loc, size, dimLoop.factor),
                                 b.getIndexAttr(1)};
      }
    }
    return domain;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &b,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    Location loc = op->getLoc();
    SmallVector<Value> operands;
    SmallVector<Operation *> slices;
    for (OpOperand &operand : op->getOpOperands()) {
      OperandLoops loops = getLoops(cast<OpTy>(op), operand);
      if (llvm::none_of(loops, [](DimLoop dim) { return dim.loop; })) {
        operands.push_back(operand.get());
        continue;
      }
      SmallVector<OpFoldResult> sliceOffsets, sliceSizes;
      getSlice(b, loc, operand.get(), loops, offsets, sizes, sliceOffsets,
               sliceSizes);
      slices.push_back(
          makeSlice(b, loc, operand.get(), sliceOffsets, sliceSizes));
      operands.push_back(slices.back()->getResult(0));
    }
    SmallVector<Type> results;
    for (OpOperand &init :
         cast<DestinationStyleOpInterface>(op).getDpsInitsMutable()) {
      Type type = operands[init.getOperandNumber()].getType();
      if (isa<RankedTensorType>(type))
        results.push_back(type);
    }
    Operation *tiled = b.insert(Operation::create(
        loc, op->getName(), results, operands,
        op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
        /*successors=*/BlockRange(), /*numRegions=*/0));
    return TilingResult{
        {tiled}, SmallVector<Value>(tiled->getResults()), slices};
  }

  LogicalResult
  getResultTilePosition(Operation *op, OpBuilder &b, unsigned resultNumber,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    OpOperand &init = *cast<DestinationStyleOpInterface>(op).getTiedOpOperand(
        op->getResult(resultNumber));
    getSlice(b, op->getLoc(), init.get(), getLoops(cast<OpTy>(op), init),
             offsets, sizes, resultOffsets, resultSizes);
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &b, unsigned resultNumber,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    Location loc = op->getLoc();
    OpOperand &init = *cast<DestinationStyleOpInterface>(op).getTiedOpOperand(
        op->getResult(resultNumber));
    SmallVector<OpFoldResult> loopOffsets, loopSizes;
    for (Range range : getIterationDomain(op, b)) {
      loopOffsets.push_back(range.offset);
      loopSizes.push_back(range.size);
    }
    for (auto [dim, dimLoop] :
         llvm::enumerate(getLoops(cast<OpTy>(op), init))) {
      // A slice may start or end within a step, which cannot be computed
      // alone, unless it is known not to.
      if (!dimLoop.loop) {
        if (!isConstantIntValue(offsets[dim], 0) ||
            !isEqualConstantIntOrValue(sizes[dim],
                                       getSize(b, loc, init.get(), dim)))
          return failure();
        continue;
      }
      auto isWhole = [factor = dimLoop.factor](OpFoldResult value) {
        std::optional<int64_t> constant = getConstantIntValue(value);
        return factor == 1 || (constant && *constant % factor == 0);
      };
      if (!isWhole(offsets[dim]) || !isWhole(sizes[dim]))
        return failure();
      loopOffsets[*dimLoop.loop] = divide(b, loc, offsets[dim], dimLoop.factor);
      loopSizes[*dimLoop.loop] = divide(b, loc, sizes[dim], dimLoop.factor);
    }
    FailureOr<TilingResult> tiled =
        getTiledImplementation(op, b, loopOffsets, loopSizes);
    if (failed(tiled))
      return failure();
    return TilingResult{tiled->tiledOps,
                        {tiled->tiledValues[resultNumber]},
                        tiled->generatedSlices};
  }

private:
  /// The part of an operand that a tile covers.
  static void getSlice(OpBuilder &b, Location loc, Value value,
                       const OperandLoops &loops,
                       ArrayRef<OpFoldResult> offsets,
                       ArrayRef<OpFoldResult> sizes,
                       SmallVectorImpl<OpFoldResult> &sliceOffsets,
                       SmallVectorImpl<OpFoldResult> &sliceSizes) {
    for (auto [dim, dimLoop] : llvm::enumerate(loops)) {
      if (!dimLoop.loop) {
        sliceOffsets.push_back(b.getIndexAttr(0));
        sliceSizes.push_back(getSize(b, loc, value, dim));
        continue;
      }
      sliceOffsets.push_back(
          multiply(b, loc, offsets[*dimLoop.loop], dimLoop.factor));
      sliceSizes.push_back(
          multiply(b, loc, sizes[*dimLoop.loop], dimLoop.factor));
    }
  }
};

} // namespace

void kvq::registerTilingInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVQDialect *) {
    context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                         memref::MemRefDialect, tensor::TensorDialect>();
    AttentionOp::attachInterface<TilingModel<AttentionOp>>(*context);
    DequantizeOp::attachInterface<TilingModel<DequantizeOp>>(*context);
    QuantizeOp::attachInterface<TilingModel<QuantizeOp>>(*context);
  });
}
