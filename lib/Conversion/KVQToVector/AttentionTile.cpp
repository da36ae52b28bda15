//===- AttentionTile.cpp - Emit the products and the softmax of a tile ----===//

#include "AttentionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace kvq;

/// Returns the vector whose lane i is the sum of the lanes of vector i of 16
/// vectors of 16 lanes.
static Value emitSums(VectorBuilder &b, ArrayRef<Value> vectors) {
  constexpr int64_t lanes = RowReader::lanes;
  SmallVector<Value> parts(vectors);
  // Each step halves the vectors: vector i and i + half are added lane by lane
  // with their halves, quarters, ... swapped, so that a run of `run` lanes is
  // of i, the next one of i + half.
  for (int64_t run = lanes / 2; run >= 1; run /= 2) {
    int64_t half = parts.size() / 2;
    SmallVector<int64_t> low, high;
    for (int64_t at = 0; at < lanes; at += 2 * run) {
      for (int64_t i = 0; i < run; ++i) {
        low.push_back(at + i);
        high.push_back(at + run + i);
      }
      for (int64_t i = 0; i < run; ++i) {
        low.push_back(lanes + at + i);
        high.push_back(lanes + at + run + i);
      }
    }
    SmallVector<Value> next;
    for (int64_t i = 0; i < half; ++i)
      next.push_back(b.addF(b.shuffle(parts[i], parts[i + half], low),
                            b.shuffle(parts[i], parts[i + half], high)));
    parts = next;
  }
  return parts.front();
}

/// Adds a bias to a logit. One of -inf masks whatever the logit is.
static Value emitBiased(VectorBuilder &b, Value logit, Value bias) {
  Value isNone = b.isEqualF(bias, -std::numeric_limits<double>::infinity());
  return b.select(isNone, bias, b.addF(logit, bias));
}

void AttentionEmitter::emitLogits(const Item &item) {
  constexpr int64_t lanes = RowReader::lanes;
  int64_t keysPerBlock = getKeysPerBlock();
  Value zero = b.index(0);
  SmallVector<Value> zeros(lanes, b.constantLike(b.f32x(lanes), 0.0));
  b.loop(zero, item.rows, rowsPerBlock, [&](Value firstRow) {
    b.loop(zero, b.index(tileKeys), keysPerBlock, [&](Value firstKey) {
      SmallVector<Value> products = b.carry(
          zero, keyPadded, lanes, zeros,
          [&](Value d, ValueRange sums) -> SmallVector<Value> {
            SmallVector<Value> q, k, next;
            for (int64_t r = 0; r < rowsPerBlock; ++r)
              q.push_back(b.loadVector(item.q, {b.add(firstRow, r), d}, lanes));
            for (int64_t t = 0; t < keysPerBlock; ++t)
              k.push_back(
                  b.loadVector(item.keys, {b.add(firstKey, t), d}, lanes));
            for (int64_t i = 0; i < lanes; ++i)
              next.push_back(
                  b.fma(q[i / keysPerBlock], k[i % keysPerBlock], sums[i]));
            return next;
          });
      Value logits = emitSums(b, products);
      for (int64_t r = 0; r < rowsPerBlock; ++r) {
        Value ofRow = logits;
        if (rowsPerBlock > 1)
          ofRow = b.slice(logits, r * keysPerBlock, keysPerBlock);
        b.storeVector(ofRow, item.weights, {b.add(firstRow, r), firstKey});
      }
    });
  });
}

Value AttentionEmitter::emitMaskedLogits(const Item &item, Value r,
                                         Value firstKey, Value count,
                                         Value logits) {
  Value none = b.broadcast(minusInfinity(), tileKeys);
  if (a.mask) {
    Row row = emitRow(item.sequence, item.kvHead, b.add(item.firstRow, r));
    auto type = cast<MemRefType>(a.mask.getType());
    SmallVector<Value> indices{item.sequence.index, row.head, row.query};
    // Each of the first three dimensions may be of size 1 for all.
    for (unsigned dim = 0; dim < 3; ++dim)
      indices[dim] = b.min(indices[dim], b.sub(b.size(a.mask, dim), 1));
    // Logits of keys that are not there stay: they are dropped below.
    logits =
        b.carry(b.index(0), count, 1, logits, [&](Value t, ValueRange carried) {
           Value bias = b.load(a.mask, withIndex(indices, b.add(firstKey, t)));
           Value logit = vector::ExtractOp::create(b, carried[0], t);
           if (type.getElementType().isInteger(1))
             logit = b.select(bias, logit, minusInfinity());
           else
             logit = emitBiased(b, logit, b.toF32(bias));
           return SmallVector<Value>{
               vector::InsertOp::create(b, logit, carried[0], t)};
         }).front();
  }
  // first <= key < first + number, as one unsigned comparison.
  Value distance =
      arith::SubIOp::create(b, b.toI32(firstKey), b.load(item.firstKeys, r));
  SmallVector<int32_t> steps;
  for (int32_t t = 0; t < tileKeys; ++t)
    steps.push_back(t);
  Value distances = arith::AddIOp::create(
      b, b.broadcast(distance, tileKeys),
      arith::ConstantOp::create(b, b.getI32VectorAttr(steps)));
  Value admitted =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, distances,
                            b.broadcast(b.load(item.numKeys, r), tileKeys));
  return arith::SelectOp::create(b, admitted, logits, none);
}

