//===- BuildAttention.cpp - Make kvq.attention of a match -----------------===//

#include "AttentionMatch.h"
#include "ExprEmitter.h"
#include "Regroup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

namespace {

class AttentionBuilder {
public:
  AttentionBuilder(Match &match, const MaskPlan &masks, OpBuilder &builder)
      : match(match), context(match.context), space(match.context.space),
        roles(match.roles), masks(masks), b(builder), loc(match.root->getLoc()),
        emitter(match.context, builder, loc) {}

  SmallVector<Value> run();

private:
  Value emitOperand(const Product &product, ArrayRef<Digits> roles);
  Value emitScale();
  Value emitMask();
  Value emitLengths();
  Value emitSinks();
  AttentionOptionsAttr getOptions();

  /// The dimensions of a tensor that an element is loaded from, in digits.
  Grouping getGrouping(Value tensor, ArrayRef<Index> indices) {
    Grouping grouping;
    auto type = cast<RankedTensorType>(tensor.getType());
    for (auto [dim, index] : llvm::enumerate(indices))
      grouping.push_back(*space.getDigits(index, type.getDimSize(dim)));
    return grouping;
  }

  Match &match;
  ExprContext &context;
  IndexSpace &space;
  const Roles &roles;
  const MaskPlan &masks;
  OpBuilder &b;
  Location loc;
  ExprEmitter emitter;
};

} // namespace

static Digits flatten(ArrayRef<Digits> groups) {
  Digits digits;
  for (const Digits &group : groups)
    llvm::append_range(digits, group);
  return digits;
}

Value AttentionBuilder::emitOperand(const Product &product,
                                    ArrayRef<Digits> to) {
  const Expr *first = product.factors[0];
  Digits digits = flatten(to);
  if (product.factors.size() == 1 && product.divisors.empty() &&
      product.constant == 1 &&
      findSource(match, first, /*factors=*/nullptr) == first) {
    Grouping from = getGrouping(first->value, first->indices);
    Digits found = flatten(from);
    if (found.size() == digits.size() && llvm::all_of(found, [&](Digit digit) {
          return llvm::is_contained(digits, digit);
        }))
      return regroup(b, loc, space, first->value, from, to);
  }
  SmallVector<const Expr *> exprs;
  llvm::append_range(exprs, product.factors);
  llvm::append_range(exprs, product.divisors);
  // A copy that repeats the elements keeps their type.
  bool copies = exprs.size() == 1 && product.constant == 1;
  Type element = b.getF32Type();
  if (copies && (first->getType().isF16() || first->getType().isBF16()))
    element = first->getType();
  Value tensor = emitter.emitTensor(
      digits, exprs, element,
      [&](OpBuilder &builder, function_ref<Value(const Expr *)> emit) {
        if (element != builder.getF32Type())
          return emit(first);
        Value result;
        auto combine = [&](Value value, bool divide) {
          value = emitToF32(builder, loc, value);
          if (!result)
            result = value;
          else if (divide)
            result = arith::DivFOp::create(builder, loc, result, value);
          else
            result = arith::MulFOp::create(builder, loc, result, value);
        };
        for (const Expr *factor : product.factors)
          combine(emit(factor), /*divide=*/false);
        for (const Expr *divisor : product.divisors)
          combine(emit(divisor), /*divide=*/true);
        if (product.constant != 1)
          combine(arith::ConstantOp::create(
                      builder, loc, builder.getF32FloatAttr(product.constant)),
                  /*divide=*/false);
        return result;
      });
  Grouping from;
  for (Digit digit : digits)
    from.push_back({digit});
  return regroup(b, loc, space, tensor, from, to);
}

Value AttentionBuilder::emitScale() {
  const Scores &scores = match.scores;
  Value scale;
  if (scores.scale != 1 || scores.factors.empty())
    scale = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(scores.scale));
  for (const Factor &factor : scores.factors) {
    Value value = emitToF32(b, loc, emitter.emitUniform(factor.expr));
    if (!scale && !factor.divide) {
      scale = value;
      continue;
    }
    if (!scale)
      scale = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
    scale = factor.divide
                ? arith::DivFOp::create(b, loc, scale, value).getResult()
                : arith::MulFOp::create(b, loc, scale, value).getResult();
  }
  return scale;
}

