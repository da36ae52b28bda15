//===- SoftmaxMatch.cpp - Find the softmax in a product of weights --------===//
//
// exp(s - max s) / sum of the same, however it is written: base 2 or any other,
// the maximum left out, a logarithm of the sum in the exponent, a guard for
// rows without keys, or linalg.softmax. Maximum and sum must run over the same
// index as the product with the values, and over the same scores. A score of no
// key may join the sum, as a term or as one more column of the scores: a sink.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

namespace {

/// multiplier * (scores - maxima - logarithms).
struct Exponent {
  explicit Exponent(const Expr *scores) : scores(scores) {}

  const Expr *scores;
  double multiplier = 1;
  SmallVector<const Expr *, 1> maxima, logarithms;

  /// Whether this differs from a weight's exponent, whose sum is looked for, in
  /// the scores alone.
  bool isLike(ExprContext &context, const Exponent &weight) const {
    return logarithms.empty() &&
           std::abs(multiplier / weight.multiplier - 1) <= 1e-6 &&
           llvm::equal(maxima, weight.maxima,
                       [&](const Expr *lhs, const Expr *rhs) {
                         return context.isSame(lhs, rhs);
                       });
  }
};

class SoftmaxMatcher {
public:
  explicit SoftmaxMatcher(Match &match)
      : match(match), context(match.context) {}

  FailureOr<Softmax> run(Product weights);

private:
  std::optional<Exponent> matchExponential(const Expr *expr);
  Exponent matchExponent(const Expr *expr);
  void addSubtrahend(const Expr *expr, Exponent &exponent);

  LogicalResult checkMaxima(const Exponent &exponent);
  bool isMaximumOf(const Expr *expr, const Expr *scores);
  FailureOr<Softmax> matchSoftmaxOp(linalg::SoftmaxOp op, const Expr *weight);
  bool isSumOf(const Expr *expr, const Exponent &exponent, Softmax &softmax);
  bool isTermOf(const Expr *expr, const Exponent &exponent);
  bool takeSink(const Expr *expr, const Exponent &exponent, Softmax &softmax);
  bool setSink(const Expr *score, Softmax &softmax);
  bool isGuard(const Expr *condition, const Expr *scores);

  /// A reduction at the key, and at one more index if it has that.
  struct KeyReduction {
    Reduction atKey;
    const Expr *extra = nullptr;
  };
  SmallVector<KeyReduction, 2> reduceOverKeys(const Expr *expr);
  /// The number of keys, if known.
  std::optional<int64_t> getNumKeys();
  /// Steps on until an operation on scalars or a reduction.
  const Expr *peel(const Expr *expr);

  Match &match;
  ExprContext &context;
};

} // namespace

const Expr *SoftmaxMatcher::peel(const Expr *expr) {
  for (;;) {
    expr = stripCasts(expr);
    const Expr *step = context.expandSlices(expr);
    if (!step)
      return expr;
    expr = step;
  }
}

std::optional<int64_t> SoftmaxMatcher::getNumKeys() {
  int64_t count = 1;
  for (const Index &index : match.keyIndices) {
    auto range = context.space.getRange(index);
    if (!range)
      return std::nullopt;
    count *= range->second + 1;
  }
  return count;
}

/// Returns the ways in which an element may be a reduction over the keys: with
/// one more index than there are keys, that may be the last or the first one.
SmallVector<SoftmaxMatcher::KeyReduction, 2>
SoftmaxMatcher::reduceOverKeys(const Expr *expr) {
  expr = peel(expr);
  SmallVector<KeyReduction, 2> found;
  auto add = [&](ArrayRef<Index> atKey, std::optional<Index> extra) {
    std::optional<Reduction> reduction = context.expandReduction(expr, atKey);
    std::optional<Reduction> more;
    if (extra)
      more = context.expandReduction(expr, *extra);
    if (reduction && (more || !extra))
      found.push_back({*reduction, more ? more->body : nullptr});
  };
  std::optional<int64_t> numReduced = context.getNumReducedElements(expr),
                         numKeys = getNumKeys();
  if (!numReduced || !numKeys || *numReduced == *numKeys) {
    add(match.keyIndices, std::nullopt);
  } else if (*numReduced == *numKeys + 1 && match.keyIndices.size() == 1) {
    Index key = match.keyIndices[0];
    add(key, Index(*numKeys));
    add(key + Index(1), Index(0));
  }
  return found;
}

