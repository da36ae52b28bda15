//===- StoredTile.cpp - Cached rows on their way to the operands ----------===//

#include "StoredTile.h"
#include "Arrays.h"
#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// Tiles whose pages are in shared memory at a time.
static constexpr int64_t kPageSlots = 2;

TilePages::TilePages(KernelBuilder &b, const BlockTable &blockTable,
                     int64_t rows)
    : b(b), blockTable(blockTable), rows(rows),
      slots(b.shared(kPageSlots, rows, b.getI32Type())) {}

int64_t TilePages::getBytes(int64_t rows) { return kPageSlots * rows * 4; }

I32 TilePages::slotOf(CachedTokens tokens) const {
  return (tokens.first / rows) % kPageSlots;
}

I32 TilePages::load(CachedTokens tokens, I32 pages) const {
  I32 position = tokens.first + b.thread();
  Pred isRead = (position >= tokens.begin) & (position < tokens.end) &
                (b.thread() < rows);
  auto load = [&]() -> SmallVector<Value> {
    return {blockTable.loadPage(tokens.sequence, position, pages)};
  };
  auto none = [&]() -> SmallVector<Value> { return {b.i32(-1)}; };
  return {b, b.choose(isRead, b.getI32Type(), load, none).front()};
}

void TilePages::store(CachedTokens tokens, I32 page) const {
  b.when(b.thread() < rows,
         [&] { slots.store(page, slotOf(tokens), b.thread()); });
}

I32 TilePages::get(CachedTokens tokens, I32 row) const {
  return {b, slots.load(slotOf(tokens), row)};
}

I32 TilePages::getOfFour(CachedTokens tokens, I32 row) const {
  Value four = slots.load(slotOf(tokens), row - row % 4, 4);
  I32 page(b, b.extract(four, 0));
  for (int64_t i = 1; i < 4; ++i)
    page = page.max({b, b.extract(four, i)});
  return page;
}

//===----------------------------------------------------------------------===//
// Rows in shared memory
//===----------------------------------------------------------------------===//

/// How rows of a part of a cache lie, in bytes.
struct StoredTile::RowLayout {
  /// In the cache, and in shared memory with zeros behind.
  int64_t bytes, pitch;
  /// What is copied at once: the largest power of two up to 16 that divides
  /// both. Below 4 there are no asynchronous copies.
  int64_t piece;

  RowLayout(int64_t bytes, int64_t pitch, int64_t most = 16)
      : bytes(bytes), pitch(pitch),
        piece(int64_t(1) << llvm::countr_zero(uint64_t(bytes | pitch | most))) {
  }

  static RowLayout ofData(CacheType type);
  static std::optional<RowLayout> ofScales(CacheType type);
};

/// Chunks of a row, the last of which may go past its end.
static int64_t countChunks(CacheType type) {
  return llvm::divideCeil(type.getHeadDim(), getChunk(type.getFormat()));
}

StoredTile::RowLayout StoredTile::RowLayout::ofData(CacheType type) {
  KVFormatInterface format = type.getFormat();
  int64_t width = format.getElementType().getWidth();
  return {type.getHeadDim() * width / 8,
          countChunks(type) * getChunk(format) * width / 8};
}

static int64_t getScaleBytes(CacheType type) {
  return type.getFormat().getScaleType().getWidth() / 8;
}

/// The scales of a token. Nothing if there are none or they are not copied:
/// those of blocks along the tokens, which many rows share, and those that are
/// no whole words.
std::optional<StoredTile::RowLayout>
StoredTile::RowLayout::ofScales(CacheType type) {
  KVFormatInterface format = type.getFormat();
  if (!format.hasBlockScale() || format.getBlockAxis() != BlockAxis::HeadDim)
    return std::nullopt;
  int64_t bytes = type.getScaleColumns() * getScaleBytes(type);
  // In the order of the tensor cores four of a row lie side by side.
  bool isBlocked = *type.getScaleLayout() == ScaleLayout::Blocked128x4;
  RowLayout layout(bytes, bytes, isBlocked ? 4 * getScaleBytes(type) : 16);
  return layout.piece >= 4 ? std::optional(layout) : std::nullopt;
}

int64_t StoredTile::getBytes(CacheType type, int64_t rows, int64_t buffers) {
  int64_t bytes =
      llvm::alignTo(RowLayout::ofData(type).pitch * rows * buffers, 16);
  if (std::optional<RowLayout> scales = RowLayout::ofScales(type))
    bytes += llvm::alignTo(scales->pitch * rows * buffers, 16);
  return bytes;
}

