//===- TilingInterfaceImpl.cpp - Tiling of kvq operations -----------------===//

#include "kvq/Dialect/KVQ/Transforms/TilingInterfaceImpl.h"
#include "TilingModel.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::tiling;

OpFoldResult kvq::tiling::getSize(OpBuilder &b, Location loc, Value value,
                                  int64_t dim) {
  auto type = cast<ShapedType>(value.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  if (isa<MemRefType>(type))
    return memref::DimOp::create(b, loc, value, dim).getResult();
  return tensor::DimOp::create(b, loc, value, dim).getResult();
}

static OpFoldResult multiply(OpBuilder &b, Location loc, OpFoldResult value,
                             int64_t factor) {
  if (factor == 1)
    return value;
  AffineExpr expr = b.getAffineSymbolExpr(0) * factor;
  return affine::makeComposedFoldedAffineApply(b, loc, expr, {value});
}

OpFoldResult kvq::tiling::divide(OpBuilder &b, Location loc, OpFoldResult value,
                                 int64_t factor) {
  if (factor == 1)
    return value;
  AffineExpr expr = b.getAffineSymbolExpr(0).floorDiv(factor);
  return affine::makeComposedFoldedAffineApply(b, loc, expr, {value});
}

Slice kvq::tiling::getSlice(OpBuilder &b, Location loc, Value value,
                            const OperandLoops &loops,
                            ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes) {
  Slice slice;
  for (auto [dim, dimLoop] : llvm::enumerate(loops)) {
    if (!dimLoop.loop) {
      slice.offsets.push_back(b.getIndexAttr(0));
      slice.sizes.push_back(getSize(b, loc, value, dim));
      continue;
    }
    slice.offsets.push_back(
        multiply(b, loc, offsets[*dimLoop.loop], dimLoop.factor));
    slice.sizes.push_back(
        multiply(b, loc, sizes[*dimLoop.loop], dimLoop.factor));
  }
  return slice;
}

Operation *kvq::tiling::makeSlice(OpBuilder &b, Location loc, Value value,
                                  const Slice &slice) {
  SmallVector<OpFoldResult> strides(slice.offsets.size(), b.getIndexAttr(1));
  if (isa<MemRefType>(value.getType()))
    return memref::SubViewOp::create(b, loc, value, slice.offsets, slice.sizes,
                                     strides);
  return tensor::ExtractSliceOp::create(b, loc, value, slice.offsets,
                                        slice.sizes, strides);
}

namespace {

/// Elements of a row that belong together: a block, or a byte.
int64_t getUnit(KVFormatInterface format) {
  if (format.hasBlockScale())
    return format.getBlockSize();
  return format.getElementType().getWidth() == 4 ? 2 : 1;
}

/// The loops of `quantize` and `dequantize`: over the outer dimensions and the
/// units of a row.
template <typename OpTy>
struct QuantizationLoops : public OpLoopsBase<OpTy> {
  static SmallVector<utils::IteratorType> getIteratorTypes(OpTy op) {
    int64_t rank = cast<ShapedType>(op.getData().getType()).getRank();
    return SmallVector<utils::IteratorType>(rank,
                                            utils::IteratorType::parallel);
  }

  static OperandLoops getLoops(OpTy op, OpOperand &operand) {
    auto type = dyn_cast<ShapedType>(operand.get().getType());
    OperandLoops loops;
    if (!type)
      return loops;
    for (unsigned dim = 0, rank = type.getRank(); dim < rank; ++dim)
      loops.push_back({dim});
    MutableOperandRange scales = op.getScalesMutable();
    if (scales.empty() || &scales[0] != &operand)
      loops.back().factor = getUnit(op.getFormat());
    return loops;
  }
};

template <typename OpTy>
void attach(MLIRContext &context) {
  OpTy::template attachInterface<TilingModel<OpTy, QuantizationLoops<OpTy>>>(
      context);
}

} // namespace

void kvq::registerTilingInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVQDialect *) {
    context->loadDialect<affine::AffineDialect, arith::ArithDialect,
                         linalg::LinalgDialect, memref::MemRefDialect,
                         tensor::TensorDialect>();
    attachAttentionTiling(*context);
    attach<DequantizeOp>(*context);
    attach<QuantizeOp>(*context);
  });
}
