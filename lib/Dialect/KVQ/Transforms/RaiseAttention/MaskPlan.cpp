//===- MaskPlan.cpp - Masks as options and as operands --------------------===//
//
// A mask that admits a band of keys around the query's position becomes
// causality and a window, which later passes know how to skip work by; any
// other stays a tensor.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "MaskEvaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

/// Tables of more pairs of positions than this are not compared with a band.
static constexpr int64_t largestTable = 1 << 16;

namespace {

class BandMatcher {
public:
  explicit BandMatcher(Match &match)
      : context(match.context), batch(match.roles.batch),
        key(getIndex(context, match.roles.key)),
        query(getIndex(context, match.roles.query)) {}

  /// The band where a condition has the value `expected`.
  std::optional<Band> match(const Expr *condition, bool expected);

  static Index getIndex(ExprContext &context, ArrayRef<Digit> digits);

private:
  /// index + sign * length.
  struct Position {
    Index index;
    const Expr *length = nullptr;
    int64_t sign = 0;
  };

  std::optional<Band> matchCompare(const Expr *expr, bool expected);
  std::optional<Position> getPosition(const Expr *expr);
  std::optional<Position> combine(const Position &lhs, const Position &rhs,
                                  int64_t sign);
  std::optional<Band> intersect(const Band &lhs, const Band &rhs);
  const Expr *peel(const Expr *expr) {
    while (const Expr *step = context.expand(expr))
      expr = step;
    return expr;
  }

  ExprContext &context;
  ArrayRef<Digit> batch;
  Index key, query;
};

} // namespace

/// The index that digits count, from the outermost to the innermost.
Index BandMatcher::getIndex(ExprContext &context, ArrayRef<Digit> digits) {
  Index index;
  for (Digit digit : digits) {
    Index term;
    term.terms.push_back({digit, 1});
    // Only the outermost digit may be of unknown size.
    index =
        index.isConstant() ? term : index * context.space.getSize(digit) + term;
  }
  return index;
}

std::optional<BandMatcher::Position>
BandMatcher::getPosition(const Expr *expr) {
  expr = peel(expr);
  switch (expr->kind) {
  case Expr::Position:
    return Position{context.space.canonicalize(expr->index)};
  case Expr::Constant: {
    std::optional<double> value = context.getConstant(expr);
    if (!value || !isa<IntegerAttr>(expr->constant))
      return std::nullopt;
    return Position{Index(static_cast<int64_t>(*value))};
  }
  case Expr::Scalar:
  case Expr::Load:
    // One number for each sequence.
    if (!expr->getType().isIntOrIndex() || expr->getType().isInteger(1) ||
        !llvm::all_of(expr->indices, [&](const Index &index) {
          return llvm::all_of(context.space.canonicalize(index).terms,
                              [&](const Index::Term &term) {
                                return llvm::is_contained(batch, term.digit);
                              });
        }))
      return std::nullopt;
    return Position{Index(), expr, 1};
  case Expr::Apply:
    break;
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(expr->op))
    return getPosition(expr->operands[0]);
  if (expr->operands.size() != 2)
    return std::nullopt;
  std::optional<Position> lhs = getPosition(expr->operands[0]);
  std::optional<Position> rhs = getPosition(expr->operands[1]);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr->is<arith::MulIOp>() && rhs->index.isConstant() && !rhs->length &&
      !lhs->length)
    return Position{lhs->index * rhs->index.constant};
  if (!expr->is<arith::AddIOp>() && !expr->is<arith::SubIOp>())
    return std::nullopt;
  return combine(*lhs, *rhs, expr->is<arith::AddIOp>() ? 1 : -1);
}

/// lhs + sign * rhs.
std::optional<BandMatcher::Position>
BandMatcher::combine(const Position &lhs, const Position &rhs, int64_t sign) {
  if (lhs.length && rhs.length)
    return std::nullopt;
  Position sum{lhs.index + rhs.index * sign, lhs.length, lhs.sign};
  if (rhs.length) {
    sum.length = rhs.length;
    sum.sign = sign * rhs.sign;
  }
  return sum;
}

