//===- ScalarExprSlices.cpp - Elements of slices and concatenations -------===//
//
// Which of several tensors has an element follows from the range of its index.
//
//===----------------------------------------------------------------------===//

#include "ScalarExpr.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kvq::raise;

/// Whether a slice or an insertion has all of a dimension of `tensor`.
static bool isWhole(OffsetSizeAndStrideOpInterface op, Value tensor,
                    unsigned dim) {
  if (op.getStaticOffsets()[dim] != 0 || op.getStaticStrides()[dim] != 1)
    return false;
  int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  OpFoldResult taken = op.getMixedSizes()[dim];
  if (std::optional<int64_t> known = getConstantIntValue(taken))
    return known == size;
  auto dimOp = cast<Value>(taken).getDefiningOp<tensor::DimOp>();
  return dimOp && dimOp.getSource() == tensor &&
         dimOp.getConstantIndex() == int64_t(dim);
}

const Expr *ExprContext::expandSlice(const Expr *expr,
                                     tensor::ExtractSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  ArrayRef<int64_t> offsets = op.getStaticOffsets(),
                    strides = op.getStaticStrides();
  if (llvm::any_of(offsets, ShapedType::isDynamic) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return nullptr;
  Indices indices;
  unsigned next = 0;
  for (unsigned dim = 0; dim < offsets.size(); ++dim) {
    Index index = dropped.test(dim) ? Index(0) : expr->indices[next++];
    // An index of unknown range might be taken for one over the whole.
    if (!space.getRange(index) && !isWhole(op, op.getSource(), dim))
      return nullptr;
    indices.push_back(index * strides[dim] + offsets[dim]);
  }
  return load(op.getSource(), indices);
}

const Expr *ExprContext::expandInsertion(const Expr *expr,
                                         tensor::InsertSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  bool isInside = true, isOutside = false;
  Indices indices;
  for (auto [dim, index] : llvm::enumerate(expr->indices)) {
    int64_t offset = op.getStaticOffsets()[dim],
            size = op.getStaticSizes()[dim];
    if (!isWhole(op, op.getDest(), dim)) {
      auto range = space.getRange(index);
      if (op.getStaticStrides()[dim] != 1 || ShapedType::isDynamic(offset) ||
          ShapedType::isDynamic(size) || !range)
        return nullptr;
      isInside &= range->first >= offset && range->second < offset + size;
      isOutside |= range->second < offset || range->first >= offset + size;
    }
    if (!dropped.test(dim))
      indices.push_back(index + Index(-offset));
  }
  if (isOutside)
    return load(op.getDest(), expr->indices);
  return isInside ? load(op.getSource(), indices) : nullptr;
}

const Expr *ExprContext::expandConcat(const Expr *expr, tensor::ConcatOp op) {
  auto range = space.getRange(expr->indices[op.getDim()]);
  if (!range)
    return nullptr;
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    int64_t size =
        cast<RankedTensorType>(input.getType()).getDimSize(op.getDim());
    if (ShapedType::isDynamic(size))
      return nullptr;
    if (range->first >= offset && range->second < offset + size) {
      Indices indices = expr->indices;
      indices[op.getDim()] = indices[op.getDim()] + Index(-offset);
      return load(input, indices);
    }
    offset += size;
  }
  return nullptr;
}

const Expr *ExprContext::expandSlices(const Expr *expr) {
  if (const Expr *step = expand(expr))
    return step;
  if (expr->kind != Expr::Load || isTooLarge())
    return nullptr;
  auto [it, isNew] = expandedSlices.insert({expr, nullptr});
  if (!isNew)
    return it->second;
  const Expr *step = nullptr;
  Operation *op = expr->value.getDefiningOp();
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
    step = expandSlice(expr, slice);
  else if (auto insertion = dyn_cast_or_null<tensor::InsertSliceOp>(op))
    step = expandInsertion(expr, insertion);
  else if (auto concat = dyn_cast_or_null<tensor::ConcatOp>(op))
    step = expandConcat(expr, concat);
  return expandedSlices[expr] = step;
}

const Expr *ExprContext::skipSlices(const Expr *expr) {
  if (const Expr *step = expand(expr)) {
    const Expr *inner = skipSlices(step);
    return inner == step ? expr : inner;
  }
  if (const Expr *step = expandSlices(expr))
    return skipSlices(step);
  if (expr->kind != Expr::Apply)
    return expr;
  SmallVector<const Expr *, 3> operands;
  for (const Expr *operand : expr->operands)
    operands.push_back(skipSlices(operand));
  if (llvm::equal(operands, expr->operands))
    return expr;
  Expr *result = create(Expr::Apply);
  result->op = expr->op;
  result->operands = std::move(operands);
  return result;
}