StoredTile::StoredTile(KernelBuilder &b, const CachePointers &cache,
                       const TilePages &pages, int64_t rows, int64_t buffers,
                       int64_t threads)
    : b(b), cache(cache), pages(pages), type(cache.getType()), rows(rows),
      buffers(buffers), threads(threads), chunk(getChunk(type.getFormat())) {
  RowLayout layout = RowLayout::ofData(type);
  data = makePart(layout, b.getI32Type(), /*unit=*/1);
  SmallVector<I64> places{cache.data().address()};
  for (int64_t dimension = 0; dimension < 3; ++dimension)
    places.push_back(cache.dataStride(dimension));
  data.isAligned = b.areMultiples(places, layout.piece);
  std::optional<RowLayout> scaleLayout = RowLayout::ofScales(type);
  if (!scaleLayout)
    return;
  int64_t unit = getScaleBytes(type);
  scales = makePart(*scaleLayout, b.getIntegerType(8 * unit), unit);
  places = {cache.scales().address()};
  for (int64_t dimension = 0; dimension < 3; ++dimension)
    places.push_back(cache.scalesStride(dimension));
  scales->isAligned = b.areMultiples(places, scaleLayout->piece);
}

StoredTile::Part StoredTile::makePart(const RowLayout &layout, Type item,
                                      int64_t unit) {
  int64_t allRows = rows * buffers;
  int64_t offset = b.allocateShared(allRows * layout.pitch);
  Part part;
  part.bytes = b.viewShared(offset, allRows, layout.pitch, b.getI8Type());
  part.items = b.viewShared(
      offset, allRows, layout.pitch * 8 / item.getIntOrFloatBitWidth(), item);
  part.rowBytes = layout.bytes;
  part.pitch = layout.pitch;
  part.piece = layout.piece;
  part.unit = unit;
  return part;
}

I32 StoredTile::rowOfBuffer(CachedTokens tokens, I32 row) const {
  return (tokens.first / rows) % buffers * rows + row;
}