std::optional<Band> BandMatcher::matchCompare(const Expr *expr, bool expected) {
  std::optional<Position> lhs = getPosition(expr->operands[0]);
  std::optional<Position> rhs = getPosition(expr->operands[1]);
  if (!lhs || !rhs)
    return std::nullopt;
  arith::CmpIPredicate predicate = cast<arith::CmpIOp>(expr->op).getPredicate();
  if (!expected)
    predicate = arith::invertPredicate(predicate);
  // difference (predicate) 0, where difference = key - query - length +
  // constant, or its negative.
  std::optional<Position> found = combine(*lhs, *rhs, -1);
  if (!found)
    return std::nullopt;
  Index difference = found->index;
  Index plain = difference;
  plain.constant = 0;
  bool hasQuery = true, negative = false;
  auto isPlain = [&](const Index &distance) {
    negative = plain == distance * -1;
    return negative || plain == distance;
  };
  if (!isPlain(key + query * -1)) {
    // Without a query, the keys of a sequence end at its length.
    hasQuery = false;
    if (!found->length || !isPlain(key))
      return std::nullopt;
  }
  if (found->length && found->sign != (negative ? 1 : -1))
    return std::nullopt;
  int64_t constant = negative ? difference.constant : -difference.constant;
  // key - query (predicate) constant, or the other way around.
  using P = arith::CmpIPredicate;
  bool isLess = llvm::is_contained({P::slt, P::sle, P::ult, P::ule}, predicate);
  bool isMore = llvm::is_contained({P::sgt, P::sge, P::ugt, P::uge}, predicate);
  if (!isLess && !isMore)
    return std::nullopt;
  // Unsigned comparisons are those of differences only without a constant.
  if (llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate) &&
      (lhs->index.constant < 0 || rhs->index.constant < 0 || found->length))
    return std::nullopt;
  bool strict = llvm::is_contained({P::slt, P::sgt, P::ult, P::ugt}, predicate);
  Band band;
  band.length = found->length;
  band.hasQuery = hasQuery;
  if (isLess != negative)
    band.high = constant - (strict ? 1 : 0);
  else
    band.low = constant + (strict ? 1 : 0);
  return band;
}

static Band intersectBounds(const Band &lhs, const Band &rhs) {
  Band band = lhs;
  if (rhs.low)
    band.low = band.low ? std::max(*band.low, *rhs.low) : rhs.low;
  if (rhs.high)
    band.high = band.high ? std::min(*band.high, *rhs.high) : rhs.high;
  return band;
}

std::optional<Band> BandMatcher::intersect(const Band &lhs, const Band &rhs) {
  auto isUnbounded = [](const Band &band) { return !band.low && !band.high; };
  if (isUnbounded(lhs))
    return rhs;
  if (isUnbounded(rhs))
    return lhs;
  if (lhs.hasQuery != rhs.hasQuery || !lhs.length != !rhs.length ||
      (lhs.length && !context.isSame(lhs.length, rhs.length)))
    return std::nullopt;
  return intersectBounds(lhs, rhs);
}

std::optional<Band> BandMatcher::match(const Expr *expr, bool expected) {
  expr = peel(expr);
  if (expr->kind == Expr::Constant) {
    if (context.getConstant(expr).value_or(0) != 0 && expected)
      return Band();
    if (context.getConstant(expr) == 0.0 && !expected)
      return Band();
    return std::nullopt;
  }
  if (expr->is<arith::CmpIOp>())
    return matchCompare(expr, expected);
  if (expr->is<arith::XOrIOp>() && context.getConstant(expr->operands[1]))
    return match(expr->operands[0],
                 expected != (*context.getConstant(expr->operands[1]) != 0));
  if (expr->is<arith::SelectOp>()) {
    // A condition that is spelled out as true and false.
    std::optional<double> kept = context.getConstant(expr->operands[1]);
    std::optional<double> other = context.getConstant(expr->operands[2]);
    if (kept && other && (*kept != 0) != (*other != 0))
      return match(expr->operands[0], expected == (*kept != 0));
  }
  if ((expr->is<arith::AndIOp>() && expected) ||
      (expr->is<arith::OrIOp>() && !expected)) {
    std::optional<Band> lhs = match(expr->operands[0], expected);
    std::optional<Band> rhs = match(expr->operands[1], expected);
    if (lhs && rhs)
      return intersect(*lhs, *rhs);
  }
  return std::nullopt;
}

