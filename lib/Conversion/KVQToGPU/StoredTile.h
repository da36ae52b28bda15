//===- StoredTile.h - Cached rows on their way to the operands ------------===//
//
// What the block computes with next is copied to shared memory asynchronously,
// bytes and block scales as they are stored, while it computes with what is
// there. Of a tile of cached rows
// - the pages are loaded two tiles ahead, once for each row,
// - the bytes of K and V are copied one tile ahead, and
// - rows are decoded from shared memory to operands.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_STOREDTILE_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_STOREDTILE_H

#include "CachePointers.h"
#include "OperandTile.h"
#include "RowPlaces.h"

namespace kvq::kernel {

/// A tile of the tokens of a sequence and KV head: tokens `first` + row. Those
/// outside of [begin, end) are not read and become zeros.
struct CachedTokens {
  I32 sequence, head, first, begin, end;

  /// The tokens of another tile.
  CachedTokens at(I32 other) const {
    return {sequence, head, other, begin, end};
  }
};

/// The pages of the rows of two successive tiles, in shared memory. Tiles begin
/// at multiples of their number of rows, a power of two.
class TilePages {
public:
  TilePages(KernelBuilder &b, const BlockTable &blockTable, int64_t rows);

  static int64_t getBytes(int64_t rows);

  /// Loads the page of this thread's row, of those of a tile: -1 if there is no
  /// such row, its token is not to be read, or the page is none of `pages` (an
  /// error).
  I32 load(CachedTokens tokens, I32 pages) const;
  /// Writes it where other threads find it, after a barrier.
  void store(CachedTokens tokens, I32 page) const;

  /// The page of a row, or -1.
  I32 get(CachedTokens tokens, I32 row) const;
  /// The page of any of four rows from a multiple of four on, which share it,
  /// or -1.
  I32 getOfFour(CachedTokens tokens, I32 row) const;

private:
  I32 slotOf(CachedTokens tokens) const;

  KernelBuilder &b;
  const BlockTable &blockTable;
  int64_t rows;
  SharedTile slots;
};

/// The stored rows of one or two successive tiles of a cache in shared memory.
class StoredTile {
public:
  StoredTile(KernelBuilder &b, const CachePointers &cache,
             const TilePages &pages, int64_t rows, int64_t buffers,
             int64_t threads);

  static int64_t getBytes(CacheType type, int64_t rows, int64_t buffers);

  /// Begins copies of a tile, by all threads of the block, once a barrier was
  /// passed after the pages were stored and after the tile was decoded whose
  /// buffer this one takes.
  void copy(CachedTokens tokens) const;

  /// Decodes all rows, without the global scale, into a tile of operands; by
  /// all threads of the block, once every one has waited for its copies.
  void decode(CachedTokens tokens, const OperandTile &tile) const;

private:
  struct RowLayout;

  /// One of the arrays that a cache consists of: the rows of all buffers.
  struct Part {
    SharedTile bytes;
    /// The same as what decoding loads.
    SharedTile items;
    /// Bytes of a row in the cache, and in shared memory with zeros behind.
    int64_t rowBytes, pitch;
    /// Bytes that are copied at once where `isAligned` holds; 0 for none.
    int64_t piece;
    Pred isAligned;
    /// Bytes that are copied at once where nothing is known.
    int64_t unit;
  };

  Part makePart(const RowLayout &layout, mlir::Type item, int64_t unit);
  void copyPart(CachedTokens tokens, const Part &part) const;
  Ptr addressOf(const Part &part, CachedTokens tokens, I32 page, I32 row,
                I32 byte) const;
  KVFormatInterface format() const { return type.getFormat(); }
  bool isInterleaved() const;
  I32 rowOfBuffer(CachedTokens tokens, I32 row) const;
  void decodeChunk(CachedTokens tokens, const OperandTile &tile, I32 row,
                   I32 column) const;
  StoredBlock loadBlock(CachedTokens tokens, I32 row, I32 column) const;

  KernelBuilder &b;
  const CachePointers &cache;
  const TilePages &pages;
  CacheType type;
  int64_t rows, buffers, threads, chunk;
  Part data;
  std::optional<Part> scales;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_STOREDTILE_H
