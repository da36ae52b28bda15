//===- DecomposeAttention.cpp - Decompose both attention operations -------===//
//
// One query row and head at a time: first the largest logit over the admitted
// keys, then the denominator and the weighted sum of values. Accumulators are
// f64, so that the result is that of the definition rounded once.
//
//===----------------------------------------------------------------------===//

#include "DecomposePatterns.h"
#include "kvq/Dialect/KVQ/Transforms/CacheAccess.h"
#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <functional>
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::decompose;

namespace {

/// Loads element `d` of one key or value in f32.
using ElementLoader = std::function<Value(Value d)>;

/// Emits what all elements of a key or value have in common (its address) and
/// returns their loader.
using RowLoader =
    llvm::function_ref<ElementLoader(Value sequence, Value key, Value head)>;

/// The operands of an attention operation; null where it has none.
struct AttentionOperands {
  Value q, scale, seqLens, qoIndptr, mask, sinks, output, lse;
  AttentionOptionsAttr options;
  /// Tokens of a chunk, 0 without a split.
  int64_t kvSplit;
  /// Number of sequences, and their length where there are no seq_lens.
  Value sequences, length;
  Value kvHeads, headDim, valueHeadDim;
  /// What a part of a larger attention has; null for a whole one.
  Value kvOffset = {}, queryShift = {};
};

/// Emits the loops of attention.
class AttentionEmitter {
public:
  AttentionEmitter(LoopBuilder &b, const AttentionOperands &operands,
                   RowLoader keys, RowLoader values)
      : b(b), a(operands), keys(keys), values(values) {}

  void emit();

private:
  /// One row of the result: a query, a head and, under a split, a chunk.
  struct Row {
    Value sequence;
    /// The query's index in its sequence, its row of q, and its indices in q
    /// less head_dim.
    Value query;
    SmallVector<Value> queryIndices;
    Value head, kvHead;
    /// The range of keys that causality, window and chunk admit.
    Value begin, end;
    /// The sink in f64, or -inf.
    Value sink;
    /// The indices in the output less head_dim.
    SmallVector<Value> outputIndices;
  };

  void emitChunks(Row row, Value length, Value position);
  void emitRow(const Row &row);
  Value emitLogit(const Row &row, Value key);

  /// Emits `then` under the condition that the mask admits a key; otherwise
  /// the value is `otherwise`.
  Value emitIfAdmitted(const Row &row, Value key, Value otherwise,
                       function_ref<Value()> then);
  Value loadMask(const Row &row, Value key);

  Value minusInfinity() {
    return b.f64(-std::numeric_limits<double>::infinity());
  }

  LoopBuilder &b;
  AttentionOperands a;
  RowLoader keys, values;
  /// The unnormalized output row, [valueHeadDim] in f64.
  Value sums;
};

} // namespace

void AttentionEmitter::emit() {
  Value zero = b.index(0), one = b.index(1);
  auto qType = cast<MemRefType>(a.q.getType());
  Value queryHeads = b.size(a.q, qType.getRank() - 2);
  Value group = b.div(queryHeads, a.kvHeads);
  sums = memref::AllocOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, b.getF64Type()),
      ValueRange{a.valueHeadDim});
  b.loop(zero, a.sequences, [&](Value sequence) {
    Value length = a.seqLens ? b.loadIndex(a.seqLens, sequence) : a.length;
    Value keys = length;
    if (a.kvOffset) {
      length = b.sub(length, a.kvOffset);
      keys = b.min(length, a.length);
    }
    Value first, count;
    if (a.qoIndptr) {
      first = b.loadIndex(a.qoIndptr, sequence);
      count = b.sub(b.loadIndex(a.qoIndptr, b.add(sequence, one)), first);
    } else {
      count = b.size(a.q, 1);
    }
    b.loop(zero, count, [&](Value query) {
      Value position = b.add(b.sub(length, count), query);
      if (a.queryShift)
        position = b.add(position, a.queryShift);
      b.loop(zero, queryHeads, [&](Value head) {
        Row row;
        row.sequence = sequence;
        row.query = query;
        row.head = head;
        row.kvHead = b.div(head, group);
        if (a.qoIndptr)
          row.queryIndices = {b.add(first, query), head};
        else
          row.queryIndices = {sequence, query, head};
        emitChunks(row, keys, position);
      });
    });
  });
  memref::DeallocOp::create(b, sums);
}

