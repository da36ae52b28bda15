//===- AggregateAttention.cpp - attention and merge_states as linalg ------===//
//
// Attention in the steps of a textbook: logits, which keys are admitted, the
// largest logit, weights, their sum, the weighted sum of values, the quotient.
// Sums are f32. The rows of the queries are [B, Lq] or, in a ragged batch,
// [total_q]; the loops are those of the rows, then the head, the key, and an
// element of a key or value.
//
//===----------------------------------------------------------------------===//

#include "AggregateModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace kvq;

using Operand = GenericBuilder::Operand;

static Value minusInfinity(LoopBuilder &b) {
  return b.f32(-std::numeric_limits<float>::infinity());
}

/// What is subtracted from the logits of a row with the largest logit
/// `largest`: without a finite one every weight is exp(-inf - 0) = 0.
static Value emitShift(LoopBuilder &b, Value largest) {
  return b.select(b.isNotEqual(largest, minusInfinity(b)), largest, b.f32(0));
}

static Value emitWeight(LoopBuilder &b, Value logit, Value largest) {
  Value difference = arith::SubFOp::create(b, logit, emitShift(b, largest));
  return math::ExpOp::create(b, difference);
}

static Value emitProductSum(LoopBuilder &b, Value x, Value y, Value sum) {
  Value product = arith::MulFOp::create(b, x, y);
  return arith::AddFOp::create(b, sum, product);
}

