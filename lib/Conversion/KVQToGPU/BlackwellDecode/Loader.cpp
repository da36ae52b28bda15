//===- Loader.cpp - Copies cached rows to shared memory -------------------===//
//
// One warp copies the tiles of K and V, bytes and block scales as they are
// stored, with asynchronous copies. A lane copies the same 16 bytes of rows
// that follow each other, so that it needs one page, or two if pages are small.
//
// Tokens outside of the block's range are not read and become zeros.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Copies of tiles that are in flight while the next tile's are issued.
static constexpr int64_t kTilesInFlight = 2;

/// The rows that a lane copies of a side: `length` of the tile, from row
/// `begin` on. They are on `pages.size()` pages, in turn, of which the first
/// is entered at token `entry`.
struct DecodeKernel::LanePages {
  int64_t length;
  /// The lane's piece of the rows' 16-byte pieces.
  I32 piece;
  /// The row of the tile, and the position of tile row 0.
  I32 begin, first;
  /// -1 where no page is to be read.
  SmallVector<I32> pages;
  I32 entry;

  int64_t rowsOfPage() const { return length / int64_t(pages.size()); }
};

DecodeKernel::LanePages
DecodeKernel::findPages(Work work, const PackedRows &side, I32 first) {
  LanePages found;
  int64_t pageSize = k.getType().getPageSize();
  found.length = kTileTokens * side.pieces() / 32;
  found.piece = b.lane() % side.pieces();
  found.begin = (b.lane() / side.pieces()) * found.length;
  found.first = first;
  found.entry = (first + found.begin) % pageSize;
  int64_t rows = std::min(found.length, pageSize);
  for (int64_t at = 0; at < found.length; at += rows) {
    I32 position = first + found.begin + at;
    Pred isRead =
        (position < work.tokens.end) & (position + rows > work.tokens.begin);
    auto load = [&]() -> SmallVector<Value> {
      // The first token of the page may be before the range.
      return {blockTable.loadPage(work.rows.sequence, position, k.pages())};
    };
    auto none = [&]() -> SmallVector<Value> { return {b.i32(-1)}; };
    found.pages.push_back(
        {b, b.choose(isRead, b.getI32Type(), load, none).front()});
  }
  return found;
}

/// Copies `bytes` (4 or 16) asynchronously, or zeros where `isRead` is false;
/// one that is empty is true.
static void copyAsync(KernelBuilder &b, Ptr to, Ptr from, int64_t bytes,
                      Pred isRead) {
  I32 size;
  if (isRead)
    size = isRead.select(b.i32(bytes), b.i32(0));
  NVVM::CpAsyncOp::create(b, Value(to), Value(from), bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          Value(size));
}

/// The same for addresses of any alignment.
static void copyBytes(KernelBuilder &b, Ptr to, Ptr from, int64_t bytes,
                      Pred isRead) {
  b.loop(b.i32(0), b.i32(bytes), 1, [&](I32 i) {
    auto load = [&]() -> SmallVector<Value> {
      return {b.load(from + i, b.getI8Type())};
    };
    auto none = [&]() -> SmallVector<Value> {
      return {arith::ConstantOp::create(b, b.getI8IntegerAttr(0))};
    };
    b.store(b.choose(isRead, b.getI8Type(), load, none).front(), to + i);
  });
}

Pred DecodeKernel::areCopiesAligned(const CachePointers &cache) {
  SmallVector<I64> data{cache.data().address()},
      scales{cache.scales().address()};
  for (int64_t dimension = 0; dimension < 3; ++dimension) {
    data.push_back(cache.dataStride(dimension));
    scales.push_back(cache.scalesStride(dimension));
  }
  return b.areMultiples(data, 16) & b.areMultiples(scales, 4);
}

void DecodeKernel::loadData(const CachePointers &cache, const PackedRows &side,
                            const LanePages &pages, TokenRange tokens, Ptr to,
                            CopyMode mode) {
  int64_t line = side.rowsOfLine();
  I64 stride = cache.dataStride(cache.getType().getTokenDim());
  // Lanes of neighbouring rows of lanes take the rows of a line in different
  // orders: they then write to different banks.
  I32 turn = (b.lane() / side.pieces()) % line;
  for (auto [number, page] : llvm::enumerate(pages.pages)) {
    Ptr from =
        cache.row(page.max(0), pages.entry, b.block(gpu::Dimension::y)).base +
        (pages.piece * 16);
    auto copyRow = [&](I32 row) {
      row = row ^ turn;
      I32 inTile = pages.begin + (row + int64_t(number) * pages.rowsOfPage());
      I32 piece = pages.piece ^ ((inTile / line) % side.pieces());
      Ptr at = to + (inTile * side.rowBytes() + piece * 16);
      Ptr source = from + row.extend() * stride;
      if (mode == CopyMode::Whole)
        return copyAsync(b, at, source, 16, Pred());
      I32 position = pages.first + inTile;
      Pred isRead =
          (page >= 0) & (position >= tokens.begin) & (position < tokens.end);
      if (mode == CopyMode::Partial)
        return copyAsync(b, at, source, 16, isRead);
      copyBytes(b, at, source, 16, isRead);
    };
    if (mode == CopyMode::Unaligned)
      b.loop(b.i32(0), b.i32(pages.rowsOfPage()), 1, copyRow);
    else
      for (int64_t row = 0; row < pages.rowsOfPage(); ++row)
        copyRow(b.i32(row));
  }
}

