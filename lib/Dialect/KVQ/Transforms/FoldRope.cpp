//===- FoldRope.cpp - Rotate keys where they are quantized ----------------===//
//
// Pairs of channels are evaluated as expressions over indices: whether halves
// are rotated by slices and concatenation, or pairs by a reshape, a rotation is
// x0 * cos - x1 * sin and x1 * cos + x0 * sin. Signs move freely: negation is
// exact.
//
//===----------------------------------------------------------------------===//

#include "FoldRope.h"
#include "RaiseAttention/ExprEmitter.h"
#include "RaiseAttention/Regroup.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

namespace {

/// The rows before they are rotated, as a tensor with dimensions of the rows'
/// in any order and grouping.
struct Source {
  Value tensor;
  Indices indices;
  /// The dimension of the channels.
  unsigned channelDim;
};

/// One product of a rotated channel: a channel times an element of a table.
struct Term {
  bool negative = false;
  const Expr *factors[2];
};

/// An attempt to see rows as rotated, of one style and number of channels.
class RopeMatcher {
public:
  enum Outcome { None, Rounds, OtherTables, Match };

  RopeMatcher(TypedValue<RankedTensorType> rows, int64_t numRotated,
              RopeStyle style);

  Outcome run();

  /// Emits the rows before, and a table.
  Value emitRows(OpBuilder &b, Location loc);
  Value emitTable(OpBuilder &b, Location loc, const Expr *table);

  const Expr *cos = nullptr, *sin = nullptr;

private:
  const Expr *peel(const Expr *expr, bool *rounds);
  bool matchTerms(const Expr *expr, Term (&terms)[2]);
  std::optional<Source> findSource(const Expr *expr, const Index &channel);
  bool isSameSource(const Expr *expr, const Index &channel);
  const Expr *findTable(const Expr *expr);
  bool hasOwnDigits(ArrayRef<Index> indices, unsigned channelDim);

  TypedValue<RankedTensorType> rows;
  int64_t numRotated;
  ExprContext context;
  Index row, head, pair, channels[2];
  std::optional<Source> source;
  /// Whether something is rounded, or not computed in f32.
  bool rounds = false;
};

} // namespace

RopeMatcher::RopeMatcher(TypedValue<RankedTensorType> rows, int64_t numRotated,
                         RopeStyle style)
    : rows(rows), numRotated(numRotated) {
  RankedTensorType type = rows.getType();
  row = context.space.create(type.getDimSize(0), rows, 0);
  head = context.space.create(type.getDimSize(1), rows, 1);
  pair = context.space.create(numRotated / 2, Value(), 0);
  if (style == RopeStyle::Interleaved) {
    channels[0] = pair * 2;
    channels[1] = pair * 2 + Index(1);
  } else {
    channels[0] = pair;
    channels[1] = pair + Index(numRotated / 2);
  }
}

/// Steps up to an operation on scalars other than a widening, or to what is not
/// known. Notes in `rounds`, if given, whether anything on the way rounds.
const Expr *RopeMatcher::peel(const Expr *expr, bool *rounds) {
  for (;;) {
    if (expr->is<arith::ExtFOp>()) {
      expr = expr->operands[0];
      continue;
    }
    if (rounds && expr->is<arith::TruncFOp>()) {
      *rounds = true;
      expr = expr->operands[0];
      continue;
    }
    const Expr *step = context.expandSlices(expr);
    if (!step)
      return expr;
    expr = step;
  }
}

