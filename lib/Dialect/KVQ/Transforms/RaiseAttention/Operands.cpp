//===- Operands.cpp - Where queries, keys and values come from ------------===//
//
// Operands are looked up through the views that front ends put in between, so
// that kvq.attention reads what the model computed or gathered; the views that
// it needs are made anew from the roles of the digits.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

/// Whether each dimension of a tensor is indexed by digits of its own.
static bool isWhole(ExprContext &context, const Expr *expr) {
  auto type = cast<RankedTensorType>(expr->value.getType());
  DigitSet seen;
  for (auto [dim, index] : llvm::enumerate(expr->indices)) {
    std::optional<Digits> digits =
        context.space.getDigits(index, type.getDimSize(dim));
    if (!digits)
      return false;
    for (Digit digit : *digits) {
      if (seen.contains(digit))
        return false;
      seen.insert(digit);
    }
  }
  return true;
}

/// Element types that kvq.attention takes.
static bool isOperandType(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

const Expr *kvq::raise::findSource(Match &match, const Expr *expr,
                                   SmallVectorImpl<Factor> *factors) {
  ExprContext &context = match.context;
  const Expr *source = nullptr;
  SmallVector<Factor> pending;
  while (expr->kind == Expr::Load) {
    if (isOperandType(expr->getType()) && isWhole(context, expr)) {
      source = expr;
      if (factors)
        llvm::append_range(*factors, pending);
      pending.clear();
    }
    const Expr *step = context.expand(expr);
    if (!step)
      break;
    // Extensions are exact; truncations are not undone.
    auto stripExtensions = [](const Expr *expr) {
      while (expr->is<arith::ExtFOp>())
        expr = expr->operands[0];
      return expr;
    };
    step = stripExtensions(step);
    if (factors && (step->is<arith::MulFOp>() || step->is<arith::DivFOp>())) {
      const Expr *lhs = step->operands[0], *rhs = step->operands[1];
      bool divide = step->is<arith::DivFOp>();
      // A number may be repeated to the tensor's size first.
      auto isNumber = [&](const Expr *expr) {
        return context.isUniform(context.stripViews(expr, /*casts=*/false));
      };
      if (!divide && isNumber(lhs))
        std::swap(lhs, rhs);
      if (!isNumber(rhs))
        break;
      rhs = context.stripViews(rhs, /*casts=*/false);
      pending.push_back({rhs, divide});
      step = stripExtensions(lhs);
    }
    expr = step;
  }
  return source;
}

/// Replaces the only factor of an operand by where it comes from. Numbers that
/// queries or keys are multiplied by go to the scale.
static void simplifyOperand(Match &match, Product &product, bool takesFactors) {
  if (product.factors.size() != 1 || !product.divisors.empty() ||
      product.constant != 1 || product.factors[0]->kind != Expr::Load)
    return;
  const Expr *source =
      findSource(match, product.factors[0],
                 takesFactors ? &match.scores.factors : nullptr);
  if (source)
    product.factors[0] = source;
}

LogicalResult kvq::raise::matchOperands(Match &match) {
  ExprContext &context = match.context;
  Scores &scores = match.scores;
  Indices sums = context.createReducedIndices(scores.dot);
  std::optional<Reduction> reduction =
      context.expandReduction(scores.dot, sums);
  if (context.getConstant(reduction->init) != 0.0)
    return match.fail<RemarkId::AttentionAccumulator>("queries and keys");
  match.dotOp = scores.dot->value.getDefiningOp();

  Product product;
  flattenProduct(context, reduction->body, product, /*steps=*/false);
  scores.scale *= product.constant;
  auto assign = [&](ArrayRef<const Expr *> exprs, bool divide) {
    for (const Expr *expr : exprs) {
      expr = context.stripViews(expr, /*casts=*/false);
      if (context.isUniform(expr)) {
        scores.factors.push_back({expr, divide});
        continue;
      }
      Product &operand = match.dependsOnKey(expr) ? match.keys : match.queries;
      (divide ? operand.divisors : operand.factors).push_back(expr);
    }
  };
  assign(product.factors, /*divide=*/false);
  assign(product.divisors, /*divide=*/true);
  if (match.queries.factors.empty() || match.keys.factors.empty())
    return match.fail<RemarkId::AttentionProduct>();

  simplifyOperand(match, match.queries, /*takesFactors=*/true);
  simplifyOperand(match, match.keys, /*takesFactors=*/true);
  simplifyOperand(match, match.values, /*takesFactors=*/false);

  // What depends on the query is multiplied into it.
  SmallVector<Factor> uniform;
  for (const Factor &factor : scores.factors) {
    if (std::optional<double> constant = context.getConstant(factor.expr))
      scores.scale =
          factor.divide ? scores.scale / *constant : scores.scale * *constant;
    else if (context.isUniform(factor.expr))
      uniform.push_back(factor);
    else
      (factor.divide ? match.queries.divisors : match.queries.factors)
          .push_back(factor.expr);
  }
  scores.factors.assign(uniform);

  // Steps up from the masks may split digits as well; roles are of the final
  // ones.
  DigitSet steps;
  for (const Mask &mask : scores.masks)
    context.collectSourceDigits(mask.expr, steps);

  for (const Index &index : sums) {
    Index canonical = context.space.canonicalize(index);
    llvm::sort(canonical.terms, [](const auto &lhs, const auto &rhs) {
      return lhs.stride > rhs.stride;
    });
    for (const Index::Term &term : canonical.terms)
      match.roles.headDim.push_back(term.digit);
  }
  return success();
}