bool StoredTile::isInterleaved() const {
  return format().hasBlockScale() &&
         *type.getScaleLayout() == ScaleLayout::Interleaved4;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Emits `body` for each of `pieces` pieces of each of `rows` rows, which the
/// threads of a block share.
static void forEachPiece(KernelBuilder &b, int64_t rows, int64_t pieces,
                         int64_t threads,
                         function_ref<void(I32 row, I32 piece)> body) {
  if (threads % pieces != 0)
    return b.loop(b.thread(), b.i32(rows * pieces), threads,
                  [&](I32 item) { body(item / pieces, item % pieces); });
  // A thread has the same piece of all of its rows.
  int64_t step = threads / pieces;
  I32 first = b.thread() / pieces, piece = b.thread() % pieces;
  if (rows % step != 0)
    return b.loop(first, b.i32(rows), step, [&](I32 row) { body(row, piece); });
  b.loop(b.i32(0), b.i32(rows), step,
         [&](I32 row) { body(row + first, piece); });
}

Ptr StoredTile::addressOf(const Part &part, CachedTokens tokens, I32 page,
                          I32 row, I32 byte) const {
  I32 token = (tokens.first + row) % type.getPageSize();
  if (&part == &data)
    return cache.row(page, token, tokens.head).base + byte;
  if (*type.getScaleLayout() == ScaleLayout::Blocked128x4)
    return cache.scale(page, tokens.head, token, byte / part.unit);
  return cache.scalesRow(page, tokens.head, token) + byte;
}

void StoredTile::copyPart(CachedTokens tokens, const Part &part) const {
  // Calls `copyPiece` with where a piece goes, where it is and whether it is
  // to be read.
  auto emit = [&](I32 row, I32 byte,
                  function_ref<void(Ptr, Ptr, Pred)> copyPiece) {
    // Four rows share the bytes of interleaved scales.
    I32 page = &part != &data && isInterleaved() ? pages.getOfFour(tokens, row)
                                                 : pages.get(tokens, row);
    Pred isRead = page >= 0;
    if (part.rowBytes != part.pitch)
      isRead = isRead & (byte < part.rowBytes);
    copyPiece(part.bytes.pointer(rowOfBuffer(tokens, row), byte),
              addressOf(part, tokens, page.max(0), row, byte), isRead);
  };
  // Rarely done: the code is to be small.
  auto copyUnits = [&] {
    Type unit = b.getIntegerType(8 * part.unit);
    int64_t units = part.pitch / part.unit;
    b.loop(b.thread(), b.i32(rows * units), threads, [&](I32 item) {
      I32 byte = item % units * part.unit;
      emit(item / units, byte, [&](Ptr to, Ptr from, Pred isRead) {
        auto load = [&]() -> SmallVector<Value> {
          return {b.load(from, unit)};
        };
        auto none = [&]() -> SmallVector<Value> {
          return {arith::ConstantOp::create(b, b.getIntegerAttr(unit, 0))};
        };
        b.store(b.choose(isRead, unit, load, none).front(), to);
      });
    });
  };
  if (part.piece < 4)
    return copyUnits();
  b.when(
      part.isAligned,
      [&] {
        forEachPiece(
            b, rows, part.pitch / part.piece, threads, [&](I32 row, I32 piece) {
              emit(row, piece * part.piece, [&](Ptr to, Ptr from, Pred isRead) {
                b.copyAsync(to, from, part.piece, isRead);
              });
            });
      },
      copyUnits);
}

void StoredTile::copy(CachedTokens tokens) const {
  copyPart(tokens, data);
  if (scales)
    copyPart(tokens, *scales);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

StoredBlock StoredTile::loadBlock(CachedTokens tokens, I32 row,
                                  I32 column) const {
  StoredBlock block;
  int64_t width = format().getElementType().getWidth();
  int64_t words = chunk * width / 32;
  int64_t lanes = int64_t(1) << llvm::countr_zero(uint64_t(words | 4));
  I32 bufferRow = rowOfBuffer(tokens, row);
  for (int64_t at = 0; at < words; at += lanes) {
    Value loaded = data.items.load(bufferRow, column * width / 32 + at, lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      block.words.push_back({b, lanes == 1 ? loaded : b.extract(loaded, lane)});
  }
  if (!format().hasBlockScale() ||
      format().getBlockAxis() != BlockAxis::HeadDim)
    return block;
  unsigned bits = format().getScaleType().getWidth();
  I32 scaleRow = row, scaleColumn = column / chunk;
  if (!scales) {
    I32 page = pages.get(tokens, row);
    I32 token = (tokens.first + row) % type.getPageSize();
    block.scale =
        b.loadBits(cache.scale(page, tokens.head, token, scaleColumn), bits);
    return block;
  }
  // Tiles begin at multiples of four tokens, as groups of interleaved scales
  // do; in the order of the tensor cores they were put in order.
  if (isInterleaved())
    std::tie(scaleRow, scaleColumn) =
        getScalePosition(b, ScaleLayout::Interleaved4, row, scaleColumn,
                         b.i32(type.getScaleColumns()));
  Value code = scales->items.load(rowOfBuffer(tokens, scaleRow), scaleColumn);
  if (bits < 32)
    code = arith::ExtUIOp::create(b, b.getI32Type(), code);
  block.scale = {b, code};
  return block;
}

void StoredTile::decodeChunk(CachedTokens tokens, const OperandTile &tile,
                             I32 row, I32 column) const {
  StoredBlock block = loadBlock(tokens, row, column);
  if (!format().hasBlockScale() || block.scale)
    return tile.storeBlock(b, format(), block, row, column);
  // Blocks along the tokens: each element of a row has a scale of its own.
  unsigned bits = format().getScaleType().getWidth();
  I32 page = pages.get(tokens, row);
  I32 token = (tokens.first + row) % type.getPageSize();
  SmallVector<F32> values =
      decodeElements(b, format().getElementType(), block.words);
  for (auto [i, value] : llvm::enumerate(values)) {
    I32 code = b.loadBits(
        cache.scaleOfElement(page, token, tokens.head, column + int64_t(i)),
        bits);
    value = value * decodeScale(b, format().getScaleType(), code);
  }
  tile.store(b, values, row, column);
}

void StoredTile::decode(CachedTokens tokens, const OperandTile &tile) const {
  int64_t chunks = countChunks(type);
  // The dialect's formats make zeros of the bytes that are not read. Their
  // scales may be those of other rows, or must be read.
  bool areZeros = isa<FormatAttr>(format()) && !isInterleaved() &&
                  (scales || !format().hasBlockScale());
  forEachPiece(b, rows, chunks, threads, [&](I32 row, I32 piece) {
    I32 column = piece * chunk;
    if (areZeros)
      return decodeChunk(tokens, tile, row, column);
    b.when(
        pages.get(tokens, row) >= 0,
        [&] { decodeChunk(tokens, tile, row, column); },
        [&] {
          tile.store(b, SmallVector<F32>(chunk, b.f32(0.0)), row, column);
        });
  });
  // Columns that no chunk covers are zeros too.
  int64_t padding = tile.getColumns() - chunks * chunk;
  if (padding > 0)
    b.loop(b.thread(), b.i32(rows), threads, [&](I32 row) {
      tile.store(b, SmallVector<F32>(padding, b.f32(0.0)), row,
                 b.i32(chunks * chunk));
    });
}
