//===- AttentionEmitter.cpp - Emit tiled attention ------------------------===//

#include "AttentionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <limits>

using namespace mlir;
using namespace kvq;

AttentionEmitter::AttentionEmitter(VectorBuilder &b,
                                   const AttentionOperands &operands,
                                   RowReader &keys, RowReader &values)
    : b(b), a(operands), keys(keys), values(values) {
  constexpr int64_t lanes = RowReader::lanes;
  keySize = keys.emitSize(b);
  valueSize = values.emitSize(b);
  keyPadded = b.mul(b.ceilDiv(keySize, lanes), lanes);
  valuePadded = b.mul(b.ceilDiv(valueSize, lanes), lanes);
  int64_t headDim = cast<MemRefType>(a.q.getType()).getRank() - 2;
  group = b.div(b.size(a.q, headDim), a.kvHeads);
  // The rows of a group are neighbours; a group of one or two would leave most
  // of a larger block empty while decoding.
  rowsPerBlock = 4;
  if (std::optional<int64_t> size = getConstantIntValue(group); size)
    rowsPerBlock = *size >= 3 ? 4 : *size;
}

Value AttentionEmitter::minusInfinity() {
  return b.f32(-std::numeric_limits<double>::infinity());
}

//===----------------------------------------------------------------------===//
// Sequences and rows
//===----------------------------------------------------------------------===//

AttentionEmitter::Sequence AttentionEmitter::emitSequence(Value index) {
  Sequence s;
  s.index = index;
  s.length = a.seqLens ? b.loadIndex(a.seqLens, index) : a.length;
  s.positionEnd = s.length;
  if (a.kvOffset) {
    s.positionEnd = b.sub(s.length, a.kvOffset);
    s.length = b.max(b.min(s.positionEnd, a.length), b.index(0));
  }
  if (a.queryShift)
    s.positionEnd = b.add(s.positionEnd, a.queryShift);
  if (a.qoIndptr) {
    s.firstQuery = b.loadIndex(a.qoIndptr, index);
    s.queries = b.sub(b.loadIndex(a.qoIndptr, b.add(index, 1)), s.firstQuery);
  } else {
    s.queries = b.size(a.q, 1);
  }
  s.rows = b.mul(s.queries, group);
  s.tiles = b.ceilDiv(s.rows, tileRows);
  if (a.kvSplit) {
    s.ranges = b.size(a.output, 0);
  } else {
    Value one = b.index(1);
    Value split = b.max(b.ceilDiv(s.length, rangeKeys), one);
    Value isSplit = b.isLess(s.tiles, b.index(maxSplitTiles + 1));
    s.ranges = b.select(isSplit, split, one);
  }
  s.items = b.mul(s.tiles, s.ranges);
  return s;
}

AttentionEmitter::Row AttentionEmitter::emitRow(const Sequence &sequence,
                                                Value kvHead, Value row) {
  Row result;
  result.query = b.div(row, group);
  result.head = b.add(b.mul(kvHead, group), b.rem(row, group));
  if (a.qoIndptr)
    result.indices = {b.add(sequence.firstQuery, result.query), result.head};
  else
    result.indices = {sequence.index, result.query, result.head};
  return result;
}

std::pair<Value, Value> AttentionEmitter::emitKeyRange(const Sequence &sequence,
                                                       Value query) {
  Value begin = b.index(0), end = sequence.length;
  if (!a.options)
    return {begin, end};
  Value position = b.add(b.sub(sequence.positionEnd, sequence.queries), query);
  if (a.options.hasWindowLeft())
    begin = b.max(begin, b.sub(position, a.options.getWindowLeft()));
  if (a.options.getCausal())
    end = b.min(end, b.add(position, 1));
  if (a.options.hasWindowRight())
    end = b.min(end, b.add(position, a.options.getWindowRight() + 1));
  return {begin, b.max(end, begin)};
}

//===----------------------------------------------------------------------===//
// The loops
//===----------------------------------------------------------------------===//