void AttentionEmitter::emitChunks(Row row, Value length, Value position) {
  Value zero = b.index(0), one = b.index(1);
  row.begin = zero;
  row.end = length;
  if (a.options && a.options.hasWindowLeft())
    row.begin =
        b.max(row.begin, b.sub(position, b.index(a.options.getWindowLeft())));
  if (a.options && a.options.getCausal())
    row.end = b.min(row.end, b.add(position, one));
  if (a.options && a.options.hasWindowRight())
    row.end =
        b.min(row.end,
              b.add(b.add(position, b.index(a.options.getWindowRight())), one));
  row.sink = a.sinks ? b.toF64(b.load(a.sinks, row.head)) : minusInfinity();
  row.outputIndices = row.queryIndices;
  if (!a.kvSplit)
    return emitRow(row);

  b.loop(zero, b.size(a.output, 0), [&](Value chunk) {
    Row part = row;
    Value first = b.mul(chunk, b.index(a.kvSplit));
    part.begin = b.max(row.begin, first);
    part.end = b.min(row.end, b.add(first, b.index(a.kvSplit)));
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, zero);
    part.sink = b.select(isFirst, row.sink, minusInfinity());
    part.outputIndices.insert(part.outputIndices.begin(), chunk);
    emitRow(part);
  });
}

void AttentionEmitter::emitRow(const Row &row) {
  Value zero = b.index(0), none = minusInfinity();
  Value largest =
      b.reduce(row.begin, row.end, row.sink, [&](Value key, Value largest) {
        return emitIfAdmitted(row, key, largest, [&] {
          Value logit = emitLogit(row, key);
          return b.select(b.isGreater(logit, largest), logit, largest);
        });
      });
  // Without a finite logit every weight is exp(-inf - 0) = 0.
  Value shift = b.select(b.isNotEqual(largest, none), largest, b.f64(0));
  auto emitWeight = [&](Value logit) -> Value {
    return math::ExpOp::create(b, arith::SubFOp::create(b, logit, shift));
  };

  b.loop(zero, a.valueHeadDim, [&](Value d) { b.store(b.f64(0), sums, d); });
  Value denominator = b.reduce(
      row.begin, row.end, emitWeight(row.sink), [&](Value key, Value total) {
        return emitIfAdmitted(row, key, total, [&]() -> Value {
          Value weight = emitWeight(emitLogit(row, key));
          ElementLoader load = values(row.sequence, key, row.kvHead);
          b.loop(zero, a.valueHeadDim, [&](Value d) {
            Value term = arith::MulFOp::create(b, weight, b.toF64(load(d)));
            Value sum = arith::AddFOp::create(b, b.load(sums, d), term);
            b.store(sum, sums, d);
          });
          return arith::AddFOp::create(b, total, weight);
        });
      });

  Value hasKeys = b.isNotEqual(denominator, b.f64(0));
  Type outputType = cast<MemRefType>(a.output.getType()).getElementType();
  b.loop(zero, a.valueHeadDim, [&](Value d) {
    Value quotient = arith::DivFOp::create(b, b.load(sums, d), denominator);
    Value value = b.select(hasKeys, quotient, b.f64(0));
    b.store(b.fromF64(value, outputType), a.output,
            withIndex(row.outputIndices, d));
  });
  if (!a.lse)
    return;
  Value log = math::LogOp::create(b, denominator);
  Value lse = b.select(hasKeys, arith::AddFOp::create(b, shift, log), none);
  b.store(b.fromF64(lse, b.getF32Type()), a.lse, row.outputIndices);
}

Value AttentionEmitter::emitLogit(const Row &row, Value key) {
  ElementLoader load = keys(row.sequence, key, row.kvHead);
  Value dot =
      b.reduce(b.index(0), a.headDim, b.f64(0), [&](Value d, Value sum) {
        Value q = b.toF64(b.load(a.q, withIndex(row.queryIndices, d)));
        Value product = arith::MulFOp::create(b, q, b.toF64(load(d)));
        return arith::AddFOp::create(b, sum, product).getResult();
      });
  Value logit = arith::MulFOp::create(b, dot, b.toF64(a.scale));
  if (a.options && a.options.getSoftcap()) {
    Value cap = b.f64(a.options.getSoftcapValue());
    Value ratio = arith::DivFOp::create(b, logit, cap);
    logit = arith::MulFOp::create(b, cap, math::TanhOp::create(b, ratio));
  }
  if (!a.mask)
    return logit;
  Value bias = loadMask(row, key);
  if (bias.getType().isInteger(1))
    return logit;
  return arith::AddFOp::create(b, logit, b.toF64(bias));
}

