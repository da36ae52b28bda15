//===- Product.cpp - Expressions as products ------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

/// Whether the factors of what a tensor is computed from are of interest.
static bool isTransparent(const Expr *expr) {
  expr = stripCasts(expr);
  return expr->kind != Expr::Apply ||
         isa<arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::SelectOp,
             math::ExpOp, math::Exp2Op, math::PowFOp>(expr->op);
}

void kvq::raise::flattenProduct(ExprContext &context, const Expr *expr,
                                Product &product, bool steps, bool inverted) {
  expr = stripCasts(expr);
  if (std::optional<double> constant = context.getConstant(expr)) {
    product.constant =
        inverted ? product.constant / *constant : product.constant * *constant;
    return;
  }
  if (expr->is<arith::MulFOp>()) {
    for (const Expr *operand : expr->operands)
      flattenProduct(context, operand, product, steps, inverted);
    return;
  }
  if (expr->is<arith::DivFOp>()) {
    flattenProduct(context, expr->operands[0], product, steps, inverted);
    flattenProduct(context, expr->operands[1], product, steps, !inverted);
    return;
  }
  if (expr->is<arith::NegFOp>()) {
    product.constant = -product.constant;
    flattenProduct(context, expr->operands[0], product, steps, inverted);
    return;
  }
  if (steps)
    if (const Expr *step = context.expandSlices(expr);
        step && isTransparent(step)) {
      flattenProduct(context, step, product, steps, inverted);
      return;
    }
  (inverted ? product.divisors : product.factors).push_back(expr);
}

bool kvq::raise::isDot(ExprContext &context, const Expr *expr) {
  if (!context.getNumReduced(expr))
    return false;
  std::optional<Reduction> reduction =
      context.expandReduction(expr, context.createReducedIndices(expr));
  if (!reduction || !isa<arith::AddFOp>(reduction->combiner))
    return false;
  Product product;
  flattenProduct(context, reduction->body, product, /*steps=*/false);
  return product.factors.size() >= 2;
}

static bool findDot(ExprContext &context, const Expr *expr) {
  if (expr->kind == Expr::Load) {
    if (isDot(context, expr))
      return true;
    const Expr *step = context.expandSlices(expr);
    return step && hasDot(context, step);
  }
  return llvm::any_of(expr->operands, [&](const Expr *operand) {
    return hasDot(context, operand);
  });
}

bool kvq::raise::hasDot(ExprContext &context, const Expr *expr) {
  expr = stripCasts(expr);
  auto it = context.knownDots.find(expr);
  if (it != context.knownDots.end())
    return it->second;
  bool found = findDot(context, expr);
  context.knownDots[expr] = found;
  return found;
}

bool kvq::raise::mayBeProduct(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0 ||
      op->getNumResults() != 1 || op.getNumDpsInputs() < 2)
    return false;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  return yielded.getDefiningOp<arith::AddFOp>() != nullptr;
}