/// Emits what both operations end with: from the sums [rows.., Dv], the
/// denominators and the largest logits [rows..], the output and the lse.
static SmallVector<Value> emitResults(GenericBuilder &b, Value sums,
                                      Value denominators, Value largest,
                                      Value output, Value lse) {
  auto type = cast<RankedTensorType>(output.getType());
  unsigned rank = type.getRank();
  SmallVector<AffineExpr> rows = b.loops(0, rank - 1);
  SmallVector<Value> results{b.generic(
      rank, {{sums, b.loops(0, rank)}, {denominators, rows}},
      {output, b.loops(0, rank)}, [&](ValueRange elements) {
        Value hasKeys = b.isNotEqual(elements[1], b.f32(0));
        Value quotient = arith::DivFOp::create(b, elements[0], elements[1]);
        return b.fromF32(b.select(hasKeys, quotient, b.f32(0)),
                         type.getElementType());
      })};
  if (lse)
    results.push_back(b.generic(
        rank - 1, {{largest, rows}, {denominators, rows}}, {lse, rows},
        [&](ValueRange elements) {
          Value hasKeys = b.isNotEqual(elements[1], b.f32(0));
          Value log = math::LogOp::create(b, elements[1]);
          Value sum = arith::AddFOp::create(b, emitShift(b, elements[0]), log);
          return b.select(hasKeys, sum, minusInfinity(b));
        }));
  return results;
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

namespace {

class AttentionAggregate {
public:
  AttentionAggregate(GenericBuilder &b, AttentionOp op);

  SmallVector<Value> emit();

private:
  /// The queries of a row, in the body of a generic.
  struct Query {
    Value sequence;
    /// The index of the query in its sequence, and the number of queries.
    Value index, count;
  };

  void emitSequences();
  Query emitQuery();
  Operand getElements(Value keysOrValues);
  Value emitElement(Value keysOrValues, Value element);
  Value emitAdmitted(Value mask);
  Value emitLogit(Value dot, Value mask);
  void emitLogits(Value dots);
  Value emitDots();

  /// A tensor [rows.., heads] of one number, or of the sinks.
  Value emitPerRow(function_ref<Value(Value sink)> emit);

  GenericBuilder &b;
  AttentionOp op;
  bool ragged;
  /// The loops of a head, a key and an element.
  unsigned head, key, element;
  /// Loops of [rows.., heads], and with the keys.
  SmallVector<AffineExpr> rowIndices, logitIndices;
  SmallVector<OpFoldResult> rowSizes, logitSizes;
  OpFoldResult headDim, valueHeadDim;
  Value length, group;
  /// Query heads of a KV head, 0 where they are not static.
  int64_t staticGroup = 0;
  /// The sequence of each row, i32; for ragged batches.
  Value sequences;
  /// [rows.., heads, keys]: logits, and i1 where not all keys are admitted.
  Value logits, admitted;
};

} // namespace

AttentionAggregate::AttentionAggregate(GenericBuilder &b, AttentionOp op)
    : b(b), op(op), ragged(op.getQoIndptr()) {
  unsigned rows = ragged ? 1 : 2;
  head = rows;
  key = head + 1;
  element = key + 1;
  rowIndices = b.loops(0, key);
  logitIndices = b.loops(0, element);
  for (unsigned dim = 0; dim < key; ++dim)
    rowSizes.push_back(b.tensorSize(op.getQ(), dim));
  logitSizes = rowSizes;
  logitSizes.push_back(b.tensorSize(op.getK(), 1));
  headDim = b.tensorSize(op.getK(), 3);
  valueHeadDim = b.tensorSize(op.getV(), 3);
  length = b.tensorSizeValue(op.getK(), 1);
  auto queryHeads =
      cast<RankedTensorType>(op.getQ().getType()).getDimSize(head);
  int64_t kvHeads = cast<RankedTensorType>(op.getK().getType()).getDimSize(2);
  if (!ShapedType::isDynamic(kvHeads))
    staticGroup = queryHeads / kvHeads;
  else
    group = b.div(b.index(queryHeads), b.tensorSizeValue(op.getK(), 2));
}

/// Row t is of the sequence before which as many end at or before t.
void AttentionAggregate::emitSequences() {
  OpFoldResult batch = b.tensorSize(op.getK(), 0), one = b.getIndexAttr(1);
  Value ends = tensor::ExtractSliceOp::create(b, op.getQoIndptr(), {one},
                                              {batch}, {one});
  Value zeros = b.filled(rowSizes.front(),
                         arith::ConstantOp::create(b, b.getI32IntegerAttr(0)));
  sequences = b.generic(
      2, {{ends, b.loops(1, 2)}}, {zeros, b.loops(0, 1)},
      [&](ValueRange elements) -> Value {
        Value end =
            arith::IndexCastOp::create(b, b.getIndexType(), elements[0]);
        Value isBefore = b.isAtMost(end, b.loopIndex(0));
        Value count = arith::ExtUIOp::create(b, b.getI32Type(), isBefore);
        return arith::AddIOp::create(b, elements[1], count);
      });
}

AttentionAggregate::Query AttentionAggregate::emitQuery() {
  if (!ragged)
    return {b.loopIndex(0), b.loopIndex(1), b.tensorSizeValue(op.getQ(), 1)};
  Value row = b.loopIndex(0);
  Value sequence = b.extractIndex(sequences, row);
  Value first = b.extractIndex(op.getQoIndptr(), sequence);
  Value last = b.extractIndex(op.getQoIndptr(), b.add(sequence, b.index(1)));
  return {sequence, b.sub(row, first), b.sub(last, first)};
}

/// The keys or values as an input, if their indices are affine in the loops;
/// without a tensor otherwise.
Operand AttentionAggregate::getElements(Value keysOrValues) {
  if (ragged || !staticGroup)
    return {};
  return {keysOrValues,
          {b.getAffineDimExpr(0), b.getAffineDimExpr(key),
           b.getAffineDimExpr(head).floorDiv(staticGroup),
           b.getAffineDimExpr(element)}};
}

/// An element of a key or value in f32; `input` is the input's, null without.
Value AttentionAggregate::emitElement(Value keysOrValues, Value input) {
  if (input)
    return b.toF32(input);
  Value kvHead =
      b.div(b.loopIndex(head), staticGroup ? b.index(staticGroup) : group);
  return b.toF32(
      b.extract(keysOrValues, {emitQuery().sequence, b.loopIndex(key), kvHead,
                               b.loopIndex(element)}));
}

Value AttentionAggregate::emitDots() {
  SmallVector<AffineExpr> query = rowIndices;
  query.push_back(b.getAffineDimExpr(element));
  SmallVector<Operand> inputs{{op.getQ(), query}};
  Operand keys = getElements(op.getK());
  if (keys.tensor)
    inputs.push_back(keys);
  return b.generic(
      element + 1, inputs, {b.filled(logitSizes, b.f32(0)), logitIndices},
      [&](ValueRange elements) {
        Value k = emitElement(op.getK(), keys.tensor ? elements[1] : Value());
        return emitProductSum(b, b.toF32(elements[0]), k, elements.back());
      });
}

/// Whether a query admits a key: an i1, null where it admits all.
Value AttentionAggregate::emitAdmitted(Value mask) {
  Value result;
  auto require = [&](Value condition) {
    result = result ? arith::AndIOp::create(b, result, condition).getResult()
                    : condition;
  };
  if (mask && mask.getType().isInteger(1))
    require(mask);
  else if (mask)
    require(b.isNotEqual(b.toF32(mask), minusInfinity(b)));
  AttentionOptionsAttr options = op.getOptionsAttr();
  bool hasRight = options && options.hasWindowRight();
  bool hasLeft = options && options.hasWindowLeft();
  bool causal = options && options.getCausal();
  if (!op.getSeqLens() && !causal && !hasLeft && !hasRight)
    return result;

  Query query = emitQuery();
  Value j = b.loopIndex(key), tokens = length;
  if (op.getSeqLens()) {
    tokens = b.extractIndex(op.getSeqLens(), query.sequence);
    if (op.getKvOffset())
      tokens = b.sub(tokens, op.getKvOffset());
    require(b.isLess(j, tokens));
  }
  Value position = b.add(b.sub(tokens, query.count), query.index);
  if (op.getQueryShift())
    position = b.add(position, op.getQueryShift());
  if (causal)
    require(b.isAtMost(j, position));
  if (hasLeft)
    require(b.isAtMost(b.sub(position, b.index(options.getWindowLeft())), j));
  if (hasRight)
    require(b.isAtMost(j, b.add(position, b.index(options.getWindowRight()))));
  return result;
}

Value AttentionAggregate::emitLogit(Value dot, Value mask) {
  Value logit = arith::MulFOp::create(b, dot, op.getScale());
  AttentionOptionsAttr options = op.getOptionsAttr();
  if (options && options.getSoftcap()) {
    Value cap = b.f32(options.getSoftcapValue());
    Value ratio = arith::DivFOp::create(b, logit, cap);
    logit = arith::MulFOp::create(b, cap, math::TanhOp::create(b, ratio));
  }
  if (mask && !mask.getType().isInteger(1))
    logit = arith::AddFOp::create(b, logit, b.toF32(mask));
  return logit;
}

void AttentionAggregate::emitLogits(Value dots) {
  SmallVector<Operand> inputs{{dots, logitIndices}};
  if (Value mask = op.getMask()) {
    // [B, heads, Lq, keys], where a size of 1 stands for all.
    auto type = cast<RankedTensorType>(mask.getType());
    SmallVector<AffineExpr> indices;
    unsigned loops[] = {0, head, 1, key};
    for (auto [dim, loop] : llvm::enumerate(loops)) {
      bool isOne = dim < 3 && type.getDimSize(dim) == 1;
      indices.push_back(isOne ? b.getAffineConstantExpr(0)
                              : b.getAffineDimExpr(loop));
    }
    inputs.push_back({mask, indices});
  }
  SmallVector<Operand> outs{{b.empty(logitSizes, b.getF32Type()), logitIndices},
                            {b.empty(logitSizes, b.getI1Type()), logitIndices}};
  SmallVector<Value> results =
      b.generic(element, inputs, outs, [&](ValueRange elements) {
        Value mask = op.getMask() ? elements[1] : Value();
        Value logit = emitLogit(elements[0], mask);
        Value isAdmitted = emitAdmitted(mask);
        if (!isAdmitted)
          isAdmitted = arith::ConstantIntOp::create(b, 1, 1);
        return SmallVector<Value>{b.select(isAdmitted, logit, minusInfinity(b)),
                                  isAdmitted};
      });
  logits = results[0];
  admitted = results[1];
}

Value AttentionAggregate::emitPerRow(function_ref<Value(Value)> emit) {
  if (!op.getSinks())
    return b.filled(rowSizes, emit(Value()));
  return b.generic(key, {{op.getSinks(), b.loops(head, key)}},
                   {b.empty(rowSizes, b.getF32Type()), rowIndices},
                   [&](ValueRange elements) { return emit(elements[0]); });
}

SmallVector<Value> AttentionAggregate::emit() {
  if (ragged)
    emitSequences();
  emitLogits(emitDots());

  Value sinks =
      emitPerRow([&](Value sink) { return sink ? sink : minusInfinity(b); });
  Value largest =
      b.generic(element, {{logits, logitIndices}}, {sinks, rowIndices},
                [&](ValueRange elements) -> Value {
                  return arith::MaxNumFOp::create(b, elements[0], elements[1]);
                });
  Value weights =
      b.generic(element, {{logits, logitIndices}, {largest, rowIndices}},
                {b.empty(logitSizes, b.getF32Type()), logitIndices},
                [&](ValueRange elements) {
                  return emitWeight(b, elements[0], elements[1]);
                });
  // A sink is in the denominator alone.
  Value sinkWeights =
      b.generic(key, {{sinks, rowIndices}, {largest, rowIndices}},
                {b.empty(rowSizes, b.getF32Type()), rowIndices},
                [&](ValueRange elements) {
                  return emitWeight(b, elements[0], elements[1]);
                });
  Value denominators =
      b.generic(element, {{weights, logitIndices}}, {sinkWeights, rowIndices},
                [&](ValueRange elements) -> Value {
                  return arith::AddFOp::create(b, elements[0], elements[1]);
                });

  SmallVector<AffineExpr> outputIndices = rowIndices;
  outputIndices.push_back(b.getAffineDimExpr(element));
  SmallVector<OpFoldResult> outputSizes = rowSizes;
  outputSizes.push_back(valueHeadDim);
  SmallVector<Operand> inputs{{weights, logitIndices},
                              {admitted, logitIndices}};
  Operand values = getElements(op.getV());
  if (values.tensor)
    inputs.push_back(values);
  Value sums = b.generic(
      element + 1, inputs, {b.filled(outputSizes, b.f32(0)), outputIndices},
      [&](ValueRange elements) {
        Value v = emitElement(op.getV(), values.tensor ? elements[2] : Value());
        // What is not admitted may be NaN.
        v = b.select(elements[1], v, b.f32(0));
        return emitProductSum(b, elements[0], v, elements.back());
      });
  return emitResults(b, sums, denominators, largest, op.getOutput(),
                     op.getLse());
}

SmallVector<Value> kvq::aggregate::emit(GenericBuilder &b, AttentionOp op) {
  return AttentionAggregate(b, op).emit();
}

//===----------------------------------------------------------------------===//
// merge_states
//===----------------------------------------------------------------------===//

SmallVector<Value> kvq::aggregate::emit(GenericBuilder &b, MergeStatesOp op) {
  // The loops are those of the output, then the parts.
  Value output = op.getOutput(), partialLse = op.getPartialLse();
  unsigned rank = cast<RankedTensorType>(output.getType()).getRank();
  SmallVector<AffineExpr> rows = b.loops(0, rank - 1);
  SmallVector<OpFoldResult> rowSizes, outputSizes;
  for (unsigned dim = 0; dim < rank; ++dim)
    outputSizes.push_back(b.tensorSize(op.getPartialOutput(), dim + 1));
  rowSizes.assign(outputSizes.begin(), std::prev(outputSizes.end()));
  auto partsOf = [&](unsigned dims) {
    SmallVector<AffineExpr> indices = b.loops(0, dims);
    // Of the rows alone the loop of the parts is the last.
    indices.insert(indices.begin(),
                   b.getAffineDimExpr(rank == dims ? rank : rank - 1));
    return indices;
  };

  Value largest =
      b.generic(rank, {{partialLse, partsOf(rank - 1)}},
                {b.filled(rowSizes, minusInfinity(b)), rows},
                [&](ValueRange elements) -> Value {
                  return arith::MaxNumFOp::create(b, elements[0], elements[1]);
                });
  Value denominators = b.generic(
      rank, {{partialLse, partsOf(rank - 1)}, {largest, rows}},
      {b.filled(rowSizes, b.f32(0)), rows}, [&](ValueRange elements) -> Value {
        return arith::AddFOp::create(b, emitWeight(b, elements[0], elements[1]),
                                     elements[2]);
      });
  SmallVector<AffineExpr> lseIndices = b.loops(0, rank - 1);
  lseIndices.insert(lseIndices.begin(), b.getAffineDimExpr(rank));
  Value sums =
      b.generic(rank + 1,
                {{op.getPartialOutput(), partsOf(rank)},
                 {partialLse, lseIndices},
                 {largest, rows}},
                {b.filled(outputSizes, b.f32(0)), b.loops(0, rank)},
                [&](ValueRange elements) {
                  Value weight = emitWeight(b, elements[1], elements[2]);
                  // The output of a part without keys does not count, even if
                  // NaN.
                  Value hasKeys = b.isNotEqual(elements[1], minusInfinity(b));
                  Value o = b.select(hasKeys, elements[0], b.f32(0));
                  return emitProductSum(b, weight, o, elements[3]);
                });
  return emitResults(b, sums, denominators, largest, output, op.getLse());
}