Value AttentionEmitter::emitIfAdmitted(const Row &row, Value key,
                                       Value otherwise,
                                       function_ref<Value()> then) {
  if (!a.mask)
    return then();
  Value admitted = loadMask(row, key);
  if (!admitted.getType().isInteger(1)) {
    Value none = b.f32(-std::numeric_limits<float>::infinity());
    admitted = b.isNotEqual(b.toF32(admitted), none);
  }
  return b.choose(admitted, otherwise.getType(), then,
                  [&] { return otherwise; });
}

Value AttentionEmitter::loadMask(const Row &row, Value key) {
  auto type = cast<MemRefType>(a.mask.getType());
  SmallVector<Value> indices{row.sequence, row.head, row.query, key};
  // Each of the first three dimensions may be of size 1 for all.
  for (unsigned dim = 0; dim < 3; ++dim) {
    if (type.getDimSize(dim) == 1)
      indices[dim] = b.index(0);
    else if (type.isDynamicDim(dim))
      indices[dim] =
          b.min(indices[dim], b.sub(b.size(a.mask, dim), b.index(1)));
  }
  return b.load(a.mask, indices);
}

namespace {

struct DecomposeAttention : public DecomposePattern<AttentionOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(AttentionOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    AttentionOperands operands{op.getQ(),
                               op.getScale(),
                               op.getSeqLens(),
                               op.getQoIndptr(),
                               op.getMask(),
                               op.getSinks(),
                               op.getOutput(),
                               op.getLse(),
                               op.getOptionsAttr(),
                               /*kvSplit=*/0,
                               /*sequences=*/b.size(op.getK(), 0),
                               /*length=*/b.size(op.getK(), 1),
                               /*kvHeads=*/b.size(op.getK(), 2),
                               /*headDim=*/b.size(op.getK(), 3),
                               /*valueHeadDim=*/b.size(op.getV(), 3),
                               op.getKvOffset(),
                               op.getQueryShift()};
    auto rowsOf = [&b](Value memref) {
      return
          [&b, memref](Value sequence, Value key, Value head) -> ElementLoader {
            return [=, &b](Value d) {
              return b.toF32(b.load(memref, {sequence, key, head, d}));
            };
          };
    };
    auto keys = rowsOf(op.getK()), values = rowsOf(op.getV());
    AttentionEmitter(b, operands, keys, values).emit();
  }
};

struct DecomposeDequantAttention : public DecomposePattern<DequantAttentionOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(DequantAttentionOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    CacheType keyType = op.getKCache().getType();
    AttentionOperands operands{
        op.getQ(),
        op.getScale(),
        op.getSeqLens(),
        op.getQoIndptr(),
        /*mask=*/{},
        op.getSinks(),
        op.getOutput(),
        op.getLse(),
        op.getOptionsAttr(),
        /*kvSplit=*/static_cast<int64_t>(op.getKvSplit().value_or(0)),
        /*sequences=*/b.size(op.getSeqLens(), 0),
        /*length=*/{},
        /*kvHeads=*/b.index(keyType.getNumHeads()),
        /*headDim=*/b.index(keyType.getHeadDim()),
        /*valueHeadDim=*/b.index(op.getVCache().getType().getHeadDim())};
    CacheAccess keyCache(b, b.getLoc(), op.getKCache());
    CacheAccess valueCache(b, b.getLoc(), op.getVCache());
    auto rowsOf = [&b, &op](const CacheAccess &cache) {
      return [&b, &op, &cache](Value sequence, Value key,
                               Value head) -> ElementLoader {
        TokenPlace place =
            emitPlaceOfPosition(b, b.getLoc(), op.getBlockTable(), sequence,
                                key, cache.getType().getPageSize());
        return [=, &b, &cache](Value d) {
          Value scale;
          if (cache.getScales())
            scale = b.load(
                cache.getScales(),
                cache.emitScaleIndicesOfElement(b, b.getLoc(), place, head, d));
          Value element =
              b.load(cache.getData(), cache.getDataIndices(place, head, d));
          return cache.getFormat().emitDecode(b, b.getLoc(), element, scale,
                                              cache.getGlobalScale());
        };
      };
    };
    auto keys = rowsOf(keyCache), values = rowsOf(valueCache);
    AttentionEmitter(b, operands, keys, values).emit();
  }
};

} // namespace

void kvq::decompose::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeAttention, DecomposeDequantAttention>(
      patterns.getContext());
}
