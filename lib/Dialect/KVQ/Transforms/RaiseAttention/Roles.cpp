//===- Roles.cpp - What the digits of indices mean to attention -----------===//
//
// A digit of the result that only the values have is one of the value's
// head_dim; one that only the queries have is a query or, with grouped queries,
// a query head of a KV head; any other is a sequence or a KV head. Whatever is
// taken for what, the result is the same; the choices here are those that the
// tensors' order suggests, so that a gathered cache is read as it lies.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include <algorithm>

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

namespace {

/// The digits of a tensor, by dimension and in order.
struct Layout {
  SmallVector<Digits> dims;
  Digits order;

  static Layout get(IndexSpace &space, Value tensor, ArrayRef<Index> indices) {
    Layout layout;
    auto type = cast<RankedTensorType>(tensor.getType());
    for (auto [dim, index] : llvm::enumerate(indices)) {
      Digits digits =
          space.getDigits(index, type.getDimSize(dim)).value_or(Digits());
      llvm::append_range(layout.order, digits);
      layout.dims.push_back(std::move(digits));
    }
    return layout;
  }

  /// Whether a digit lies in one dimension with one of `others`.
  bool sharesDim(Digit digit, ArrayRef<Digit> others) const {
    return llvm::any_of(dims, [&](const Digits &dim) {
      return llvm::is_contained(dim, digit) &&
             llvm::any_of(others, [&](Digit other) {
               return llvm::is_contained(dim, other);
             });
    });
  }

  /// The digit before another one in the order, if any.
  std::optional<Digit> getPrevious(Digit digit) const {
    const auto *it = llvm::find(order, digit);
    if (it == order.end() || it == order.begin())
      return std::nullopt;
    return *std::prev(it);
  }

  /// Whether the dimension before that of a digit ends with `other`, in a
  /// tensor whose heads and groups are apart.
  bool followsInGroup(Digit digit, Digit other) const {
    if (dims.size() < 5)
      return false;
    for (unsigned dim = 1; dim < dims.size(); ++dim)
      if (llvm::is_contained(dims[dim], digit))
        return !dims[dim - 1].empty() && dims[dim - 1].back() == other;
    return false;
  }

  void sort(Digits &digits) const {
    llvm::sort(digits, [&](Digit lhs, Digit rhs) {
      return llvm::find(order, lhs) < llvm::find(order, rhs);
    });
  }
};

class RoleMatcher {
public:
  explicit RoleMatcher(Match &match)
      : match(match), context(match.context), roles(match.roles) {}

  LogicalResult run();

private:
  DigitSet collect(const Product &product) {
    DigitSet digits;
    for (const Expr *expr : product.factors)
      context.collectDigits(expr, digits);
    for (const Expr *expr : product.divisors)
      context.collectDigits(expr, digits);
    return digits;
  }
  Layout getLayout(const Product &product) {
    const Expr *expr = product.factors[0];
    if (expr->kind != Expr::Load)
      return {};
    return Layout::get(context.space, expr->value, expr->indices);
  }

  /// Adds the digits of numbers that masks compare positions with.
  void collectLengthDigits(const Expr *expr);

  void splitQueries(Digits queryOnly, ArrayRef<Digit> shared);
  void splitShared(Digits shared);

  Match &match;
  ExprContext &context;
  Roles &roles;
  Layout result, queries, keys;
  DigitSet lengths, sinks;
};

} // namespace

void RoleMatcher::collectLengthDigits(const Expr *expr) {
  if (const Expr *step = context.expand(expr))
    return collectLengthDigits(step);
  if (expr->kind == Expr::Load && expr->getType().isIntOrIndex() &&
      !expr->getType().isInteger(1))
    context.collectDigits(expr, lengths);
  for (const Expr *operand : expr->operands)
    collectLengthDigits(operand);
}

