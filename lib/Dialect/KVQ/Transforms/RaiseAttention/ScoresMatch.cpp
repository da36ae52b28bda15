//===- ScoresMatch.cpp - Scale, soft-cap and masks of the scores ----------===//
//
// From the scores that softmax takes down to the product of queries and keys.
// kvq.attention scales, then caps, then masks; what comes in another order is
// brought into this one where that is the same, such as a bias under a scale.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

/// What is left in place of a masked score must be at least this low to count
/// as masked: exp(x) is 0 in f32 below -104, and scores are assumed to be
/// nearer to 0 than this by far.
static constexpr double highestFill = -9000;

namespace {

class ScoresMatcher {
public:
  explicit ScoresMatcher(Match &match)
      : match(match), context(match.context), scores(match.scores) {}

  LogicalResult run(const Expr *expr, double multiplier);

private:
  /// Each takes one operation off, and returns what is left.
  const Expr *takeFactor(const Expr *expr);
  const Expr *takeBias(const Expr *expr);
  const Expr *takeSelect(const Expr *expr);
  const Expr *takeSoftcap(const Expr *expr);

  LogicalResult addFactor(const Expr *factor, bool divide);
  LogicalResult addMask(Mask mask);

  /// Fails and returns no expression.
  template <RemarkId id, typename... Args>
  const Expr *stop(Args &&...args) {
    (void)match.fail<id>(std::forward<Args>(args)...);
    return nullptr;
  }

  Match &match;
  ExprContext &context;
  Scores &scores;
  /// What the current expression is multiplied by, above it.
  double multiplier = 1;
};

} // namespace

LogicalResult ScoresMatcher::addFactor(const Expr *factor, bool divide) {
  if (std::optional<double> constant = context.getConstant(factor)) {
    multiplier = divide ? multiplier / *constant : multiplier * *constant;
    return success();
  }
  if (match.dependsOnKey(factor))
    return match.fail<RemarkId::AttentionPositionScale>();
  scores.factors.push_back(
      {context.stripViews(factor, /*casts=*/false), divide});
  return success();
}

const Expr *ScoresMatcher::takeFactor(const Expr *expr) {
  const Expr *lhs = expr->operands[0], *rhs = expr->operands[1];
  bool divide = expr->is<arith::DivFOp>();
  if (!divide && !hasDot(context, lhs))
    std::swap(lhs, rhs);
  return failed(addFactor(rhs, divide)) ? nullptr : lhs;
}

LogicalResult ScoresMatcher::addMask(Mask mask) {
  if (scores.softcap != 0)
    return match.fail<RemarkId::AttentionMaskBeforeSoftcap>();
  // A bias under a scale that is not known.
  if (!scores.factors.empty() && !(mask.isCondition && std::isinf(mask.fill)))
    return match.fail<RemarkId::AttentionMaskBeforeScale>();
  scores.masks.push_back(mask);
  return success();
}

const Expr *ScoresMatcher::takeBias(const Expr *expr) {
  const Expr *lhs = expr->operands[0], *rhs = expr->operands[1];
  bool subtract = expr->is<arith::SubFOp>();
  bool swapped = !hasDot(context, lhs);
  if (swapped)
    std::swap(lhs, rhs);
  Mask mask{context.stripViews(rhs, /*casts=*/false), /*isCondition=*/false};
  mask.multiplier = multiplier;
  if (subtract && swapped)
    multiplier = -multiplier;
  else if (subtract)
    mask.multiplier = -mask.multiplier;
  return failed(addMask(mask)) ? nullptr : lhs;
}

const Expr *ScoresMatcher::takeSelect(const Expr *expr) {
  const Expr *kept = expr->operands[1], *other = expr->operands[2];
  Mask mask{context.stripViews(expr->operands[0], /*casts=*/false),
            /*isCondition=*/true};
  mask.keepsTrue = hasDot(context, kept);
  if (!mask.keepsTrue)
    std::swap(kept, other);
  std::optional<double> fill = context.getConstant(other);
  if (!fill)
    return stop<RemarkId::AttentionFill>("no constant");
  mask.fill = *fill * multiplier;
  if (!(mask.fill <= highestFill))
    return stop<RemarkId::AttentionFill>(std::to_string(mask.fill));
  return failed(addMask(mask)) ? nullptr : kept;
}

const Expr *ScoresMatcher::takeSoftcap(const Expr *expr) {
  if (scores.softcap != 0 || !scores.factors.empty() || !(multiplier > 0) ||
      !std::isfinite(multiplier))
    return stop<RemarkId::AttentionSoftcap>();
  scores.softcap = multiplier;
  // a tanh(b x) is a soft-cap of a over the scale a b.
  return expr->operands[0];
}

LogicalResult ScoresMatcher::run(const Expr *expr, double outer) {
  multiplier = outer;
  for (;;) {
    expr = stripCasts(expr);
    if (expr->kind == Expr::Load) {
      if (isDot(context, expr))
        break;
      expr = context.expandSlices(expr);
      if (!expr)
        return match.fail<RemarkId::AttentionScores>("an unknown operation");
      continue;
    }
    if (expr->kind != Expr::Apply)
      return match.fail<RemarkId::AttentionScores>("an unknown operation");
    StringRef name = expr->op->getName().getStringRef();
    const Expr *rest;
    if (expr->is<arith::NegFOp>()) {
      multiplier = -multiplier;
      rest = expr->operands[0];
    } else if (expr->is<arith::MulFOp>() || expr->is<arith::DivFOp>()) {
      rest = takeFactor(expr);
    } else if (expr->is<arith::AddFOp>() || expr->is<arith::SubFOp>()) {
      rest = takeBias(expr);
    } else if (expr->is<arith::SelectOp>()) {
      rest = takeSelect(expr);
    } else if (expr->is<math::TanhOp>()) {
      rest = takeSoftcap(expr);
    } else {
      return match.fail<RemarkId::AttentionScores>(name);
    }
    if (!rest)
      return failure();
    if (!hasDot(context, rest))
      return match.fail<RemarkId::AttentionScores>(name);
    expr = rest;
  }
  scores.dot = expr;
  scores.scale = multiplier;
  return success();
}

LogicalResult kvq::raise::matchScores(Match &match) {
  return ScoresMatcher(match).run(match.softmax.scores,
                                  match.softmax.multiplier);
}
