//===- ScalarExprAnalysis.cpp - What is known about an expression ---------===//

#include "ScalarExpr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace kvq::raise;

/// Whether two operations compute the same function of their operands.
static bool isSameOperation(Operation *lhs, Operation *rhs) {
  if (lhs->getName() != rhs->getName())
    return false;
  // Fast-math flags do not change what is meant.
  if (auto cmp = dyn_cast<arith::CmpFOp>(lhs))
    return cmp.getPredicate() == cast<arith::CmpFOp>(rhs).getPredicate();
  if (auto cmp = dyn_cast<arith::CmpIOp>(lhs))
    return cmp.getPredicate() == cast<arith::CmpIOp>(rhs).getPredicate();
  return lhs->getResultTypes() == rhs->getResultTypes() ||
         isa<FloatType>(lhs->getResult(0).getType());
}

bool ExprContext::isSame(const Expr *lhs, const Expr *rhs) {
  return isSame(lhs, rhs, 0);
}

bool ExprContext::isSame(const Expr *lhs, const Expr *rhs, unsigned depth) {
  lhs = stripCasts(lhs);
  rhs = stripCasts(rhs);
  if (lhs == rhs)
    return true;
  if (depth > 64)
    return false;
  auto isSameIndex = [&](const Index &a, const Index &b) {
    return space.canonicalize(a) == space.canonicalize(b);
  };
  if (lhs->kind == Expr::Load && rhs->kind == Expr::Load &&
      lhs->value == rhs->value &&
      llvm::equal(lhs->indices, rhs->indices, isSameIndex))
    return true;
  if (lhs->kind == Expr::Load || rhs->kind == Expr::Load) {
    // Step from the later one, as the earlier one may be on the way.
    bool right = lhs->kind != Expr::Load;
    if (!right && rhs->kind == Expr::Load) {
      Operation *a = lhs->value.getDefiningOp(),
                *b = rhs->value.getDefiningOp();
      right = b &&
              (!a || (a->getBlock() == b->getBlock() && a->isBeforeInBlock(b)));
    }
    for (bool side : {right, !right}) {
      const Expr *step = expandSlices(side ? rhs : lhs);
      if (step)
        return side ? isSame(lhs, step, depth + 1)
                    : isSame(step, rhs, depth + 1);
    }
    return false;
  }
  if (lhs->kind != rhs->kind)
    return false;
  switch (lhs->kind) {
  case Expr::Constant:
    if (lhs->constant == rhs->constant)
      return true;
    if (auto a = dyn_cast<FloatAttr>(lhs->constant))
      if (auto b = dyn_cast<FloatAttr>(rhs->constant))
        return a.getValueAsDouble() == b.getValueAsDouble();
    return false;
  case Expr::Position:
    return isSameIndex(lhs->index, rhs->index);
  case Expr::Scalar:
    return lhs->value == rhs->value;
  case Expr::Apply:
    break;
  case Expr::Load:
    llvm_unreachable("handled above");
  }
  if (!isSameOperation(lhs->op, rhs->op) ||
      lhs->operands.size() != rhs->operands.size())
    return false;
  if (llvm::all_of(llvm::zip(lhs->operands, rhs->operands), [&](auto pair) {
        return isSame(std::get<0>(pair), std::get<1>(pair), depth + 1);
      }))
    return true;
  return lhs->op->hasTrait<OpTrait::IsCommutative>() &&
         lhs->operands.size() == 2 &&
         isSame(lhs->operands[0], rhs->operands[1], depth + 1) &&
         isSame(lhs->operands[1], rhs->operands[0], depth + 1);
}

void ExprContext::collectDigits(const Expr *expr, DigitSet &digits) {
  if (expr->kind == Expr::Position)
    digits.insert(space.canonicalize(expr->index));
  for (const Index &index : expr->indices)
    digits.insert(space.canonicalize(index));
  for (const Expr *operand : expr->operands)
    collectDigits(operand, digits);
}

void ExprContext::collectSourceDigits(const Expr *expr, DigitSet &digits) {
  llvm::SmallPtrSet<const Expr *, 16> seen;
  collectSourceDigits(expr, digits, seen);
}

void ExprContext::collectSourceDigits(
    const Expr *expr, DigitSet &digits,
    llvm::SmallPtrSetImpl<const Expr *> &seen) {
  if (!seen.insert(expr).second)
    return;
  if (const Expr *step = expandSlices(expr))
    return collectSourceDigits(step, digits, seen);
  if (expr->operands.empty())
    collectDigits(expr, digits);
  for (const Expr *operand : expr->operands)
    collectSourceDigits(operand, digits, seen);
}

bool ExprContext::dependsOn(const Expr *expr, const DigitSet &digits) {
  DigitSet found;
  collectDigits(expr, found);
  // Steps only take digits away.
  if (!found.intersects(digits))
    return false;
  if (const Expr *step = expand(expr))
    return dependsOn(step, digits);
  if (expr->operands.empty())
    return true;
  return llvm::any_of(expr->operands, [&](const Expr *operand) {
    return dependsOn(operand, digits);
  });
}

bool ExprContext::isOver(const Expr *expr, ArrayRef<Digit> digits) {
  if (const Expr *step = expandSlices(expr))
    return isOver(step, digits);
  if (!expr->operands.empty())
    return llvm::all_of(expr->operands, [&](const Expr *operand) {
      return isOver(operand, digits);
    });
  DigitSet found;
  collectDigits(expr, found);
  for (Digit digit : digits)
    found.erase(digit);
  return found.empty();
}

bool ExprContext::isUniform(const Expr *expr) {
  DigitSet digits;
  collectDigits(expr, digits);
  return digits.empty();
}

std::optional<double> ExprContext::getConstant(const Expr *expr) {
  while (expr->kind == Expr::Load) {
    expr = expand(expr);
    if (!expr)
      return std::nullopt;
  }
  if (expr->kind == Expr::Constant) {
    if (auto value = dyn_cast<FloatAttr>(expr->constant))
      return value.getValueAsDouble();
    auto value = cast<IntegerAttr>(expr->constant);
    if (value.getValue().getSignificantBits() > 64)
      return std::nullopt;
    // A true is 1.
    return value.getType().isInteger(1)
               ? static_cast<double>(value.getValue().getZExtValue())
               : static_cast<double>(value.getValue().getSExtValue());
  }
  if (expr->kind != Expr::Apply || !isa<FloatType>(expr->getType()))
    return std::nullopt;
  SmallVector<double, 2> values;
  for (const Expr *operand : expr->operands) {
    std::optional<double> value = getConstant(operand);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return llvm::TypeSwitch<Operation *, std::optional<double>>(expr->op)
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp>(
          [&](auto) { return values[0]; })
      .Case([&](arith::NegFOp) { return -values[0]; })
      .Case([&](arith::AddFOp) { return values[0] + values[1]; })
      .Case([&](arith::SubFOp) { return values[0] - values[1]; })
      .Case([&](arith::MulFOp) { return values[0] * values[1]; })
      .Case([&](arith::DivFOp) { return values[0] / values[1]; })
      .Case([&](math::SqrtOp) { return std::sqrt(values[0]); })
      .Case([&](math::RsqrtOp) { return 1 / std::sqrt(values[0]); })
      .Case([&](math::PowFOp) { return std::pow(values[0], values[1]); })
      .Default([](Operation *) { return std::nullopt; });
}