/// Matches the sum or the difference of two products.
bool RopeMatcher::matchTerms(const Expr *expr, Term (&terms)[2]) {
  const Expr *sum = peel(expr, &rounds);
  bool subtract = sum->is<arith::SubFOp>();
  if (!subtract && !sum->is<arith::AddFOp>())
    return false;
  rounds |= !sum->getType().isF32();
  for (unsigned i : {0u, 1u}) {
    Term &term = terms[i];
    term.negative = subtract && i == 1;
    // Takes negations off.
    auto strip = [&](const Expr *expr) {
      const Expr *outer = peel(expr, &rounds);
      for (; outer->is<arith::NegFOp>(); outer = peel(expr, &rounds)) {
        term.negative = !term.negative;
        expr = outer->operands[0];
      }
      return std::pair(expr, outer);
    };
    const Expr *product = strip(sum->operands[i]).second;
    if (!product->is<arith::MulFOp>())
      return false;
    rounds |= !product->getType().isF32();
    for (unsigned j : {0u, 1u})
      term.factors[j] = strip(product->operands[j]).first;
  }
  return true;
}

/// Whether indices but that of the channels are over the digits of row and
/// head, each once.
bool RopeMatcher::hasOwnDigits(ArrayRef<Index> indices, unsigned channelDim) {
  DigitSet seen, expected;
  expected.insert(context.space.canonicalize(row));
  expected.insert(context.space.canonicalize(head));
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (dim == channelDim)
      continue;
    Index canonical = context.space.canonicalize(index);
    if (seen.containsAny(canonical))
      return false;
    seen.insert(canonical);
  }
  return seen.contains(expected) && expected.contains(seen);
}

/// The last tensor, going up from an element, that has all of the rows and the
/// channels.
std::optional<Source> RopeMatcher::findSource(const Expr *expr,
                                              const Index &channel) {
  std::optional<Source> found;
  int64_t headDim = rows.getType().getDimSize(2);
  for (;;) {
    if (expr->is<arith::ExtFOp>()) {
      expr = expr->operands[0];
      continue;
    }
    if (expr->kind != Expr::Load)
      return found;
    auto type = cast<RankedTensorType>(expr->value.getType());
    for (auto [dim, index] : llvm::enumerate(expr->indices)) {
      bool isChannel = type.getDimSize(dim) == headDim &&
                       context.space.canonicalize(index) ==
                           context.space.canonicalize(channel);
      if (!isChannel || !hasOwnDigits(expr->indices, dim))
        continue;
      bool isWhole = true;
      for (auto [other, index] : llvm::enumerate(expr->indices))
        isWhole &= other == dim ||
                   context.space.getDigits(index, type.getDimSize(other));
      Type element = type.getElementType();
      if (isWhole && (element.isF32() || element.isF16() || element.isBF16()))
        found = Source{expr->value, expr->indices, unsigned(dim)};
    }
    expr = context.expandSlices(expr);
    if (!expr)
      return found;
  }
}

/// Whether an element is that of the source at another channel.
bool RopeMatcher::isSameSource(const Expr *expr, const Index &channel) {
  std::optional<Source> other = findSource(expr, channel);
  if (!other || other->tensor != source->tensor ||
      other->channelDim != source->channelDim)
    return false;
  for (unsigned dim = 0; dim < source->indices.size(); ++dim)
    if (dim != source->channelDim &&
        !(context.space.canonicalize(source->indices[dim]) ==
          context.space.canonicalize(other->indices[dim])))
      return false;
  return true;
}

/// The last tensor, going up from an element of a table, without a dimension of
/// heads; null if there is none.
const Expr *RopeMatcher::findTable(const Expr *expr) {
  DigitSet own;
  own.insert(context.space.canonicalize(row));
  own.insert(context.space.canonicalize(pair));
  const Expr *found = nullptr;
  for (;;) {
    if (expr->is<arith::ExtFOp>()) {
      expr = expr->operands[0];
      continue;
    }
    if (expr->kind != Expr::Load)
      return found;
    DigitSet digits;
    context.collectDigits(expr, digits);
    if (own.contains(digits))
      found = expr;
    expr = context.expandSlices(expr);
    if (!expr)
      return found;
  }
}