void AttentionEmitter::emit() {
  emitPlan();
  b.parallel({a.sequences, a.kvHeads, maxItems}, [&](ValueRange at) {
    Sequence sequence = emitSequence(at[0]);
    b.when(b.isLess(at[2], sequence.items),
           [&] { emitItem(sequence, at[1], at[2]); });
  });
  if (a.kvSplit)
    return;
  emitMerge();
  for (Value memref : {partOutputs, partLargest, partDenominators, slots})
    b.dealloc(memref);
}

void AttentionEmitter::emitPlan() {
  Value zero = b.index(0);
  if (!a.kvSplit)
    slots = b.alloc(a.sequences, b.getIndexType());
  SmallVector<Value> totals =
      b.carry(zero, a.sequences, 1, {zero, zero},
              [&](Value index, ValueRange carried) -> SmallVector<Value> {
                Sequence sequence = emitSequence(index);
                Value most = b.max(carried[0], sequence.items);
                if (a.kvSplit)
                  return {most, carried[1]};
                b.store(carried[1], slots, index);
                Value isSplit = b.isLess(b.index(1), sequence.ranges);
                Value used = b.select(isSplit, sequence.items, zero);
                return {most, b.add(carried[1], used)};
              });
  maxItems = totals[0];
  if (a.kvSplit)
    return;
  Value numSlots = b.mul(totals[1], a.kvHeads);
  partOutputs =
      b.alloc({numSlots, b.index(tileRows), valuePadded}, b.getF32Type());
  partLargest = b.alloc({numSlots, b.index(tileRows)}, b.getF32Type());
  partDenominators = b.alloc({numSlots, b.index(tileRows)}, b.getF32Type());
}

Value AttentionEmitter::emitSlot(const Sequence &sequence, Value kvHead,
                                 Value tile, Value range) {
  Value first = b.mul(b.load(slots, sequence.index), a.kvHeads);
  Value item = b.add(b.mul(tile, sequence.ranges), range);
  return b.add(first, b.add(b.mul(kvHead, sequence.items), item));
}

void AttentionEmitter::emitItem(const Sequence &sequence, Value kvHead,
                                Value number) {
  Item item;
  item.sequence = sequence;
  item.kvHead = kvHead;
  Value tile = b.div(number, sequence.ranges);
  item.range = b.rem(number, sequence.ranges);
  item.firstRow = b.mul(tile, tileRows);
  item.rows = b.min(b.sub(sequence.rows, item.firstRow), b.index(tileRows));

  // A range that is the only one has all keys.
  Value rangeLength = b.index(a.kvSplit ? a.kvSplit : rangeKeys);
  Value begin = b.mul(item.range, rangeLength);
  Value end = b.min(b.add(begin, rangeLength), sequence.length);
  if (!a.kvSplit) {
    Value isOnly = b.isEqual(sequence.ranges, 1);
    end = b.select(isOnly, sequence.length, end);
  }
  // The first row begins first, the last row ends last.
  Value firstQuery = b.div(item.firstRow, group);
  Value lastQuery = b.div(b.add(item.firstRow, b.sub(item.rows, 1)), group);
  std::pair<Value, Value> first = emitKeyRange(sequence, firstQuery);
  std::pair<Value, Value> last = emitKeyRange(sequence, lastQuery);
  item.begin = b.max(begin, first.first);
  item.end = b.min(end, last.second);

  emitBuffers(item);
  emitPrologue(item);
  b.loop(item.begin, item.end, tileKeys, [&](Value firstKey) {
    Value tileEnd = b.min(b.add(firstKey, tileKeys), item.end);
    // Whether a row does not admit all keys of the tile.
    Value isEdge = arith::OrIOp::create(b, b.isLess(firstKey, last.first),
                                        b.isLess(first.second, tileEnd));
    emitTile(item, firstKey, tileEnd, isEdge);
  });
  emitEpilogue(item);
  for (Value memref :
       {item.q, item.output, item.keys, item.values, item.weights, item.largest,
        item.rescale, item.denominators, item.firstKeys, item.numKeys})
    b.dealloc(memref);
}

