//===- MaskEvaluator.cpp - Values of a mask by position -------------------===//

#include "MaskEvaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace kvq::raise;

/// The constant of a tensor, or null.
static ElementsAttr getElements(Value tensor) {
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  return constant ? dyn_cast<ElementsAttr>(constant.getValue()) : nullptr;
}

MaskEvaluator::MaskEvaluator(ExprContext &context, const Expr *expr,
                             ArrayRef<Digit> query, ArrayRef<Digit> key)
    : context(context), expr(expr), query(query), key(key) {
  assign(query, 0);
  assign(key, 0);
  check(expr);
}

void MaskEvaluator::check(const Expr *expr) {
  if (!possible)
    return;
  if (expr->kind == Expr::Load) {
    if (const Expr *step = context.expand(expr))
      return check(step);
    possible = getElements(expr->value) != nullptr;
  }
  if (expr->kind == Expr::Scalar)
    possible = false;
  auto isKnown = [&](const Index &index) {
    return llvm::all_of(
        context.space.canonicalize(index).terms,
        [&](const Index::Term &term) { return values.contains(term.digit); });
  };
  possible =
      possible && isKnown(expr->index) && llvm::all_of(expr->indices, isKnown);
  for (const Expr *operand : expr->operands)
    check(operand);
}

void MaskEvaluator::assign(ArrayRef<Digit> digits, int64_t value) {
  for (Digit digit : llvm::reverse(digits)) {
    int64_t size = context.space.getSize(digit);
    values[digit] = value % size;
    value /= size;
  }
}

std::optional<double> MaskEvaluator::evaluate(int64_t queryPosition,
                                              int64_t keyPosition) {
  assign(query, queryPosition);
  assign(key, keyPosition);
  return evaluate(expr);
}

int64_t MaskEvaluator::evaluate(const Index &index) const {
  Index canonical = context.space.canonicalize(index);
  int64_t value = canonical.constant;
  for (const Index::Term &term : canonical.terms)
    value += term.stride * values.lookup(term.digit);
  return value;
}

std::optional<double> MaskEvaluator::evaluate(const Expr *expr) {
  switch (expr->kind) {
  case Expr::Constant:
    return context.getConstant(expr);
  case Expr::Position:
    return static_cast<double>(evaluate(expr->index));
  case Expr::Scalar:
    return std::nullopt;
  case Expr::Load:
    if (const Expr *step = context.expand(expr))
      return evaluate(step);
    return evaluateLoad(expr);
  case Expr::Apply:
    return evaluateApply(expr);
  }
  llvm_unreachable("unknown kind of expression");
}

std::optional<double> MaskEvaluator::evaluateLoad(const Expr *expr) {
  auto type = cast<RankedTensorType>(expr->value.getType());
  int64_t position = 0;
  for (auto [dim, index] : llvm::enumerate(expr->indices)) {
    int64_t value = evaluate(index);
    if (value < 0 || value >= type.getDimSize(dim))
      return std::nullopt;
    position = position * type.getDimSize(dim) + value;
  }
  ElementsAttr elements = getElements(expr->value);
  Type element = type.getElementType();
  if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
    if (isa<FloatType>(element))
      return (*(dense.value_begin<APFloat>() + position)).convertToDouble();
    APInt value = *(dense.value_begin<APInt>() + position);
    // A true is 1.
    return element.isInteger(1) ? value.getZExtValue()
                                : static_cast<double>(value.getSExtValue());
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return std::nullopt;
  ArrayRef<char> data = blob->getData();
  unsigned width = element.getIntOrFloatBitWidth();
  unsigned bytes = width == 1 ? 1 : width / 8;
  if ((width != 1 && width % 8 != 0) || bytes > 8 ||
      data.size() != static_cast<size_t>(type.getNumElements()) * bytes)
    return std::nullopt;
  uint64_t bits = 0;
  for (unsigned i = 0; i < bytes; ++i)
    bits |=
        static_cast<uint64_t>(static_cast<uint8_t>(data[position * bytes + i]))
        << (8 * i);
  if (auto floatType = dyn_cast<FloatType>(element)) {
    APFloat value(floatType.getFloatSemantics(), APInt(width, bits));
    bool lost;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return value.convertToDouble();
  }
  return width == 1 ? static_cast<double>(bits != 0)
                    : static_cast<double>(
                          APInt(width, bits, false, true).getSExtValue());
}

std::optional<double> MaskEvaluator::evaluateApply(const Expr *expr) {
  SmallVector<double, 3> v;
  for (const Expr *operand : expr->operands) {
    std::optional<double> value = evaluate(operand);
    if (!value)
      return std::nullopt;
    v.push_back(*value);
  }
  auto asInteger = [&](unsigned i) { return static_cast<int64_t>(v[i]); };
  // Integers are exact as long as a double holds them.
  for (double value : v)
    if (std::isfinite(value) && std::abs(value) > 4503599627370496.0 &&
        !isa<FloatType>(expr->operands[0]->getType()))
      return std::nullopt;
  auto compare = [&](auto predicate) -> std::optional<double> {
    APInt lhs(64, asInteger(0), true), rhs(64, asInteger(1), true);
    return arith::applyCmpPredicate(predicate, lhs, rhs);
  };
  using Result = std::optional<double>;
  return llvm::TypeSwitch<Operation *, Result>(expr->op)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::TruncIOp, arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp>(
          [&](auto op) -> Result {
            // A true is -1 where it is signed, and truncation may cut.
            Type from = expr->operands[0]->getType();
            if (from.isInteger(1))
              return -v[0];
            if (expr->is<arith::TruncIOp>() && expr->getType().isInteger(1))
              return static_cast<double>(asInteger(0) & 1);
            return v[0];
          })
      .Case<arith::ExtUIOp, arith::UIToFPOp>(
          [&](auto) -> Result { return v[0] < 0 ? Result() : Result(v[0]); })
      .Case([&](arith::FPToSIOp) -> Result {
        return std::isfinite(v[0]) ? Result(std::trunc(v[0])) : Result();
      })
      .Case<arith::AddIOp, arith::AddFOp>(
          [&](auto) -> Result { return v[0] + v[1]; })
      .Case<arith::SubIOp, arith::SubFOp>(
          [&](auto) -> Result { return v[0] - v[1]; })
      .Case<arith::MulIOp, arith::MulFOp>(
          [&](auto) -> Result { return v[0] * v[1]; })
      .Case([&](arith::NegFOp) -> Result { return -v[0]; })
      .Case<arith::MaxSIOp, arith::MaximumFOp>(
          [&](auto) -> Result { return std::max(v[0], v[1]); })
      .Case<arith::MinSIOp, arith::MinimumFOp>(
          [&](auto) -> Result { return std::min(v[0], v[1]); })
      .Case([&](arith::AndIOp) -> Result {
        return static_cast<double>(asInteger(0) & asInteger(1));
      })
      .Case([&](arith::OrIOp) -> Result {
        return static_cast<double>(asInteger(0) | asInteger(1));
      })
      .Case([&](arith::XOrIOp) -> Result {
        return static_cast<double>(asInteger(0) ^ asInteger(1));
      })
      .Case([&](arith::SelectOp) -> Result { return v[0] != 0 ? v[1] : v[2]; })
      .Case([&](arith::CmpIOp op) -> Result {
        return compare(op.getPredicate());
      })
      .Case([&](arith::CmpFOp op) -> Result {
        return static_cast<double>(arith::applyCmpPredicate(
            op.getPredicate(), APFloat(v[0]), APFloat(v[1])));
      })
      .Default([](Operation *) { return Result(); });
}
