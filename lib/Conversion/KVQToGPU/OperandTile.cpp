//===- OperandTile.cpp - Operands of mma.sync in shared memory ------------===//

#include "OperandTile.h"
#include "Arrays.h"
#include "BlockCodec.h"
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

OperandTile::OperandTile(KernelBuilder &b, int64_t rows, int64_t columns,
                         FloatType unit, int64_t terms)
    : rows(rows), columns(llvm::alignTo(columns, 16)), unit(unit) {
  for (int64_t term = 0; term < terms; ++term)
    tiles.push_back(
        b.shared(rows, this->columns, unit, getPitch(this->columns)));
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

void OperandTile::storeWords(KernelBuilder &b, ArrayRef<I32> words, I32 row,
                             I32 column) const {
  assert(tiles.size() == 1 && "terms are made of values");
  storePacked(b, tiles.front(), words, row, column);
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
    return vector::ExtractStridedSliceOp::create(
        b, matrices, ArrayRef<int64_t>{first, 0}, ArrayRef<int64_t>{2, 2},
        ArrayRef<int64_t>{1, 1});
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

//===----------------------------------------------------------------------===//
// Cached rows
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

/// Stores elements `column` on of one row, which is at `token` of `page`.
static void storeStoredChunk(KernelBuilder &b, const CachePointers &cache,
                             I32 page, I32 token, I32 head,
                             const OperandTile &tile, I32 row, I32 column,
                             int64_t chunk) {
  KVFormatInterface format = cache.getFormat();
  StoredBlock block;
  block.words = loadElements(b, cache.row(page, token, head), column, chunk);
  bool scaledByRow =
      format.hasBlockScale() && format.getBlockAxis() == BlockAxis::HeadDim;
  unsigned scaleBits =
      format.hasBlockScale() ? format.getScaleType().getWidth() : 0;
  if (scaledByRow)
    block.scale =
        b.loadBits(cache.scaleOfElement(page, token, head, column), scaleBits);
  if (!format.hasBlockScale() || scaledByRow) {
    if (tile.getUnit().isF16() && tile.terms().size() == 1 &&
        isa<FormatAttr>(format)) {
      SmallVector<I32> words = decodeToF16(b, format, block);
      if (!words.empty())
        return tile.storeWords(b, words, row, column);
    }
    return tile.store(b, dequantizeBlock(b, format, block, F32()), row, column);
  }
  // Blocks along the tokens: each element of a row has a scale of its own.
  SmallVector<F32> values =
      decodeElements(b, format.getElementType(), block.words);
  for (auto [i, value] : llvm::enumerate(values)) {
    I32 code =
        b.loadBits(cache.scaleOfElement(page, token, head, column + int64_t(i)),
                   scaleBits);
    value = value * decodeScale(b, format.getScaleType(), code);
  }
  tile.store(b, values, row, column);
}

void kvq::kernel::loadCachedRows(KernelBuilder &b, const CachePointers &cache,
                                 const BlockTable &blockTable,
                                 CachedTokens tokens, const OperandTile &tile,
                                 int64_t threads) {
  int64_t chunk = getChunk(cache.getFormat());
  int64_t chunks = llvm::divideCeil(cache.getType().getHeadDim(), chunk);
  int64_t pageSize = cache.getType().getPageSize();
  // Columns that no chunk covers are zeros too.
  int64_t padding = tile.getColumns() - chunks * chunk;
  b.loop(b.thread(), b.i32(tile.getRows() * chunks), threads, [&](I32 item) {
    I32 row = item / chunks;
    I32 column = (item % chunks) * chunk;
    I32 position = tokens.first + row;
    auto loadPage = [&]() -> SmallVector<Value> {
      return {blockTable.loadPage(tokens.sequence, position, cache.pages())};
    };
    auto noPage = [&]() -> SmallVector<Value> { return {b.i32(-1)}; };
    Pred isCached = (position >= tokens.begin) & (position < tokens.end);
    I32 page(b, b.choose(isCached, b.getI32Type(), loadPage, noPage).front());
    b.when(
        page >= 0,
        [&] {
          storeStoredChunk(b, cache, page, position % pageSize, tokens.head,
                           tile, row, column, chunk);
        },
        [&] {
          tile.store(b, SmallVector<F32>(chunk, b.f32(0.0)), row, column);
        });
  });
  if (padding > 0)
    b.loop(b.thread(), b.i32(tile.getRows()), threads, [&](I32 row) {
      tile.store(b, SmallVector<F32>(padding, b.f32(0.0)), row,
                 b.i32(chunks * chunk));
    });
}