RopeMatcher::Outcome RopeMatcher::run() {
  Term terms[2][2];
  for (unsigned i : {0u, 1u})
    if (!matchTerms(context.load(rows, {row, head, channels[i]}), terms[i]))
      return None;
  // The first channel: +x0 * cos and -x1 * sin, the second: +x1 * cos and +x0 *
  // sin, in any order.
  auto matchPair = [&](unsigned cosTerm, unsigned cosChannel,
                       unsigned sinChannel) {
    const Term &byCos = terms[0][cosTerm], &bySin = terms[0][1 - cosTerm];
    if (byCos.negative || !bySin.negative)
      return false;
    source = findSource(byCos.factors[cosChannel], channels[0]);
    if (!source || !isSameSource(bySin.factors[sinChannel], channels[1]))
      return false;
    cos = findTable(byCos.factors[1 - cosChannel]);
    sin = findTable(bySin.factors[1 - sinChannel]);
    return cos && sin;
  };
  bool matched = false;
  for (unsigned i = 0; i < 8 && !matched; ++i)
    matched = matchPair(i & 1, (i >> 1) & 1, i >> 2);
  if (!matched || terms[1][0].negative || terms[1][1].negative)
    return None;
  // Which factors are the channels follows from the source.
  const Expr *secondCos = nullptr, *secondSin = nullptr;
  for (const Term &term : terms[1])
    for (unsigned i : {0u, 1u}) {
      if (!secondCos && isSameSource(term.factors[i], channels[1]))
        secondCos = term.factors[1 - i];
      else if (!secondSin && isSameSource(term.factors[i], channels[0]))
        secondSin = term.factors[1 - i];
    }
  if (!secondCos || !secondSin)
    return None;
  // Channels that pass.
  int64_t headDim = rows.getType().getDimSize(2);
  if (numRotated != headDim) {
    Index rest = context.space.create(headDim - numRotated, Value(), 0) +
                 Index(numRotated);
    const Expr *passed = context.load(rows, {row, head, rest});
    while (passed->is<arith::TruncFOp>() || context.expand(passed)) {
      rounds |= passed->is<arith::TruncFOp>();
      passed = passed->is<arith::TruncFOp>() ? passed->operands[0]
                                             : context.expand(passed);
    }
    if (!isSameSource(passed, rest))
      return None;
  }
  if (rounds)
    return Rounds;
  // Of one tensor both elements are computed alike, casts included.
  auto isSameTable = [&](const Expr *table, const Expr *factor) {
    const Expr *second = findTable(factor);
    return second && second->value == table->value &&
           context.isSame(table, second);
  };
  return isSameTable(cos, secondCos) && isSameTable(sin, secondSin)
             ? Match
             : OtherTables;
}

Value RopeMatcher::emitRows(OpBuilder &b, Location loc) {
  IndexSpace &space = context.space;
  auto type = cast<RankedTensorType>(source->tensor.getType());
  RankedTensorType rowsType = rows.getType();
  int64_t headDim = rowsType.getDimSize(2);
  Index channel = space.create(headDim, source->tensor, source->channelDim);
  Grouping from;
  for (auto [dim, index] : llvm::enumerate(source->indices))
    from.push_back(*space.getDigits(dim == source->channelDim ? channel : index,
                                    type.getDimSize(dim)));
  Grouping to{*space.getDigits(row, rowsType.getDimSize(0)),
              *space.getDigits(head, rowsType.getDimSize(1)),
              *space.getDigits(channel, headDim)};
  Value result = regroup(b, loc, space, source->tensor, from, to);
  RankedTensorType expected = rowsType.clone(type.getElementType());
  if (result.getType() != expected)
    result = tensor::CastOp::create(b, loc, expected, result);
  return result;
}