/// The natural logarithm of the base of an exponential, and its exponent.
static std::optional<std::pair<double, const Expr *>>
getExponential(ExprContext &context, const Expr *expr) {
  if (expr->is<math::ExpOp>())
    return std::pair(1.0, expr->operands[0]);
  if (expr->is<math::Exp2Op>())
    return std::pair(std::log(2.0), expr->operands[0]);
  if (expr->is<math::PowFOp>())
    if (std::optional<double> base = context.getConstant(expr->operands[0]);
        base && *base > 1)
      return std::pair(std::log(*base), expr->operands[1]);
  return std::nullopt;
}

std::optional<Exponent> SoftmaxMatcher::matchExponential(const Expr *expr) {
  auto exponential = getExponential(context, peel(expr));
  if (!exponential)
    return std::nullopt;
  Exponent exponent = matchExponent(exponential->second);
  exponent.multiplier *= exponential->first;
  return exponent;
}

Exponent SoftmaxMatcher::matchExponent(const Expr *expr) {
  Exponent exponent(expr);
  const Expr *outer = peel(expr);
  double multiplier = 1;
  // A multiplication of the difference, rather than of the scores.
  if (outer->is<arith::MulFOp>() || outer->is<arith::DivFOp>()) {
    const Expr *lhs = outer->operands[0], *rhs = outer->operands[1];
    std::optional<double> factor = context.getConstant(rhs);
    if (!factor && outer->is<arith::MulFOp>()) {
      std::swap(lhs, rhs);
      factor = context.getConstant(rhs);
    }
    const Expr *inner = factor ? peel(lhs) : outer;
    if (factor && inner->is<arith::SubFOp>() &&
        !match.dependsOnKey(inner->operands[1])) {
      multiplier = outer->is<arith::MulFOp>() ? *factor : 1 / *factor;
      outer = inner;
    }
  }
  while (outer->is<arith::SubFOp>() &&
         !match.dependsOnKey(outer->operands[1])) {
    addSubtrahend(outer->operands[1], exponent);
    exponent.scores = outer->operands[0];
    outer = peel(outer->operands[0]);
  }
  exponent.multiplier = multiplier;
  return exponent;
}

void SoftmaxMatcher::addSubtrahend(const Expr *expr, Exponent &exponent) {
  const Expr *outer = peel(expr);
  if (outer->is<arith::AddFOp>()) {
    addSubtrahend(outer->operands[0], exponent);
    addSubtrahend(outer->operands[1], exponent);
  } else if (outer->is<math::LogOp>()) {
    exponent.logarithms.push_back(outer->operands[0]);
  } else {
    exponent.maxima.push_back(expr);
  }
}

bool SoftmaxMatcher::isMaximumOf(const Expr *expr, const Expr *scores) {
  const Expr *outer = peel(expr);
  if (outer->is<arith::MaximumFOp>() || outer->is<arith::MaxNumFOp>()) {
    // max(-inf, maximum), or of a sink: any number does, if it is the same for
    // all keys.
    for (unsigned i : {0u, 1u})
      if (!match.dependsOnKey(outer->operands[i]) &&
          isMaximumOf(outer->operands[1 - i], scores))
        return true;
    return false;
  }
  if (outer->is<arith::SelectOp>()) {
    // A guard: 0 in place of an infinite maximum.
    for (unsigned i : {1u, 2u})
      if (context.getConstant(outer->operands[i]) == 0.0)
        return isMaximumOf(outer->operands[3 - i], scores);
    return false;
  }
  for (const KeyReduction &found : reduceOverKeys(outer)) {
    const Reduction &reduction = found.atKey;
    if (!isa<arith::MaximumFOp, arith::MaxNumFOp>(reduction.combiner))
      continue;
    std::optional<double> init = context.getConstant(reduction.init);
    if (init && *init <= -65504 && context.isSame(reduction.body, scores))
      return true;
  }
  if (outer->kind == Expr::Load)
    return false;
  // c * max(s) for c * s.
  Product maximum, product;
  flattenProduct(context, expr, maximum, /*steps=*/true);
  flattenProduct(context, scores, product, /*steps=*/true);
  double ratio = maximum.constant / product.constant;
  return maximum.factors.size() == 1 && product.factors.size() == 1 &&
         maximum.divisors.empty() && product.divisors.empty() &&
         maximum.constant > 0 && maximum.constant != 1 &&
         std::abs(ratio - 1) < 1e-6 &&
         isMaximumOf(maximum.factors[0], product.factors[0]);
}