/// Whether a value masks a key; false if it leaves it as it is.
static std::optional<bool> isMasking(double value) {
  if (value == 0)
    return false;
  if (value <= -9000)
    return true;
  return std::nullopt;
}

/// Compares the table of a mask by position with a band.
static std::optional<Band> matchTable(Match &match, const Mask &mask,
                                      int64_t numQueries, int64_t numKeys) {
  ExprContext &context = match.context;
  MaskEvaluator evaluator(context, mask.expr, match.roles.query,
                          match.roles.key);
  if (!evaluator.isPossible())
    return std::nullopt;
  SmallVector<bool> admitted;
  Band band;
  for (int64_t query = 0; query < numQueries; ++query)
    for (int64_t key = 0; key < numKeys; ++key) {
      std::optional<double> value = evaluator.evaluate(query, key);
      if (!value)
        return std::nullopt;
      bool admits = (*value != 0) == mask.keepsTrue;
      if (!mask.isCondition) {
        std::optional<bool> masks = isMasking(*value * mask.multiplier);
        if (!masks)
          return std::nullopt;
        admits = !*masks;
      }
      admitted.push_back(admits);
      if (!admits)
        continue;
      band.low = std::min(band.low.value_or(key - query), key - query);
      band.high = std::max(band.high.value_or(key - query), key - query);
    }
  if (!band.low)
    return std::nullopt;
  for (int64_t query = 0; query < numQueries; ++query)
    for (int64_t key = 0; key < numKeys; ++key)
      if (admitted[query * numKeys + key] !=
          (key - query >= *band.low && key - query <= *band.high))
        return std::nullopt;
  return band;
}

/// The number of values that digits take, if it is known.
static std::optional<int64_t> getCount(const IndexSpace &space,
                                       ArrayRef<Digit> digits) {
  int64_t count = 1;
  for (Digit digit : digits) {
    if (ShapedType::isDynamic(space.getSize(digit)))
      return std::nullopt;
    count *= space.getSize(digit);
  }
  return count;
}

std::optional<Band> kvq::raise::matchBand(Match &match, const Mask &mask) {
  ExprContext &context = match.context;
  std::optional<int64_t> numQueries =
      getCount(context.space, match.roles.query);
  std::optional<int64_t> numKeys = getCount(context.space, match.roles.key);
  if (!numQueries)
    return std::nullopt;
  BandMatcher matcher(match);
  std::optional<Band> band;
  if (mask.isCondition) {
    band = matcher.match(mask.expr, mask.keepsTrue);
  } else {
    const Expr *expr = mask.expr;
    while (const Expr *step = context.expand(stripCasts(expr)))
      expr = step;
    expr = stripCasts(expr);
    if (expr->is<arith::SelectOp>()) {
      std::optional<double> kept = context.getConstant(expr->operands[1]);
      std::optional<double> other = context.getConstant(expr->operands[2]);
      if (kept && other) {
        std::optional<bool> masksTrue = isMasking(*kept * mask.multiplier);
        std::optional<bool> masksFalse = isMasking(*other * mask.multiplier);
        if (masksTrue && masksFalse && *masksTrue != *masksFalse)
          band = matcher.match(expr->operands[0], !*masksTrue);
      }
    }
  }
  if (!band && numKeys && *numQueries * *numKeys <= largestTable)
    band = matchTable(match, mask, *numQueries, *numKeys);
  if (!band || (!band->length && !numKeys))
    return std::nullopt;
  // Bounds that exclude nothing.
  if (band->length)
    return band;
  if (band->low && *band->low <= 1 - *numQueries)
    band->low.reset();
  if (band->high && *band->high >= *numKeys - 1)
    band->high.reset();
  return band;
}

