//===- ViewChain.cpp - Tensor operations that move whole rows -------------===//

#include "ViewChain.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvq;

Value kvq::getLoopInvariantSource(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!loop)
    return {};
  OpOperand *init = loop.getTiedLoopInit(argument);
  OpOperand *yielded = loop.getTiedLoopYieldedValue(argument);
  if (!init || !yielded || yielded->get() != argument)
    return {};
  return init->get();
}

Value kvq::stripCasts(Value value) {
  for (;;) {
    if (auto cast = value.getDefiningOp<tensor::CastOp>())
      value = cast.getSource();
    else if (Value source = getLoopInvariantSource(value))
      value = source;
    else
      return value;
  }
}

bool kvq::isSameTensor(Value lhs, Value rhs) {
  lhs = stripCasts(lhs);
  rhs = stripCasts(rhs);
  if (lhs == rhs)
    return true;
  Attribute left, right;
  if (matchPattern(lhs, m_Constant(&left)) &&
      matchPattern(rhs, m_Constant(&right)))
    return left == right;
  auto leftSlice = lhs.getDefiningOp<tensor::ExtractSliceOp>();
  auto rightSlice = rhs.getDefiningOp<tensor::ExtractSliceOp>();
  return leftSlice && rightSlice &&
         isEqualConstantIntOrValueArray(leftSlice.getMixedOffsets(),
                                        rightSlice.getMixedOffsets()) &&
         isEqualConstantIntOrValueArray(leftSlice.getMixedSizes(),
                                        rightSlice.getMixedSizes()) &&
         isEqualConstantIntOrValueArray(leftSlice.getMixedStrides(),
                                        rightSlice.getMixedStrides()) &&
         leftSlice.getDroppedDims() == rightSlice.getDroppedDims() &&
         isSameTensor(leftSlice.getSource(), rightSlice.getSource());
}

/// The operand that an operation shows another view of, or null.
static Value getViewSource(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
            tensor::ExtractSliceOp>(
          [](auto view) -> Value { return view->getOperand(0); })
      .Case([](linalg::TransposeOp transpose) -> Value {
        // On memrefs it is a copy.
        return transpose.hasPureTensorSemantics() ? transpose.getInput()
                                                  : Value();
      })
      .Default([](Operation *) { return Value(); });
}

ViewChain::ViewChain(Value value) : base(value) {
  for (;;) {
    if (Value source = getLoopInvariantSource(base)) {
      base = source;
      continue;
    }
    Operation *op = base.getDefiningOp();
    Value source = op ? getViewSource(op) : Value();
    if (!source)
      break;
    ops.push_back(op);
    base = source;
  }
  std::reverse(ops.begin(), ops.end());
}

/// Whether an operation leaves the innermost dimension as it is.
static bool keepsRows(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>([](auto reshape) {
        SmallVector<ReassociationIndices> groups =
            reshape.getReassociationIndices();
        return !groups.empty() && groups.back().size() == 1;
      })
      .Case([](linalg::TransposeOp transpose) {
        ArrayRef<int64_t> permutation = transpose.getPermutation();
        return !permutation.empty() &&
               permutation.back() == int64_t(permutation.size()) - 1;
      })
      .Case([](tensor::ExtractSliceOp slice) {
        int64_t last = slice.getSourceType().getRank() - 1;
        int64_t size = slice.getSourceType().getDimSize(last);
        return !slice.getDroppedDims().test(last) &&
               isZeroInteger(slice.getMixedOffsets()[last]) &&
               isOneInteger(slice.getMixedStrides()[last]) &&
               !ShapedType::isDynamic(size) &&
               isConstantIntValue(slice.getMixedSizes()[last], size);
      })
      .Default([](Operation *) { return false; });
}

Operation *ViewChain::findOpOnRows() const {
  for (Operation *op : ops)
    if (!isa<tensor::CastOp>(op) && !keepsRows(op))
      return op;
  return nullptr;
}