LogicalResult SoftmaxMatcher::checkMaxima(const Exponent &exponent) {
  if (exponent.maxima.size() > 1 ||
      (!exponent.maxima.empty() &&
       !isMaximumOf(exponent.maxima[0], exponent.scores)))
    return match.fail<RemarkId::AttentionMaximum>();
  return success();
}

/// Whether an expression is the exponential of the exponent's scores, less the
/// same maximum.
bool SoftmaxMatcher::isTermOf(const Expr *expr, const Exponent &exponent) {
  std::optional<Exponent> term = matchExponential(expr);
  return term && term->isLike(context, exponent) &&
         context.isSame(term->scores, exponent.scores);
}

bool SoftmaxMatcher::setSink(const Expr *score, Softmax &softmax) {
  if (softmax.sink || match.dependsOnKey(score) || hasDot(context, score))
    return false;
  softmax.sink = context.skipSlices(score);
  return true;
}

/// Takes the exponential of a score of no key.
bool SoftmaxMatcher::takeSink(const Expr *expr, const Exponent &exponent,
                              Softmax &softmax) {
  std::optional<Exponent> term = matchExponential(expr);
  return term && term->isLike(context, exponent) &&
         setSink(term->scores, softmax);
}

/// Whether an expression is the sum of the exponentials over the keys. Takes
/// the sink, if there is one.
bool SoftmaxMatcher::isSumOf(const Expr *expr, const Exponent &exponent,
                             Softmax &softmax) {
  const Expr *outer = peel(expr);
  if (outer->is<arith::AddFOp>()) {
    for (unsigned i : {0u, 1u}) {
      Softmax taken = softmax;
      if (!takeSink(outer->operands[i], exponent, taken) ||
          !isSumOf(outer->operands[1 - i], exponent, taken))
        continue;
      softmax = taken;
      return true;
    }
    return false;
  }
  for (const KeyReduction &found : reduceOverKeys(outer)) {
    const Reduction &reduction = found.atKey;
    if (isa<arith::AddFOp>(reduction.combiner) &&
        context.getConstant(reduction.init) == 0.0 &&
        isTermOf(reduction.body, exponent) &&
        (!found.extra || takeSink(found.extra, exponent, softmax)))
      return true;
  }
  return false;
}

/// Whether a condition says that all scores of a row are -inf.
bool SoftmaxMatcher::isGuard(const Expr *condition, const Expr *scores) {
  return llvm::any_of(
      reduceOverKeys(condition), [&](const KeyReduction &found) {
        if (!isa<arith::AndIOp>(found.atKey.combiner))
          return false;
        const Expr *compare = peel(found.atKey.body);
        return compare->is<arith::CmpFOp>() &&
               cast<arith::CmpFOp>(compare->op).getPredicate() ==
                   arith::CmpFPredicate::OEQ &&
               context.getConstant(compare->operands[1]) == -HUGE_VAL &&
               context.isSame(compare->operands[0], scores);
      });
}

/// The scores of an element of linalg.softmax, or null.
static linalg::SoftmaxOp getSoftmaxOp(ExprContext &context, const Expr *expr) {
  if (expr->kind != Expr::Load)
    return {};
  return expr->value.getDefiningOp<linalg::SoftmaxOp>();
}