/// Whether a masked score is a finite number.
static bool hasFiniteFill(const Mask &mask) {
  return mask.isCondition && std::isfinite(mask.fill);
}

/// Takes the masks by the length of their sequence into the plan. What is left
/// of the masks is in plan.masks.
static void planLengths(Match &match, MaskPlan &plan, bool zeroMaskedRows) {
  std::optional<int64_t> numQueries =
      getCount(match.context.space, match.roles.query);
  SmallVector<std::pair<Mask, Band>> found;
  for (const Mask &mask : match.scores.masks) {
    std::optional<Band> band = matchBand(match, mask);
    bool isMasked =
        mask.isCondition && (zeroMaskedRows || !hasFiniteFill(mask));
    if (!band || !band->length || !isMasked) {
      plan.masks.push_back(mask);
      continue;
    }
    // The last query sees the last key.
    band->hasQuery |= *numQueries == 1;
    found.emplace_back(mask, *band);
    if (!band->high || plan.length)
      continue;
    plan.length = band->length;
    plan.causal = band->hasQuery && *numQueries > 1;
    plan.lengthOffset = *band->high + (band->hasQuery ? *numQueries : 1);
  }
  for (auto &[mask, band] : found) {
    // Positions of queries, from the sequence's length.
    int64_t offset = plan.lengthOffset - *numQueries;
    bool isOption =
        plan.length && match.context.isSame(plan.length, band.length) &&
        (band.hasQuery ? (!band.high || *band.high == offset) &&
                             (!band.low || *band.low <= offset)
                       : !band.low && *band.high == plan.lengthOffset - 1);
    if (!isOption) {
      plan.masks.push_back(mask);
      continue;
    }
    plan.causal |= band.high && band.hasQuery && *numQueries > 1;
    if (!band.low)
      continue;
    int64_t window = offset - *band.low;
    plan.windowLeft =
        plan.windowLeft < 0 ? window : std::min(plan.windowLeft, window);
  }
}

FailureOr<MaskPlan> kvq::raise::planMasks(Match &match, bool zeroMaskedRows) {
  MaskPlan plan;
  Band all;
  const IndexSpace &space = match.context.space;
  std::optional<int64_t> numQueries = getCount(space, match.roles.query);
  std::optional<int64_t> numKeys = getCount(space, match.roles.key);
  auto hasKeysInAllRows = [&](const Band &band) {
    int64_t low = band.low.value_or(-*numQueries);
    int64_t high = band.high.value_or(*numKeys);
    return low <= high && high >= 0 && *numQueries - 1 + low <= *numKeys - 1;
  };
  planLengths(match, plan, zeroMaskedRows);
  SmallVector<Mask, 2> rest;
  std::swap(rest, plan.masks);
  for (const Mask &mask : rest) {
    std::optional<Band> band = matchBand(match, mask);
    // With lengths, positions are counted from them.
    if (band && !band->length && !plan.length) {
      // Queries are the last positions of the keys.
      int64_t offset = *numKeys - *numQueries;
      bool isOption = (!band->high || *band->high >= offset) &&
                      (!band->low || *band->low <= offset);
      Band both = intersectBounds(all, *band);
      // A bias that leaves a row without keys gives its values' mean, unless it
      // is infinite; kept as a bias, it still does.
      if (isOption && (mask.isCondition || hasKeysInAllRows(both))) {
        all = both;
        continue;
      }
    }
    plan.masks.push_back(mask);
  }
  bool hasKeys = plan.masks.empty() && !plan.length &&
                 (match.scores.masks.empty() || hasKeysInAllRows(all));
  if (!hasKeys && !zeroMaskedRows)
    for (const Mask &mask : match.scores.masks)
      if (hasFiniteFill(mask))
        return match.fail<RemarkId::AttentionMaskedRows>(
            std::to_string(mask.fill));

  if (all.high || all.low) {
    int64_t offset = *numKeys - *numQueries;
    plan.causal = all.high == offset;
    if (all.high && !plan.causal)
      plan.windowRight = *all.high - offset;
    if (all.low)
      plan.windowLeft = offset - *all.low;
  }
  return plan;
}