/// Copies the block scales of a side, a word of four at a time, `isBlocked` in
/// the order of the tensor cores or as they are stored.
void DecodeKernel::loadScales(const CachePointers &cache,
                              const PackedRows &side, const LanePages &pages,
                              TokenRange tokens, Ptr to, bool isBlocked,
                              CopyMode mode) {
  // Two lanes of a row of lanes share each word.
  int64_t words = side.scales() / 4;
  I32 word = pages.piece % words, half = pages.piece / words;
  I64 stride = cache.scalesStride(cache.getType().getTokenDim());
  bool isInterleaved =
      cache.getType().getScaleLayout() == ScaleLayout::Interleaved4;
  int64_t rows = std::min(pages.length / 2, pages.rowsOfPage());
  for (int64_t first = 0; first < pages.length; first += 2 * rows) {
    // The halves of a single page, or every other page.
    I32 row0 = half * rows + first;
    I32 page = pages.pages.front();
    I32 entry = pages.entry + half * rows;
    if (pages.pages.size() > 1) {
      size_t even = first / pages.rowsOfPage();
      page = (half == 0).select(pages.pages[even], pages.pages[even + 1]);
      entry = pages.entry;
    }
    Ptr from = cache.scales() +
               (page.max(0).extend() * cache.scalesStride(0) +
                entry.extend() * stride +
                b.block(gpu::Dimension::y).extend() *
                    cache.scalesStride(cache.getType().getHeadDimIndex())) +
               (word * 4);
    auto copyRow = [&](I32 row) {
      I32 inTile = pages.begin + (row0 + row);
      I32 at = isBlocked ? word * 512 + (inTile % 32) * 16 + (inTile / 32) * 4
                         : inTile * side.scales() + word * 4;
      Ptr source = from + row.extend() * stride;
      if (mode == CopyMode::Whole)
        return copyAsync(b, to + at, source, 4, Pred());
      // Four tokens share their interleaved bytes.
      I32 least = pages.first + inTile, largest = least;
      if (isInterleaved) {
        least = least & ~int64_t(3);
        largest = least + 3;
      }
      Pred isRead =
          (page >= 0) & (largest >= tokens.begin) & (least < tokens.end);
      if (mode == CopyMode::Partial)
        return copyAsync(b, to + at, source, 4, isRead);
      copyBytes(b, to + at, source, 4, isRead);
    };
    if (mode == CopyMode::Unaligned)
      b.loop(b.i32(0), b.i32(rows), 1, copyRow);
    else
      for (int64_t row = 0; row < rows; ++row)
        copyRow(b.i32(row));
  }
}

void DecodeKernel::loadTile(Work work, I32 tile) {
  I32 first = work.first + tile * kTileTokens;
  LanePages keyPages = findPages(work, plan.k, first);
  LanePages valuePages = plan.v.headDim == plan.k.headDim
                             ? keyPages
                             : findPages(work, plan.v, first);
  Ptr to = stage(tile);
  auto load = [&](CopyMode mode) {
    loadData(k, plan.k, keyPages, work.tokens, to + plan.shared.k, mode);
    loadScales(k, plan.k, keyPages, work.tokens, to + plan.shared.kScales,
               /*isBlocked=*/true, mode);
    loadData(v, plan.v, valuePages, work.tokens, to + plan.shared.v, mode);
    loadScales(v, plan.v, valuePages, work.tokens, to + plan.shared.vScales,
               /*isBlocked=*/false, mode);
  };
  Pred isWhole =
      (first >= work.tokens.begin) & (first + kTileTokens <= work.tokens.end);
  for (I32 page : llvm::concat<I32>(keyPages.pages, valuePages.pages))
    isWhole = isWhole & (page >= 0);
  isWhole = {b,
             NVVM::VoteSyncOp::create(b, b.getI1Type(), Value(b.i32(-1)),
                                      Value(isWhole), NVVM::VoteSyncKind::all)};
  b.when(
      areCopiesAligned(k) & areCopiesAligned(v),
      [&] {
        b.when(
            isWhole, [&] { load(CopyMode::Whole); },
            [&] { load(CopyMode::Partial); });
      },
      [&] { load(CopyMode::Unaligned); });
}

void DecodeKernel::loadTiles(Work work) {
  // A thread says that a tile is there when its copies are done, which it waits
  // for only when it has issued those of later tiles.
  auto arrive = [&](I32 tile) {
    fenceForAsyncProxy(b);
    filled.arrive(tile);
  };
  b.loop(b.i32(0), work.count, 1, [&](I32 tile) {
    consumed.waitBefore(tile);
    loadTile(work, tile);
    b.commitCopies();
    b.when(tile >= kTilesInFlight, [&] {
      b.waitCopies(kTilesInFlight);
      arrive(tile - kTilesInFlight);
    });
  });
  b.waitCopies(0);
  b.loop((work.count - kTilesInFlight).max(0), work.count, 1, arrive);
}
