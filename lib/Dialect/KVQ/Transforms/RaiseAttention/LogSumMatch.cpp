//===- LogSumMatch.cpp - Find the logarithm of the sum of weights ---------===//
//
// log(sum) plus the maximum that was subtracted from the scores. The tensor has
// dimensions of its own; what they are to the match is found at the sum, which
// both the weights and the logarithm are computed from.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

/// Steps up to the first operation on scalars or reduction.
static const Expr *peel(ExprContext &context, const Expr *expr) {
  for (;;) {
    expr = stripCasts(expr);
    const Expr *step = context.expand(expr);
    if (!step)
      return expr;
    expr = step;
  }
}

/// Finds a reduction that an expression is computed from: any, or with `tensor`
/// the one that makes it.
static const Expr *findReduction(ExprContext &context, const Expr *expr,
                                 Value tensor) {
  expr = peel(context, expr);
  if (expr->kind == Expr::Load && context.getNumReduced(expr) &&
      (!tensor || expr->value == tensor))
    return expr;
  for (const Expr *operand : expr->operands)
    if (const Expr *found = findReduction(context, operand, tensor))
      return found;
  return nullptr;
}

/// Expresses the indices of a tensor by those of the match, where `from` and
/// `to` are the indices of one element in terms of either.
static std::optional<Indices> translate(IndexSpace &space,
                                        ArrayRef<Index> indices,
                                        ArrayRef<Index> from,
                                        ArrayRef<Index> to) {
  llvm::SmallMapVector<Digit, Index, 4> known;
  for (auto [own, match] : llvm::zip_equal(from, to)) {
    Index rest = space.canonicalize(match);
    Index index = space.canonicalize(own);
    rest.constant -= index.constant;
    llvm::sort(index.terms, [](const Index::Term &lhs, const Index::Term &rhs) {
      return lhs.stride > rhs.stride;
    });
    for (const Index::Term &term : index.terms) {
      auto divided = space.divide(rest, term.stride);
      if (!divided)
        return std::nullopt;
      known[term.digit] = divided->first;
      rest = divided->second;
    }
    if (!(rest == Index(0)))
      return std::nullopt;
  }
  Indices result;
  for (const Index &input : indices) {
    Index index = space.canonicalize(input);
    Index translated = index.constant;
    for (const Index::Term &term : index.terms) {
      auto it = known.find(term.digit);
      if (it == known.end())
        return std::nullopt;
      translated = translated + it->second * term.stride;
    }
    result.push_back(translated);
  }
  return result;
}

/// Whether an expression is what is subtracted from the scores, as it is to be
/// added to the logarithm.
static bool isMaximum(ExprContext &context, const Expr *expr,
                      const Softmax &softmax) {
  if (!softmax.maximum)
    return false;
  if (std::abs(softmax.multiplier - 1) <= 1e-6)
    return context.isSame(expr, softmax.maximum);
  expr = peel(context, expr);
  if (!expr->is<arith::MulFOp>())
    return false;
  for (unsigned i : {0u, 1u}) {
    std::optional<double> factor = context.getConstant(expr->operands[i]);
    if (factor && std::abs(*factor / softmax.multiplier - 1) <= 1e-6 &&
        context.isSame(expr->operands[1 - i], softmax.maximum))
      return true;
  }
  return false;
}

static bool isLogSum(ExprContext &context, const Expr *expr,
                     const Softmax &softmax) {
  const Expr *outer = peel(context, expr);
  if (outer->is<math::LogOp>())
    return !softmax.maximum && context.isSame(outer->operands[0], softmax.sum);
  if (!outer->is<arith::AddFOp>())
    return false;
  for (unsigned i : {0u, 1u}) {
    const Expr *log = peel(context, outer->operands[i]);
    if (log->is<math::LogOp>() &&
        context.isSame(log->operands[0], softmax.sum) &&
        isMaximum(context, outer->operands[1 - i], softmax))
      return true;
  }
  return false;
}

std::optional<LogSum> kvq::raise::matchLogSum(Match &match, Value tensor) {
  ExprContext &context = match.context;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || !isa<FloatType>(type.getElementType()) || !match.softmax.sum)
    return std::nullopt;
  Indices own;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    own.push_back(context.space.create(size, tensor, dim));
  const Expr *sum = findReduction(context, match.softmax.sum, {});
  const Expr *ownSum =
      sum ? findReduction(context, context.load(tensor, own), sum->value)
          : nullptr;
  if (!ownSum)
    return std::nullopt;
  std::optional<Indices> indices =
      translate(context.space, own, ownSum->indices, sum->indices);
  if (!indices ||
      !isLogSum(context, context.load(tensor, *indices), match.softmax))
    return std::nullopt;
  // Each of the digits once, and nothing else.
  Digits found, expected = match.roles.batch;
  llvm::append_range(expected, match.roles.query);
  llvm::append_range(expected, match.roles.getHeads());
  for (auto [dim, index] : llvm::enumerate(*indices)) {
    std::optional<Digits> digits =
        context.space.getDigits(index, type.getDimSize(dim));
    if (!digits)
      return std::nullopt;
    llvm::append_range(found, *digits);
  }
  llvm::sort(found);
  llvm::sort(expected);
  if (found != expected)
    return std::nullopt;
  return LogSum{tensor, *indices};
}
