//===- ExprEmitter.cpp - Compute expressions in linalg --------------------===//

#include "ExprEmitter.h"
#include "Regroup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvq::raise;

Value kvq::raise::emitToF32(OpBuilder &builder, Location loc, Value value) {
  Type f32 = builder.getF32Type();
  unsigned width = value.getType().getIntOrFloatBitWidth();
  if (value.getType() == f32)
    return value;
  if (width > 32)
    return builder.createOrFold<arith::TruncFOp>(loc, f32, value);
  return builder.createOrFold<arith::ExtFOp>(loc, f32, value);
}

Value ExprEmitter::emitIndex(OpBuilder &b, const Index &input,
                             ArrayRef<Digit> digits) {
  Index index = context.space.canonicalize(input);
  Value sum;
  auto add = [&](Value value) {
    sum = sum ? arith::AddIOp::create(b, loc, sum, value) : value;
  };
  for (const Index::Term &term : index.terms) {
    int64_t dim = llvm::find(digits, term.digit) - digits.begin();
    Value value = linalg::IndexOp::create(b, loc, dim);
    if (term.stride != 1)
      value = arith::MulIOp::create(
          b, loc, value, arith::ConstantIndexOp::create(b, loc, term.stride));
    add(value);
  }
  if (index.constant != 0 || !sum)
    add(arith::ConstantIndexOp::create(b, loc, index.constant));
  return sum;
}

Value ExprEmitter::emit(OpBuilder &b, const Expr *expr, ArrayRef<Digit> digits,
                        const Inputs &inputs) {
  expr = dropRepetition(expr, digits);
  switch (expr->kind) {
  case Expr::Constant:
    return arith::ConstantOp::create(b, loc, cast<TypedAttr>(expr->constant));
  case Expr::Position:
    return emitIndex(b, expr->index, digits);
  case Expr::Scalar:
    return expr->value;
  case Expr::Load: {
    if (Value input = inputs.lookup(expr))
      return input;
    SmallVector<Value> indices;
    for (const Index &index : expr->indices)
      indices.push_back(emitIndex(b, index, digits));
    return tensor::ExtractOp::create(b, loc, expr->value, indices);
  }
  case Expr::Apply:
    break;
  }
  SmallVector<Value> operands;
  for (const Expr *operand : expr->operands)
    operands.push_back(emit(b, operand, digits, inputs));
  OperationState state(loc, expr->op->getName());
  state.addOperands(operands);
  state.addTypes(getElementTypeOrSelf(expr->op->getResult(0).getType()));
  state.addAttributes(expr->op->getAttrDictionary().getValue());
  return b.create(state)->getResult(0);
}

/// What a load is as an input of a generic over `digits`, if it is one.
std::optional<std::pair<Value, AffineMap>>
ExprEmitter::getInput(const Expr *load, ArrayRef<Digit> digits) {
  auto type = cast<RankedTensorType>(load->value.getType());
  Grouping from, to;
  Digits order;
  for (auto [dim, index] : llvm::enumerate(load->indices)) {
    std::optional<Digits> found =
        context.space.getDigits(index, type.getDimSize(dim));
    if (!found)
      return std::nullopt;
    for (Digit digit : *found) {
      if (llvm::is_contained(order, digit) ||
          !llvm::is_contained(digits, digit))
        return std::nullopt;
      order.push_back(digit);
      to.push_back({digit});
    }
    from.push_back(*found);
  }
  SmallVector<AffineExpr> results;
  for (Digit digit : order)
    results.push_back(
        builder.getAffineDimExpr(llvm::find(digits, digit) - digits.begin()));
  Value input = regroup(builder, loc, context.space, load->value, from, to);
  return std::pair(
      input, AffineMap::get(digits.size(), 0, results, builder.getContext()));
}

const Expr *ExprEmitter::dropRepetition(const Expr *expr,
                                        ArrayRef<Digit> digits) {
  while (expr->kind == Expr::Load) {
    bool isInside = llvm::all_of(expr->indices, [&](const Index &index) {
      return llvm::all_of(context.space.canonicalize(index).terms,
                          [&](const Index::Term &term) {
                            return llvm::is_contained(digits, term.digit);
                          });
    });
    if (isInside)
      break;
    expr = context.expandSlices(expr);
    assert(expr && "expected a value that does not depend on other digits");
  }
  return expr;
}

void ExprEmitter::collectLoads(const Expr *expr, ArrayRef<Digit> digits,
                               SmallVectorImpl<const Expr *> &loads) {
  expr = dropRepetition(expr, digits);
  if (expr->kind == Expr::Load && !llvm::is_contained(loads, expr))
    loads.push_back(expr);
  for (const Expr *operand : expr->operands)
    collectLoads(operand, digits, loads);
}

Value ExprEmitter::emitTensor(ArrayRef<Digit> digits,
                              ArrayRef<const Expr *> exprs, Type element,
                              Body body) {
  SmallVector<const Expr *> loads, inputs;
  for (const Expr *expr : exprs)
    collectLoads(expr, digits, loads);
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (const Expr *load : loads) {
    auto input = getInput(load, digits);
    if (!input)
      continue;
    inputs.push_back(load);
    operands.push_back(input->first);
    maps.push_back(input->second);
  }
  maps.push_back(builder.getMultiDimIdentityMap(digits.size()));
  SmallVector<OpFoldResult> sizes;
  for (Digit digit : digits)
    sizes.push_back(context.space.emitSize(builder, loc, digit));
  Value init = tensor::EmptyOp::create(builder, loc, sizes, element);
  SmallVector<utils::IteratorType> iterators(digits.size(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), operands, init, maps, iterators,
      [&](OpBuilder &b, Location, ValueRange arguments) {
        Inputs values;
        for (auto [load, argument] : llvm::zip(inputs, arguments))
          values[load] = argument;
        Value result = body(
            b, [&](const Expr *expr) { return emit(b, expr, digits, values); });
        linalg::YieldOp::create(b, loc, result);
      });
  return generic.getResult(0);
}