void AttentionEmitter::emitBuffers(Item &item) {
  Value rows = b.index(tileRows), tile = b.index(tileKeys);
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  item.q = b.alloc({rows, keyPadded}, f32);
  item.output = b.alloc({rows, valuePadded}, f32);
  item.keys = b.alloc({tile, keyPadded}, f32);
  item.values = b.alloc({tile, valuePadded}, f32);
  item.weights = b.alloc({rows, tile}, f32);
  item.largest = b.alloc(rows, f32);
  item.rescale = b.alloc(rows, f32);
  item.denominators = b.alloc({rows, b.index(RowReader::lanes)}, f32);
  item.firstKeys = b.alloc(rows, i32);
  item.numKeys = b.alloc(rows, i32);
}

void AttentionEmitter::emitPrologue(const Item &item) {
  constexpr int64_t lanes = RowReader::lanes;
  Value zero = b.index(0);
  Value zeros = b.constantLike(b.f32x(lanes), 0.0);
  auto clear = [&](Value memref, Value row, Value size) {
    b.loop(zero, size, lanes,
           [&](Value d) { b.storeVector(zeros, memref, {row, d}); });
  };
  // The lanes past a row's elements must not hold NaN.
  b.loop(tileKeys, [&](Value row) {
    clear(item.keys, row, keyPadded);
    clear(item.values, row, valuePadded);
  });
  Value blockRows = b.mul(b.ceilDiv(item.rows, rowsPerBlock), rowsPerBlock);
  b.loop(zero, blockRows, 1, [&](Value row) {
    clear(item.q, row, keyPadded);
    clear(item.output, row, valuePadded);
    b.store(b.f32(0), item.rescale, row);
  });

  b.loop(zero, item.rows, 1, [&](Value r) {
    Row row = emitRow(item.sequence, item.kvHead, b.add(item.firstRow, r));
    keys.emitPlaces(b, [&](Value element, Value place) {
      Value value = b.toF32(b.load(a.q, withIndex(row.indices, element)));
      b.store(b.mulF(value, b.f32(keys.getPowerOfTwo())), item.q, {r, place});
    });
    auto [begin, end] = emitKeyRange(item.sequence, row.query);
    Value first = b.max(begin, item.begin);
    Value count = b.max(b.sub(b.min(end, item.end), first), zero);
    b.store(b.toI32(first), item.firstKeys, r);
    b.store(b.toI32(count), item.numKeys, r);

    Value largest = minusInfinity(), denominator = b.f32(0);
    if (a.sinks) {
      // The sink joins the first part: its weight is e^(sink - sink).
      Value sink = b.load(a.sinks, row.head);
      Value isFirst = b.isEqual(item.range, 0);
      largest = b.select(isFirst, sink, largest);
      Value isNone =
          b.isEqualF(largest, -std::numeric_limits<double>::infinity());
      denominator = b.select(isNone, b.f32(0), b.f32(1));
    }
    b.store(largest, item.largest, r);
    clear(item.denominators, r, b.index(lanes));
    b.store(denominator, item.denominators, {r, zero});
  });
}

