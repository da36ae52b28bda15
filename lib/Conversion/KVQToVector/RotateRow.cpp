//===- RotateRow.cpp - Emit the rotary embedding of one row ---------------===//

#include "RotateRow.h"
#include "QuantizeRow.h"
#include "kvq/Dialect/KVQ/IR/KVQRope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::detail;

namespace {

/// The channels of a head of a row.
struct RotatedRow {
  VectorBuilder &b;
  QuantizeAppendOp op;
  Value row, head;
  int64_t numRotated = op.getNumRotated();
  bool isInterleaved = op.getRopeStyle() == RopeStyle::Interleaved;

  Value load(Value d, int64_t lanes) {
    return b.toF32(loadRun(b, op.getInput(), {row, head, d}, lanes));
  }
  Value loadTable(Value table, Value pair, int64_t lanes) {
    return loadRun(b, table, {row, pair}, lanes);
  }

  /// Whether `lanes` channels are whole pairs, or all the first or all the
  /// second ones of as many.
  bool isRegular(int64_t lanes) const {
    if (isInterleaved)
      return lanes % 2 == 0 && numRotated % lanes == 0;
    return (numRotated / 2) % lanes == 0;
  }

  /// Channels that rotate, of which `lanes` are regular.
  Value rotate(Value d, int64_t lanes) {
    return isInterleaved ? rotatePairs(d, lanes) : rotateHalves(d, lanes);
  }

  Value rotatePairs(Value d, int64_t lanes) {
    Value channels = load(d, lanes);
    SmallVector<int64_t> even, odd, merged;
    for (int64_t i = 0; i < lanes / 2; ++i) {
      even.push_back(2 * i);
      odd.push_back(2 * i + 1);
      merged.append({i, lanes / 2 + i});
    }
    Value pair = b.div(d, 2);
    auto table = [&](Value table) {
      Value run = loadTable(table, pair, lanes / 2);
      return isa<VectorType>(run.getType()) ? run : b.broadcast(run, 1);
    };
    auto [y0, y1] = emitRotation(b, b.getLoc(), b.pick(channels, even),
                                 b.pick(channels, odd), table(op.getCos()),
                                 table(op.getSin()));
    return b.shuffle(y0, y1, merged);
  }

  Value rotateHalves(Value d, int64_t lanes) {
    Value pairs = b.index(numRotated / 2);
    Value first = b.rem(d, pairs), second = b.add(first, pairs);
    auto [y0, y1] =
        emitRotation(b, b.getLoc(), load(first, lanes), load(second, lanes),
                     loadTable(op.getCos(), first, lanes),
                     loadTable(op.getSin(), first, lanes));
    return b.select(b.isLess(d, second), y0, y1);
  }

  /// One channel that rotates, interleaved.
  Value rotateOneOfPair(Value d) {
    Value first = b.mul(b.div(d, 2), 2);
    Value pair = rotatePairs(first, 2);
    return b.select(b.isLess(first, d), b.extract(pair, 1), b.extract(pair, 0));
  }
};

} // namespace

Value kvq::detail::loadRotated(VectorBuilder &b, QuantizeAppendOp op, Value row,
                               Value head, Value d, int64_t lanes) {
  RotatedRow channels{b, op, row, head};
  if (channels.numRotated == 0)
    return channels.load(d, lanes);
  if (lanes > 1 && !channels.isRegular(lanes)) {
    SmallVector<Value> values;
    for (int64_t i = 0; i < lanes; ++i)
      values.push_back(loadRotated(b, op, row, head, b.add(d, i), 1));
    return vector::FromElementsOp::create(b, b.f32x(lanes), values);
  }
  auto rotate = [&]() -> Value {
    if (lanes == 1 && channels.isInterleaved)
      return channels.rotateOneOfPair(d);
    return channels.rotate(d, lanes);
  };
  if (channels.numRotated == op.getCache().getType().getHeadDim())
    return rotate();
  Type type = b.getF32Type();
  if (lanes > 1)
    type = b.f32x(lanes);
  return b.choose(b.isLess(d, b.index(channels.numRotated)), type, rotate,
                  [&] { return channels.load(d, lanes); });
}