void AttentionEmitter::emitSoftmax(const Item &item, Value firstKey,
                                   Value count) {
  Value zero = b.index(0);
  // One factor: under a tiny global scale and a large softmax scale a product
  // with the latter alone would overflow.
  Value scale = a.scale;
  if (Value globalScale = keys.getGlobalScale())
    scale = b.mulF(scale, globalScale);
  b.loop(zero, item.rows, 1, [&](Value r) {
    Value logits = b.loadVector(item.weights, {r, zero}, tileKeys);
    logits = b.mulF(logits, scale);
    if (a.options && a.options.getSoftcap()) {
      Value cap = b.f32(a.options.getSoftcapValue());
      Value ratio = b.divF(logits, cap);
      logits = b.mulF(math::TanhOp::create(b, ratio), cap);
    }
    logits = emitMaskedLogits(item, r, firstKey, count, logits);

    Value before = b.load(item.largest, r);
    Value largest = b.maxF(b.reduceMax(logits), before);
    Value isNone =
        b.isEqualF(largest, -std::numeric_limits<double>::infinity());
    Value shift = b.select(isNone, b.f32(0), largest);
    Value weights = b.expOfNegative(b.subF(logits, shift));
    Value rescale = b.expOfNegative(b.subF(before, shift));
    b.storeVector(weights, item.weights, {r, zero});
    b.store(rescale, item.rescale, r);
    b.store(largest, item.largest, r);
    Value denominators = b.loadVector(item.denominators, {r, zero}, tileKeys);
    b.storeVector(b.fma(denominators, rescale, weights), item.denominators,
                  {r, zero});
  });
}

void AttentionEmitter::emitAccumulate(const Item &item, Value count,
                                      bool isEdge) {
  constexpr int64_t lanes = RowReader::lanes;
  Value zero = b.index(0);
  // Accumulates `width` vectors of each row of a block from element d.
  auto emitBlock = [&](Value firstRow, Value d, int64_t width) {
    SmallVector<Value> sums;
    for (int64_t r = 0; r < rowsPerBlock; ++r) {
      Value row = b.add(firstRow, r);
      Value rescale = b.load(item.rescale, row);
      for (int64_t i = 0; i < width; ++i)
        sums.push_back(
            b.mulF(b.loadVector(item.output, {row, b.add(d, i * lanes)}, lanes),
                   rescale));
    }
    sums = b.carry(
        zero, count, 1, sums,
        [&](Value t, ValueRange carried) -> SmallVector<Value> {
          SmallVector<Value> v, next;
          for (int64_t i = 0; i < width; ++i)
            v.push_back(
                b.loadVector(item.values, {t, b.add(d, i * lanes)}, lanes));
          for (int64_t r = 0; r < rowsPerBlock; ++r) {
            Value weight = b.load(item.weights, {b.add(firstRow, r), t});
            // Where a row does not admit a key, its value may be anything.
            Value isNone;
            if (isEdge)
              isNone = b.isEqualF(weight, 0.0);
            for (int64_t i = 0; i < width; ++i) {
              Value value = v[i];
              if (isEdge)
                value = b.select(isNone, b.f32(0), value);
              next.push_back(b.fma(value, weight, carried[r * width + i]));
            }
          }
          return next;
        });
    for (int64_t r = 0; r < rowsPerBlock; ++r)
      for (int64_t i = 0; i < width; ++i)
        b.storeVector(sums[r * width + i], item.output,
                      {b.add(firstRow, r), b.add(d, i * lanes)});
  };
  constexpr int64_t width = 4;
  Value whole = b.mul(b.div(valuePadded, width * lanes), width * lanes);
  b.loop(zero, item.rows, rowsPerBlock, [&](Value firstRow) {
    b.loop(zero, whole, width * lanes,
           [&](Value d) { emitBlock(firstRow, d, width); });
    b.loop(whole, valuePadded, lanes,
           [&](Value d) { emitBlock(firstRow, d, 1); });
  });
}