Value AttentionBuilder::emitMask() {
  if (masks.masks.empty())
    return {};
  DigitSet used;
  SmallVector<const Expr *> exprs;
  bool conditionsOnly = true;
  for (const Mask &mask : masks.masks) {
    context.collectSourceDigits(mask.expr, used);
    exprs.push_back(mask.expr);
    conditionsOnly &= mask.isCondition;
  }
  // Each dimension is there for all of its digits, or for none; keys always.
  auto keep = [&](Digits digits) {
    return llvm::any_of(digits, [&](Digit d) { return used.contains(d); })
               ? digits
               : Digits();
  };
  Grouping to{keep(roles.batch), keep(roles.getHeads()), keep(roles.query),
              roles.key};
  Digits digits = flatten(to);

  const Mask &first = masks.masks.front();
  if (masks.masks.size() == 1 && first.expr->kind == Expr::Load &&
      (first.isCondition ? first.keepsTrue : first.multiplier == 1)) {
    Type type = first.expr->getType();
    if (type.isInteger(1) || type.isF32() || type.isF16() || type.isBF16()) {
      auto tensorType = cast<RankedTensorType>(first.expr->value.getType());
      Grouping from;
      bool whole = true;
      for (auto [dim, index] : llvm::enumerate(first.expr->indices)) {
        std::optional<Digits> found =
            space.getDigits(index, tensorType.getDimSize(dim));
        whole &= found.has_value();
        from.push_back(found.value_or(Digits()));
      }
      Digits found = flatten(from);
      if (whole && found.size() == digits.size() &&
          llvm::all_of(digits, [&](Digit digit) {
            return llvm::is_contained(found, digit);
          }))
        return regroup(b, loc, space, first.expr->value, from, to);
    }
  }

  Type element = conditionsOnly ? Type(b.getI1Type()) : Type(b.getF32Type());
  Value tensor = emitter.emitTensor(
      digits, exprs, element,
      [&](OpBuilder &builder, function_ref<Value(const Expr *)> emit) {
        Value bias, admitted;
        for (const Mask &mask : masks.masks) {
          Value value = emit(mask.expr);
          if (mask.isCondition) {
            if (!mask.keepsTrue)
              value = arith::XOrIOp::create(
                  builder, loc, value,
                  arith::ConstantIntOp::create(builder, loc, 1, 1));
            admitted =
                admitted ? arith::AndIOp::create(builder, loc, admitted, value)
                         : value;
            continue;
          }
          value = emitToF32(builder, loc, value);
          if (mask.multiplier != 1)
            value = arith::MulFOp::create(
                builder, loc, value,
                arith::ConstantOp::create(
                    builder, loc, builder.getF32FloatAttr(mask.multiplier)));
          bias =
              bias ? arith::AddFOp::create(builder, loc, bias, value) : value;
        }
        if (!bias)
          return admitted;
        if (!admitted)
          return bias;
        Value none = arith::ConstantOp::create(
            builder, loc,
            builder.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
        return arith::SelectOp::create(builder, loc, admitted, bias, none)
            .getResult();
      });
  Grouping from;
  for (Digit digit : digits)
    from.push_back({digit});
  return regroup(b, loc, space, tensor, from, to);
}

Value AttentionBuilder::emitLengths() {
  const Expr *length = masks.length;
  if (!length)
    return {};
  Grouping to{roles.batch};
  if (length->kind == Expr::Load && length->getType().isInteger(32) &&
      masks.lengthOffset == 0) {
    Grouping from;
    auto type = cast<RankedTensorType>(length->value.getType());
    for (auto [dim, index] : llvm::enumerate(length->indices))
      from.push_back(
          space.getDigits(index, type.getDimSize(dim)).value_or(Digits()));
    if (flatten(from) == roles.batch)
      return regroup(b, loc, space, length->value, from, to);
  }
  Type i32 = b.getI32Type();
  Value tensor = emitter.emitTensor(
      roles.batch, length, i32,
      [&](OpBuilder &builder, function_ref<Value(const Expr *)> emit) {
        Value value = emit(length);
        if (value.getType().isIndex())
          value = arith::IndexCastOp::create(builder, loc, i32, value);
        else if (value.getType().getIntOrFloatBitWidth() > 32)
          value = arith::TruncIOp::create(builder, loc, i32, value);
        else if (value.getType() != i32)
          value = arith::ExtSIOp::create(builder, loc, i32, value);
        if (masks.lengthOffset == 0)
          return value;
        return arith::AddIOp::create(builder, loc, value,
                                     arith::ConstantIntOp::create(
                                         builder, loc, masks.lengthOffset, 32))
            .getResult();
      });
  Grouping from;
  for (Digit digit : roles.batch)
    from.push_back({digit});
  return regroup(b, loc, space, tensor, from, to);
}

Value AttentionBuilder::emitSinks() {
  const Expr *sink = match.softmax.sink;
  if (!sink)
    return {};
  sink = context.stripViews(sink, /*casts=*/false);
  double multiplier = match.softmax.multiplier;
  Digits heads = roles.getHeads();
  if (sink->kind == Expr::Load && sink->getType().isF32() && multiplier == 1) {
    Grouping from;
    auto type = cast<RankedTensorType>(sink->value.getType());
    for (auto [dim, index] : llvm::enumerate(sink->indices))
      from.push_back(
          space.getDigits(index, type.getDimSize(dim)).value_or(Digits()));
    if (flatten(from) == heads)
      return regroup(b, loc, space, sink->value, from, {heads});
  }
  Value tensor = emitter.emitTensor(
      heads, sink, b.getF32Type(),
      [&](OpBuilder &builder, function_ref<Value(const Expr *)> emit) {
        Value value = emitToF32(builder, loc, emit(sink));
        if (multiplier == 1)
          return value;
        Value factor = arith::ConstantOp::create(
            builder, loc, builder.getF32FloatAttr(multiplier));
        return arith::MulFOp::create(builder, loc, value, factor).getResult();
      });
  Grouping from;
  for (Digit digit : heads)
    from.push_back({digit});
  return regroup(b, loc, space, tensor, from, {heads});
}

AttentionOptionsAttr AttentionBuilder::getOptions() {
  FloatAttr softcap;
  if (match.scores.softcap != 0)
    softcap = b.getF32FloatAttr(match.scores.softcap);
  if (!softcap && !masks.causal && masks.windowLeft < 0 &&
      masks.windowRight < 0)
    return {};
  return AttentionOptionsAttr::get(b.getContext(), masks.causal,
                                   masks.windowLeft, masks.windowRight,
                                   softcap);
}

SmallVector<Value> AttentionBuilder::run() {
  Digits heads = roles.getHeads();
  Value q = emitOperand(match.queries,
                        {roles.batch, roles.query, heads, roles.headDim});
  Value k = emitOperand(match.keys,
                        {roles.batch, roles.key, roles.kvHead, roles.headDim});
  Value v = emitOperand(match.values,
                        {roles.batch, roles.key, roles.kvHead, roles.valueDim});
  Value scale = emitScale(), mask = emitMask(), lengths = emitLengths(),
        sinks = emitSinks();

  Grouping from{roles.batch, roles.query, heads, roles.valueDim};
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, q);
  sizes.back() = tensor::getMixedSizes(b, loc, v).back();
  auto resultType = cast<RankedTensorType>(match.root->getResult(0).getType());
  SmallVector<Type> types;
  auto makeInit = [&](Type element) -> Value {
    Value init = tensor::EmptyOp::create(b, loc, sizes, element);
    types.push_back(init.getType());
    return init;
  };
  Value init = makeInit(resultType.getElementType()), lse;
  if (!match.logSums.empty()) {
    sizes.pop_back();
    lse = makeInit(b.getF32Type());
  }
  auto attention = AttentionOp::create(b, loc, types, q, k, v, lengths,
                                       /*qoIndptr=*/Value(), scale, mask, sinks,
                                       init, lse, getOptions());

  SmallVector<Value> results;
  // Moves the digits to where they are in a tensor that is replaced.
  auto add = [&](Value result, ArrayRef<Digits> from, Value replaced,
                 ArrayRef<Index> indices) {
    result =
        regroup(b, loc, space, result, from, getGrouping(replaced, indices));
    Type element = getElementTypeOrSelf(replaced.getType()),
         own = getElementTypeOrSelf(result.getType());
    if (element != own) {
      Type type = cast<RankedTensorType>(result.getType()).clone(element);
      if (element.getIntOrFloatBitWidth() > own.getIntOrFloatBitWidth())
        result = arith::ExtFOp::create(b, loc, type, result);
      else
        result = arith::TruncFOp::create(b, loc, type, result);
    }
    if (result.getType() != replaced.getType())
      result = tensor::CastOp::create(b, loc, replaced.getType(), result);
    results.push_back(result);
  };
  add(attention->getResult(0), from, match.root->getResult(0),
      match.resultIndices);
  from.pop_back();
  for (const LogSum &logSum : match.logSums)
    add(attention->getResult(1), from, logSum.tensor, logSum.indices);
  return results;
}

SmallVector<Value> kvq::raise::buildAttention(Match &match,
                                              const MaskPlan &masks,
                                              OpBuilder &builder) {
  return AttentionBuilder(match, masks, builder).run();
}
