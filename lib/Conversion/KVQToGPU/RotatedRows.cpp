//===- RotatedRows.cpp - The rows of an append, with RoPE -----------------===//

#include "RotatedRows.h"
#include "kvq/Dialect/KVQ/IR/KVQRope.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

RotatedRows::RotatedRows(KernelLaunch &kernel, StringRef prefix,
                         QuantizeAppendOp op, int64_t chunk)
    : b(kernel.body()), chunk(chunk),
      headDim(op.getCache().getType().getHeadDim()),
      numRotated(op.getNumRotated()),
      isInterleaved(op.getRopeStyle() == RopeStyle::Interleaved),
      input(kernel, (prefix + "input").str(), op.getInput(), Access::Read,
            chunk) {
  if (!op.getCos())
    return;
  int64_t columns = isInterleaved ? chunk / 2 : chunk;
  auto declare = [&](StringRef name, Value table) {
    return Array(kernel, (prefix + name).str(), table, Access::Read, columns);
  };
  tables.emplace(
      Tables{declare("cos", op.getCos()), declare("sin", op.getSin())});
}

RotatedRows::Pairing RotatedRows::getPairing() const {
  if (isInterleaved)
    return numRotated % chunk == 0 ? Pairing::Neighbours : Pairing::Elements;
  return numRotated / 2 % chunk == 0 ? Pairing::Chunks : Pairing::Elements;
}

SmallVector<F32> RotatedRows::loadPlain(const Row &row, I32 first) const {
  return decodeElements(b, row.element, loadElements(b, row, first, chunk));
}

/// x * cos + partner * sin for the second channel of a pair, with a minus for
/// the first one.
static F32 rotate(KernelBuilder &b, F32 x, F32 partner, F32 cos, F32 sin,
                  Pred isSecond) {
  F32 product = partner * sin;
  F32 negated = (product.bits() ^ 0x80000000).asF32();
  F32 result = x * cos + isSecond.select(product, negated);
  return result.isNaN().select(b.i32(kRotatedNaN).asF32(), result);
}

SmallVector<F32> RotatedRows::rotateChunks(I32 row, const Row &from,
                                           I32 first) const {
  int64_t half = numRotated / 2;
  Pred isSecond = first >= half;
  I32 column = isSecond.select(first - half, first);
  I32 other = isSecond.select(column, first + half);
  SmallVector<F32> values = loadPlain(from, first);
  SmallVector<F32> partners = loadPlain(from, other);
  SmallVector<F32> cos = loadPlain(tables->cos.row(row), column);
  SmallVector<F32> sin = loadPlain(tables->sin.row(row), column);
  for (int64_t i = 0; i < chunk; ++i)
    values[i] = rotate(b, values[i], partners[i], cos[i], sin[i], isSecond);
  return values;
}

SmallVector<F32> RotatedRows::rotateNeighbours(I32 row, const Row &from,
                                               I32 first) const {
  SmallVector<F32> x = loadPlain(from, first), result;
  auto load = [&](const Array &table) {
    Row columns = table.row(row);
    return decodeElements(b, columns.element,
                          loadElements(b, columns, first / 2, chunk / 2));
  };
  SmallVector<F32> cos = load(tables->cos), sin = load(tables->sin);
  for (int64_t i = 0; i < chunk; i += 2) {
    F32 c = cos[i / 2], s = sin[i / 2];
    result.push_back(rotate(b, x[i], x[i + 1], c, s, b.pred(false)));
    result.push_back(rotate(b, x[i + 1], x[i], c, s, b.pred(true)));
  }
  return result;
}

F32 RotatedRows::loadRotated(I32 row, const Row &from, I32 channel) const {
  int64_t half = numRotated / 2;
  Pred isSecond = isInterleaved ? (channel & 1) == 1 : channel >= half;
  I32 column =
      isInterleaved ? channel / 2 : isSecond.select(channel - half, channel);
  I32 partner =
      isInterleaved ? channel ^ 1 : isSecond.select(column, channel + half);
  return rotate(b, loadElement(b, from, channel), loadElement(b, from, partner),
                b.loadF32(tables->cos.element({row, column})),
                b.loadF32(tables->sin.element({row, column})), isSecond);
}

SmallVector<F32> RotatedRows::rotateElements(I32 row, const Row &from,
                                             I32 first) const {
  SmallVector<F32> values = loadPlain(from, first);
  for (int64_t i = 0; i < chunk; ++i) {
    I32 channel = first + i;
    auto rotated = [&] {
      return SmallVector<Value>{loadRotated(row, from, channel)};
    };
    auto plain = [&] { return SmallVector<Value>{values[i]}; };
    values[i] = {
        b,
        b.choose(channel < numRotated, b.getF32Type(), rotated, plain).front()};
  }
  return values;
}

/// Channels of which all rotate or none.
SmallVector<F32> RotatedRows::rotateChunk(I32 row, const Row &from,
                                          I32 first) const {
  auto rotate = [&] {
    return getPairing() == Pairing::Chunks ? rotateChunks(row, from, first)
                                           : rotateNeighbours(row, from, first);
  };
  if (numRotated == headDim)
    return rotate();
  SmallVector<Type> types(chunk, b.getF32Type());
  SmallVector<F32> result;
  for (Value value : b.choose(
           first < numRotated, types,
           [&] { return llvm::to_vector_of<Value>(rotate()); },
           [&] { return llvm::to_vector_of<Value>(loadPlain(from, first)); }))
    result.push_back({b, value});
  return result;
}

PackedValues RotatedRows::load(I32 row, I32 head, I32 first) const {
  Row from = input.row({row, head});
  if (!tables)
    return {from.element, loadElements(b, from, first, chunk)};
  SmallVector<F32> values = getPairing() == Pairing::Elements
                                ? rotateElements(row, from, first)
                                : rotateChunk(row, from, first);
  return {b.getF32Type(), encodeElements(b, b.getF32Type(), values)};
}