Value RopeMatcher::emitTable(OpBuilder &b, Location loc, const Expr *table) {
  IndexSpace &space = context.space;
  auto type = cast<RankedTensorType>(table->value.getType());
  Value tensor = table->value;
  Index own = space.canonicalize(pair);
  // The part that belongs to the first channels of the pairs.
  for (auto [dim, index] : llvm::enumerate(table->indices)) {
    if (!(space.canonicalize(index) == own) || own.isConstant() ||
        type.getDimSize(dim) == numRotated / 2)
      continue;
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
    SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)),
        strides(sizes.size(), b.getIndexAttr(1));
    sizes[dim] = b.getIndexAttr(numRotated / 2);
    tensor =
        tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes, strides);
  }
  Digits rowDigits = *space.getDigits(row, rows.getType().getDimSize(0));
  Digits pairDigits = *space.getDigits(pair, numRotated / 2);
  Digits digits = rowDigits;
  llvm::append_range(digits, pairDigits);
  const Expr *element = context.load(tensor, table->indices);
  ExprEmitter emitter(context, b, loc);
  Value result = emitter.emitTensor(
      digits, element, b.getF32Type(),
      [&](OpBuilder &builder, function_ref<Value(const Expr *)> emit) {
        return emitToF32(builder, loc, emit(element));
      });
  Grouping from;
  for (Digit digit : digits)
    from.push_back({digit});
  result = regroup(b, loc, space, result, from, {rowDigits, pairDigits});
  auto expected = RankedTensorType::get(
      {rows.getType().getDimSize(0), numRotated / 2}, b.getF32Type());
  if (result.getType() != expected)
    result = tensor::CastOp::create(b, loc, expected, result);
  return result;
}

/// How many channels may be rotated: all, or as many as a concatenation nearby
/// puts together.
static SmallVector<int64_t> getNumbersOfChannels(Value rows, int64_t headDim) {
  llvm::SmallSetVector<int64_t, 4> numbers;
  numbers.insert(headDim);
  llvm::SmallSetVector<Operation *, 16> pending;
  auto visit = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.getRank() != 0 && type.getShape().back() < headDim &&
        !ShapedType::isDynamic(type.getShape().back()))
      numbers.insert(type.getShape().back());
    constexpr unsigned limit = 16;
    if (Operation *op = value.getDefiningOp(); op && pending.size() < limit)
      pending.insert(op);
  };
  visit(rows);
  for (unsigned i = 0; i < pending.size(); ++i)
    for (Value operand : pending[i]->getOperands())
      visit(operand);
  SmallVector<int64_t> result(numbers.begin(), numbers.end());
  llvm::erase_if(result,
                 [](int64_t number) { return number % 2 != 0 || number == 0; });
  return result;
}

std::optional<Report> kvq::foldRope(RewriterBase &rewriter,
                                    QuantizeAppendOp append) {
  auto rows = dyn_cast<TypedValue<RankedTensorType>>(append.getInput());
  CacheType cache = append.getCache().getType();
  if (!rows || append.getCos() || !cache.isKey())
    return std::nullopt;
  std::optional<Report> miss;
  for (int64_t numRotated : getNumbersOfChannels(rows, cache.getHeadDim()))
    for (RopeStyle style : {RopeStyle::RotateHalf, RopeStyle::Interleaved}) {
      RopeMatcher matcher(rows, numRotated, style);
      switch (matcher.run()) {
      case RopeMatcher::None:
        continue;
      case RopeMatcher::Rounds:
        miss = Report::get<RemarkId::RopeRounds>();
        continue;
      case RopeMatcher::OtherTables:
        miss = Report::get<RemarkId::RopeOtherTables>();
        continue;
      case RopeMatcher::Match:
        break;
      }
      rewriter.setInsertionPoint(append);
      Location loc = append.getLoc();
      Value source = matcher.emitRows(rewriter, loc);
      Value cos = matcher.emitTable(rewriter, loc, matcher.cos);
      Value sin = matcher.emitTable(rewriter, loc, matcher.sin);
      rewriter.modifyOpInPlace(append, [&] {
        append.getInputMutable().assign(source);
        append.getCosMutable().assign(cos);
        append.getSinMutable().assign(sin);
        append.setRopeStyle(style);
      });
      report<RemarkId::FoldedRope>(append, stringifyRopeStyle(style),
                                   numRotated);
      eraseDeadProducers(rewriter, Value(rows));
      return std::nullopt;
    }
  return miss;
}