/// Whether two operations that keep rows move them alike.
static bool movesRowsAlike(Operation *lhs, Operation *rhs) {
  if (lhs->getName() != rhs->getName())
    return false;
  auto sameButLast = [](ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b) {
    return a.size() == b.size() &&
           isEqualConstantIntOrValueArray(a.drop_back(), b.drop_back());
  };
  return TypeSwitch<Operation *, bool>(lhs)
      .Case([&](tensor::CollapseShapeOp a) {
        return a.getReassociationIndices() ==
               cast<tensor::CollapseShapeOp>(rhs).getReassociationIndices();
      })
      .Case([&](tensor::ExpandShapeOp a) {
        auto b = cast<tensor::ExpandShapeOp>(rhs);
        return a.getReassociationIndices() == b.getReassociationIndices() &&
               sameButLast(a.getMixedOutputShape(), b.getMixedOutputShape());
      })
      .Case([&](tensor::ExtractSliceOp a) {
        auto b = cast<tensor::ExtractSliceOp>(rhs);
        return a.getDroppedDims() == b.getDroppedDims() &&
               sameButLast(a.getMixedOffsets(), b.getMixedOffsets()) &&
               sameButLast(a.getMixedSizes(), b.getMixedSizes()) &&
               sameButLast(a.getMixedStrides(), b.getMixedStrides());
      })
      .Case([&](linalg::TransposeOp a) {
        return a.getPermutation() ==
               cast<linalg::TransposeOp>(rhs).getPermutation();
      })
      .Default([](Operation *) { return false; });
}

bool ViewChain::movesRowsAs(const ViewChain &other) const {
  auto isNoCast = [](Operation *op) { return !isa<tensor::CastOp>(op); };
  SmallVector<Operation *> mine(llvm::make_filter_range(ops, isNoCast));
  SmallVector<Operation *> others(llvm::make_filter_range(other.ops, isNoCast));
  return mine.size() == others.size() &&
         llvm::all_of(llvm::zip(mine, others), [](auto pair) {
           return movesRowsAlike(std::get<0>(pair), std::get<1>(pair));
         });
}

Value ViewChain::replay(OpBuilder &builder, Value value) const {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  Type baseType = cast<RankedTensorType>(base.getType()).clone(element);
  // The two may know more or less of their sizes.
  if (!ops.empty() && value.getType() != baseType)
    value = tensor::CastOp::create(builder, value.getLoc(), baseType, value);
  for (Operation *op : ops) {
    Location loc = op->getLoc();
    auto type =
        cast<RankedTensorType>(op->getResult(0).getType()).clone(element);
    value = TypeSwitch<Operation *, Value>(op)
                .Case([&](tensor::CastOp) -> Value {
                  return tensor::CastOp::create(builder, loc, type, value);
                })
                .Case([&](tensor::CollapseShapeOp a) -> Value {
                  return tensor::CollapseShapeOp::create(
                      builder, loc, type, value, a.getReassociationIndices());
                })
                .Case([&](tensor::ExpandShapeOp a) -> Value {
                  return tensor::ExpandShapeOp::create(
                      builder, loc, type, value, a.getReassociationIndices(),
                      a.getMixedOutputShape());
                })
                .Case([&](tensor::ExtractSliceOp a) -> Value {
                  return tensor::ExtractSliceOp::create(
                      builder, loc, type, value, a.getMixedOffsets(),
                      a.getMixedSizes(), a.getMixedStrides());
                })
                .Case([&](linalg::TransposeOp a) -> Value {
                  SmallVector<OpFoldResult> sizes =
                      tensor::getMixedSizes(builder, loc, value);
                  SmallVector<OpFoldResult> permuted;
                  for (int64_t dim : a.getPermutation())
                    permuted.push_back(sizes[dim]);
                  Value init =
                      tensor::EmptyOp::create(builder, loc, permuted, element);
                  return linalg::TransposeOp::create(builder, loc, value, init,
                                                     a.getPermutation())
                      ->getResult(0);
                });
  }
  return value;
}