bool kvq::raise::hasSoftmax(Match &match, const Product &weights) {
  ExprContext &context = match.context;
  return llvm::any_of(weights.factors, [&](const Expr *factor) {
    if (linalg::SoftmaxOp op = getSoftmaxOp(context, factor))
      return hasDot(context, context.load(op.getInput(), factor->indices));
    if (factor->is<arith::SelectOp>())
      return llvm::any_of(ArrayRef(factor->operands).drop_front(),
                          [&](const Expr *arm) {
                            Product inner;
                            flattenProduct(context, arm, inner, /*steps=*/true);
                            return hasSoftmax(match, inner);
                          });
    auto exponential = getExponential(context, factor);
    return exponential && hasDot(context, exponential->second);
  });
}

FailureOr<Softmax> SoftmaxMatcher::matchSoftmaxOp(linalg::SoftmaxOp op,
                                                  const Expr *weight) {
  Softmax softmax;
  softmax.normalized = true;
  softmax.scores = context.load(op.getInput(), weight->indices);
  unsigned dim = op.getDimension();
  Index along = context.space.canonicalize(weight->indices[dim]);
  int64_t size = op.getInputOperandType().getDimSize(dim);
  std::optional<int64_t> numKeys = getNumKeys();
  Index key = match.keyIndices.size() == 1
                  ? context.space.canonicalize(match.keyIndices[0])
                  : Index(-1);
  bool isLongerByOne = numKeys && size == *numKeys + 1;
  if (along == key && !isLongerByOne &&
      (!numKeys || ShapedType::isDynamic(size) || size == *numKeys))
    return softmax;
  Indices extra = weight->indices;
  if (isLongerByOne && along == key)
    extra[dim] = *numKeys;
  else if (isLongerByOne && along == key + Index(1))
    extra[dim] = 0;
  else
    return match.fail<RemarkId::AttentionSum>();
  if (!setSink(context.load(op.getInput(), extra), softmax))
    return match.fail<RemarkId::AttentionSum>();
  return softmax;
}

FailureOr<Softmax> SoftmaxMatcher::run(Product weights) {
  SmallVector<const Expr *> guards;
  const Expr *exponential = nullptr;
  Softmax softmax;
  while (!weights.factors.empty()) {
    const Expr *factor = weights.factors.pop_back_val();
    if (factor->is<arith::SelectOp>() &&
        context.getConstant(factor->operands[1]) == 0.0) {
      guards.push_back(factor->operands[0]);
      flattenProduct(context, factor->operands[2], weights, /*steps=*/true);
      continue;
    }
    bool isWeight = getExponential(context, factor).has_value() ||
                    getSoftmaxOp(context, factor);
    if (exponential || !isWeight)
      return match.fail<RemarkId::AttentionWeightsChanged>();
    exponential = factor;
  }
  if (!exponential || weights.constant != 1)
    return match.fail<RemarkId::AttentionWeightsChanged>();

  if (linalg::SoftmaxOp op = getSoftmaxOp(context, exponential)) {
    if (!weights.divisors.empty())
      return match.fail<RemarkId::AttentionWeightsChanged>();
    FailureOr<Softmax> matched = matchSoftmaxOp(op, exponential);
    if (failed(matched))
      return failure();
    softmax = *matched;
  } else {
    Exponent exponent = *matchExponential(exponential);
    if (failed(checkMaxima(exponent)))
      return failure();
    SmallVector<const Expr *> sums;
    llvm::append_range(sums, weights.divisors);
    llvm::append_range(sums, exponent.logarithms);
    if (sums.size() > 1)
      return match.fail<RemarkId::AttentionWeightsChanged>();
    if (!sums.empty() && !isSumOf(sums.front(), exponent, softmax))
      return match.fail<RemarkId::AttentionSum>();
    softmax.scores = exponent.scores;
    softmax.multiplier = exponent.multiplier;
    softmax.normalized = !sums.empty();
    if (!exponent.maxima.empty())
      softmax.maximum = exponent.maxima.front();
    if (!sums.empty())
      softmax.sum = sums.front();
  }
  for (const Expr *guard : guards)
    if (!isGuard(guard, softmax.scores))
      return match.fail<RemarkId::AttentionWeightsChanged>();
  return softmax;
}

FailureOr<Softmax> kvq::raise::matchSoftmax(Match &match,
                                            const Product &weights) {
  return SoftmaxMatcher(match).run(weights);
}
