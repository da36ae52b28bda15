//===- OperandTile.cpp - Operands of mma.sync in shared memory ------------===//

#include "OperandTile.h"
#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Elements between the rows of a tile: the bytes are an odd multiple of 16, so
/// that eight rows that ldmatrix reads lie in different banks.
static int64_t getPitch(int64_t columns) {
  return llvm::alignTo(columns, 16) + 8;
}

OperandTile::OperandTile(KernelBuilder &b, int64_t offset, int64_t rows,
                         int64_t columns, FloatType unit, int64_t terms)
    : rows(rows), columns(llvm::alignTo(columns, 16)), unit(unit) {
  for (int64_t term = 0; term < terms; ++term)
    tiles.push_back(b.viewShared(offset + term * getBytes(rows, columns, 1),
                                 rows, this->columns, unit,
                                 getPitch(this->columns)));
}

int64_t OperandTile::getBytes(int64_t rows, int64_t columns, int64_t terms) {
  return rows * getPitch(columns) * 2 * terms;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// What rounding a value to an operand left of it. An operand that is not
/// finite leaves nothing.
static F32 getResidual(KernelBuilder &b, F32 value, F32 rounded) {
  F32 residual = value - rounded;
  // NaN - NaN, inf - inf and the residual of what overflowed are no numbers.
  Pred isFinite = (rounded - rounded) == 0.0;
  return isFinite.select(residual, b.f32(0.0));
}

/// Stores words of two operands each, four words at a time.
static void storePacked(KernelBuilder &b, const SharedTile &tile,
                        ArrayRef<I32> words, I32 row, I32 column) {
  auto type = VectorType::get(8, tile.elementType());
  for (size_t i = 0; i < words.size(); i += 4) {
    SmallVector<Value> four(words.slice(i, 4));
    Value packed = vector::FromElementsOp::create(
        b, VectorType::get(4, b.getI32Type()), four);
    tile.store(vector::BitCastOp::create(b, type, packed), row,
               column + int64_t(2 * i));
  }
}

void OperandTile::store(KernelBuilder &b, ArrayRef<F32> values, I32 row,
                        I32 column) const {
  SmallVector<F32> rest(values);
  for (auto [term, tile] : llvm::enumerate(tiles)) {
    SmallVector<I32> words;
    for (size_t i = 0; i < rest.size(); i += 2) {
      Value pair = b.roundPair(rest[i], rest[i + 1], unit);
      words.push_back(b.asBits(pair));
      if (term + 1 == tiles.size())
        continue;
      Value wide =
          LLVM::FPExtOp::create(b, VectorType::get(2, b.getF32Type()), pair);
      for (int64_t lane = 0; lane < 2; ++lane)
        rest[i + lane] =
            getResidual(b, rest[i + lane], b.extractF32(wide, lane));
    }
    if (words.size() == 1) {
      tile.store(b.asPair(words.front(), unit), row, column);
      continue;
    }
    storePacked(b, tile, words, row, column);
  }
}

//===----------------------------------------------------------------------===//
// Stored blocks
//===----------------------------------------------------------------------===//

/// Multiplies pairs of f16 by a scale that f16 holds; exact for the products
/// of E2M1 and E4M3.
static void scalePairs(KernelBuilder &b, SmallVectorImpl<I32> &words,
                       F32 scale) {
  Value factor = b.roundPair(scale, scale, b.getF16Type());
  for (I32 &word : words)
    word = b.asBits(
        arith::MulFOp::create(b, b.asPair(word, b.getF16Type()), factor));
}

/// Decodes a chunk of stored elements without going through f32, to the words
/// of f16 operands. Returns nothing where that is not exact.
static SmallVector<I32> decodeToF16(KernelBuilder &b, KVFormatInterface format,
                                    const StoredBlock &block) {
  SmallVector<I32> words;
  FloatType element = format.getElementType();
  if (isa<Float4E2M1FNType>(element) &&
      isa_and_nonnull<Float8E4M3FNType>(format.getScaleType())) {
    for (I32 word : block.words)
      for (Value pair : decodeE2M1(b, word))
        words.push_back(b.asBits(pair));
  } else if (isa<Float8E4M3FNType>(element) && !format.getScaleType()) {
    for (I32 word : block.words)
      for (Value pair : decodeE4M3(b, word))
        words.push_back(b.asBits(pair));
  } else if (element.isF16() && !format.getScaleType()) {
    llvm::append_range(words, block.words);
  }
  if (!words.empty() && block.scale)
    scalePairs(b, words, decodeScale(b, format.getScaleType(), block.scale));
  return words;
}

void OperandTile::storeBlock(KernelBuilder &b, KVFormatInterface format,
                             const StoredBlock &block, I32 row,
                             I32 column) const {
  if (unit.isF16() && tiles.size() == 1 && isa<FormatAttr>(format)) {
    SmallVector<I32> words = decodeToF16(b, format, block);
    if (!words.empty())
      return storePacked(b, tiles.front(), words, row, column);
  }
  store(b, dequantizeBlock(b, format, block, F32()), row, column);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value OperandTile::loadA(KernelBuilder &b, int64_t term, I32 k) const {
  // Matrices: rows 0-7 and 8-15 of the first eight columns, then of the others.
  I32 lane = b.lane();
  return b.loadMatrix(tiles[term], lane % 16, k + (lane / 16) * 8, 4,
                      /*transpose=*/false);
}

/// The matrices 2i and 2i + 1 of four.
static std::array<Value, 2> splitMatrices(KernelBuilder &b, Value matrices) {
  auto half = [&](int64_t first) {
    return vector::ShuffleOp::create(b, matrices, matrices,
                                     ArrayRef<int64_t>{first, first + 1});
  };
  return {half(0), half(2)};
}

std::array<Value, 2> OperandTile::loadBByColumns(KernelBuilder &b, int64_t term,
                                                 I32 n, I32 k) const {
  I32 lane = b.lane();
  I32 row = n + (lane / 16) * 8 + lane % 8;
  I32 column = k + ((lane / 8) % 2) * 8;
  return splitMatrices(
      b, b.loadMatrix(tiles[term], row, column, 4, /*transpose=*/false));
}

std::array<Value, 2> OperandTile::loadBByRows(KernelBuilder &b, int64_t term,
                                              I32 k, I32 n) const {
  I32 lane = b.lane();
  I32 row = k + lane % 16;
  I32 column = n + (lane / 16) * 8;
  return splitMatrices(
      b, b.loadMatrix(tiles[term], row, column, 4, /*transpose=*/true));
}