void AttentionEmitter::emitTile(const Item &item, Value firstKey, Value end,
                                Value isEdge) {
  Value count = b.sub(end, firstKey);
  auto read = [&](RowReader &reader, Value buffer) {
    b.loop(b.index(0), count, 1, [&](Value t) {
      Value key = b.add(firstKey, t);
      // Pages lie anywhere, so that the processor cannot foresee the next row.
      Value later = b.min(b.add(key, tileKeys), b.sub(item.end, 1));
      reader.emitPrefetch(b, item.sequence.index, later, item.kvHead);
      reader.emitRow(b, item.sequence.index, key, item.kvHead, buffer, t);
    });
  };
  read(keys, item.keys);
  emitLogits(item);
  emitSoftmax(item, firstKey, count);
  read(values, item.values);
  if (a.mask)
    return emitAccumulate(item, count, /*isEdge=*/true);
  b.when(
      isEdge, [&] { emitAccumulate(item, count, /*isEdge=*/true); },
      [&] { emitAccumulate(item, count, /*isEdge=*/false); });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitEpilogue(const Item &item) {
  constexpr int64_t lanes = RowReader::lanes;
  Value zero = b.index(0);
  auto reduceDenominator = [&](Value r) {
    return b.reduceAdd(b.loadVector(item.denominators, {r, zero}, lanes));
  };
  auto emitResults = [&] {
    b.loop(zero, item.rows, 1, [&](Value r) {
      Row row = emitRow(item.sequence, item.kvHead, b.add(item.firstRow, r));
      emitResult(row, item.range, b.load(item.largest, r), reduceDenominator(r),
                 [&](Value place) { return b.load(item.output, {r, place}); });
    });
  };
  if (a.kvSplit)
    return emitResults();
  b.when(b.isEqual(item.sequence.ranges, 1), emitResults, [&] {
    Value slot = emitSlot(item.sequence, item.kvHead,
                          b.div(item.firstRow, tileRows), item.range);
    b.loop(zero, item.rows, 1, [&](Value r) {
      b.store(b.load(item.largest, r), partLargest, {slot, r});
      b.store(reduceDenominator(r), partDenominators, {slot, r});
      b.loop(zero, valuePadded, lanes, [&](Value d) {
        b.storeVector(b.loadVector(item.output, {r, d}, lanes), partOutputs,
                      {slot, r, d});
      });
    });
  });
}

void AttentionEmitter::emitResult(const Row &row, Value chunk, Value largest,
                                  Value denominator,
                                  function_ref<Value(Value)> load) {
  SmallVector<Value> indices = row.indices;
  if (a.kvSplit)
    indices.insert(indices.begin(), chunk);
  Value isEmpty = b.isEqualF(denominator, 0.0);
  Type type = cast<MemRefType>(a.output.getType()).getElementType();
  values.emitPlaces(b, [&](Value element, Value place) {
    Value value = b.divF(load(place), denominator);
    value = b.mulF(value, b.f32(values.getPowerOfTwo()));
    if (Value globalScale = values.getGlobalScale())
      value = b.mulF(value, globalScale);
    value = b.select(isEmpty, b.f32(0), value);
    b.store(b.fromF32(value, type), a.output, withIndex(indices, element));
  });
  if (!a.lse)
    return;
  Value lse = b.addF(largest, math::LogOp::create(b, denominator));
  b.store(b.select(isEmpty, minusInfinity(), lse), a.lse, indices);
}

void AttentionEmitter::emitMerge() {
  constexpr int64_t lanes = RowReader::lanes;
  Value zero = b.index(0), one = b.index(1);
  b.parallel({a.sequences, a.kvHeads}, [&](ValueRange at) {
    Sequence sequence = emitSequence(at[0]);
    Value isSplit = b.isLess(one, sequence.ranges);
    Value rows = b.select(isSplit, sequence.rows, zero);
    Value merged = b.alloc(valuePadded, b.getF32Type());
    b.loop(zero, rows, 1, [&](Value number) {
      Value tile = b.div(number, tileRows), r = b.rem(number, tileRows);
      Value first = emitSlot(sequence, at[1], tile, zero);
      Value end = b.add(first, sequence.ranges);
      Value largest =
          b.carry(first, end, 1, minusInfinity(),
                  [&](Value slot, ValueRange carried) {
                    Value part = b.load(partLargest, {slot, r});
                    return SmallVector<Value>{b.maxF(part, carried[0])};
                  })
              .front();
      Value isNone =
          b.isEqualF(largest, -std::numeric_limits<double>::infinity());
      Value shift = b.select(isNone, b.f32(0), largest);
      Value zeros = b.constantLike(b.f32x(lanes), 0.0);
      b.loop(zero, valuePadded, lanes,
             [&](Value d) { b.storeVector(zeros, merged, d); });
      Value denominator =
          b.carry(first, end, 1, b.f32(0), [&](Value slot, ValueRange carried) {
             Value part = b.load(partLargest, {slot, r});
             Value weight = b.expOfNegative(b.subF(part, shift));
             b.loop(zero, valuePadded, lanes, [&](Value d) {
               Value sum = b.loadVector(merged, d, lanes);
               Value term = b.loadVector(partOutputs, {slot, r, d}, lanes);
               b.storeVector(b.fma(term, weight, sum), merged, d);
             });
             Value total = b.load(partDenominators, {slot, r});
             return SmallVector<Value>{b.fma(total, weight, carried[0])};
           }).front();
      emitResult(emitRow(sequence, at[1], number), /*chunk=*/{}, largest,
                 denominator,
                 [&](Value place) { return b.load(merged, place); });
    });
    b.dealloc(merged);
  });
}