/// Splits digits of queries alone into queries and heads of a group.
void RoleMatcher::splitQueries(Digits queryOnly, ArrayRef<Digit> shared) {
  DigitSet masked;
  for (const Mask &mask : match.scores.masks)
    context.collectSourceDigits(mask.expr, masked);
  Digits positions = queryOnly;
  llvm::erase_if(positions, [&](Digit d) { return !masked.contains(d); });

  Digits rest;
  for (Digit digit : queryOnly) {
    if (sinks.contains(digit)) {
      roles.group.push_back(digit);
      continue;
    }
    bool isPosition = positions.size() == 1 && positions[0] == digit;
    if (!isPosition &&
        (result.sharesDim(digit, shared) || queries.sharesDim(digit, shared)))
      roles.group.push_back(digit);
    else
      rest.push_back(digit);
  }
  // One query, [.., KV heads, group, 1, head_dim].
  if (rest.size() == 1 && positions.empty() && shared.size() >= 2 &&
      queries.followsInGroup(rest[0], shared.back())) {
    roles.group.push_back(rest[0]);
    return;
  }
  if (rest.size() <= 1) {
    roles.query = rest;
    return;
  }
  // Masks are by position of the query.
  Digits known = rest;
  llvm::erase_if(known, [&](Digit d) { return !masked.contains(d); });
  if (known.empty() || known.size() == rest.size()) {
    // [.., KV heads, group, ..], or else the last is the query.
    known = rest;
    if (shared.size() >= 2)
      llvm::erase_if(known, [&](Digit digit) {
        std::optional<Digit> previous = queries.getPrevious(digit);
        return previous && *previous == shared.back();
      });
    if (known.size() == rest.size() && shared.size() < 2)
      known.assign({rest.back()});
  }
  for (Digit digit : rest)
    (llvm::is_contained(known, digit) ? roles.query : roles.group)
        .push_back(digit);
}

/// Splits digits that queries share with keys or values into sequences and KV
/// heads.
void RoleMatcher::splitShared(Digits shared) {
  if (shared.empty())
    return;
  Digit head = shared.back();
  bool found = shared.size() > 1;
  bool hasSinks =
      llvm::any_of(shared, [&](Digit d) { return sinks.contains(d); });
  for (Digit digit : shared)
    if (hasSinks ? sinks.contains(digit)
                 : result.sharesDim(digit, roles.group) ||
                       queries.sharesDim(digit, roles.group)) {
      head = digit;
      found = true;
    }
  // One sequence: [1, heads, L, head_dim] or [1, L, heads, head_dim].
  if (!found && keys.dims.size() >= 4 && keys.dims.front().empty() &&
      !lengths.contains(head))
    found = true;
  for (Digit digit : shared)
    (found && digit == head ? roles.kvHead : roles.batch).push_back(digit);
}

LogicalResult RoleMatcher::run() {
  result =
      Layout::get(context.space, match.root->getResult(0), match.resultIndices);
  queries = getLayout(match.queries);
  keys = getLayout(match.keys);
  for (const Index &index : match.keyIndices) {
    std::optional<Digits> digits =
        context.space.getDigits(index, ShapedType::kDynamic);
    if (!digits)
      return match.fail<RemarkId::AttentionProduct>();
    llvm::append_range(roles.key, *digits);
  }
  DigitSet inQueries = collect(match.queries), inKeys = collect(match.keys),
           inValues = collect(match.values), inMasks;
  for (const Mask &mask : match.scores.masks)
    context.collectDigits(mask.expr, inMasks);
  for (Digit digit : roles.key)
    if (!inKeys.contains(digit) || !inValues.contains(digit))
      return match.fail<RemarkId::AttentionProduct>();
  for (Digit digit : roles.headDim)
    if (!inKeys.contains(digit) || !inQueries.contains(digit))
      return match.fail<RemarkId::AttentionProduct>();

  Digits queryOnly, shared;
  for (Digit digit : result.order) {
    bool inWeights = inQueries.contains(digit) || inKeys.contains(digit) ||
                     inMasks.contains(digit);
    if (!inWeights)
      roles.valueDim.push_back(digit);
    else if (inKeys.contains(digit) || inValues.contains(digit))
      shared.push_back(digit);
    else
      queryOnly.push_back(digit);
  }
  // Values of the whole result must not depend on anything else.
  for (const Digits *digits : {&queries.order, &keys.order})
    for (Digit digit : *digits)
      if (!llvm::is_contained(result.order, digit) &&
          !llvm::is_contained(roles.key, digit) &&
          !llvm::is_contained(roles.headDim, digit))
        return match.fail<RemarkId::AttentionProduct>();
  keys.sort(shared);
  // Lengths are those of sequences.
  for (const Mask &mask : match.scores.masks)
    if (mask.isCondition)
      collectLengthDigits(mask.expr);
  std::stable_partition(shared.begin(), shared.end(),
                        [&](Digit digit) { return lengths.contains(digit); });
  // Sinks are those of query heads.
  const Expr *sink = match.softmax.sink;
  if (sink)
    context.collectSourceDigits(sink, sinks);
  queries.sort(queryOnly);
  splitQueries(queryOnly, shared);
  splitShared(shared);
  Digits heads = roles.getHeads();
  if (sink && !context.isOver(sink, heads))
    return match.fail<RemarkId::AttentionSink>();
  return success();
}

LogicalResult kvq::raise::matchRoles(Match &match) {
  return RoleMatcher(match).run();
}
