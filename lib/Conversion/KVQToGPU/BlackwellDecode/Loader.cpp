//===- Loader.cpp - Copies cached rows to shared memory -------------------===//
//
// One warp copies the tiles of K and V, bytes and block scales as they are
// stored, with asynchronous copies. A lane copies the same 16 bytes of rows
// that follow each other, so that it needs one page, or two if pages are small.
//
// Tokens outside of the block's range are not read and become zeros.
//
// The tensor cores want block scales in an order of their own, by words of four
// of a row. Copies put them there, except those that lie otherwise in memory:
// interleaved ones, and the pairs of rows that have two, of which words are
// copied. Those the lane orders when its copies are done.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Copies of tiles that are in flight while the next tile's are issued, to a
/// stage that none of them has.
static int64_t getTilesInFlight(const DecodePlan &plan) {
  return std::min<int64_t>(plan.stages - 1, 2);
}

/// The rows that a lane copies of a side: `length` of the tile, from row
/// `begin` on. They are on `pages.size()` pages, in turn, of which the first
/// is entered at token `entry`.
struct DecodeKernel::LanePages {
  int64_t length;
  I32 lane;
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
  // Of many pages the places of all rows would be kept.
  bool hasMany = found.length > 2 * pageSize;
  found.lane = hasMany ? b.computeAnew(b.lane()) : b.lane();
  found.piece = found.lane % side.pieces();
  found.begin = (found.lane / side.pieces()) * found.length;
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

/// Copies `bytes` (4, 8 or 16) asynchronously, or zeros where `isRead` is
/// false; one that is empty is true. With `size` only so many bytes are read,
/// and the others are zeros.
static void copyAsync(KernelBuilder &b, Ptr to, Ptr from, int64_t bytes,
                      Pred isRead, I32 size = I32()) {
  if (isRead)
    size = isRead.select(size ? size : b.i32(bytes), b.i32(0));
  NVVM::CpAsyncOp::create(b, Value(to), Value(from), bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          Value(size));
}

/// The same for addresses of any alignment.
static void copyBytes(KernelBuilder &b, Ptr to, Ptr from, int64_t bytes,
                      Pred isRead) {
  b.keptLoop(b.i32(0), b.i32(bytes), 1, [&](I32 i) {
    auto load = [&]() -> SmallVector<Value> {
      return {b.load(from + i, b.getI8Type())};
    };
    auto none = [&]() -> SmallVector<Value> {
      return {arith::ConstantOp::create(b, b.getI8IntegerAttr(0))};
    };
    b.store(b.choose(isRead, b.getI8Type(), load, none).front(), to + i);
  });
}

/// Emits `copy` for 0 to `count` - 1: once for each, or in a loop.
static void forEach(KernelBuilder &b, int64_t count, bool isLoop,
                    function_ref<void(I32)> copy) {
  if (isLoop)
    return b.keptLoop(b.i32(0), b.i32(count), 1, copy);
  for (int64_t i = 0; i < count; ++i)
    copy(b.i32(i));
}

/// Whether the copies of rows are a loop: of wide rows that are not dense the
/// distances of all would be in registers.
bool DecodeKernel::isCopyLoop(const PackedRows &side, CopyMode mode) {
  bool isWide = side.panels() > 1 || side.headDim > 128;
  return mode == CopyMode::Unaligned || (mode == CopyMode::Strided && isWide);
}

Pred DecodeKernel::areCopiesAligned(const CachePointers &cache,
                                    const PackedRows &side,
                                    int64_t scaleBytes) {
  SmallVector<I64> data{cache.data().address()};
  for (int64_t dimension = 0; dimension < 3; ++dimension)
    data.push_back(cache.dataStride(dimension));
  Pred isAligned = b.areMultiples(data, 16);
  if (!cache.getFormat().hasBlockScale())
    return isAligned;
  SmallVector<I64> scales{cache.scales().address(), cache.scalesStride(0)},
      rows{cache.scalesStride(1), cache.scalesStride(2)};
  if (side.hasScalePairs())
    isAligned = isAligned & b.areMultiples(rows, side.scales());
  else
    scales.append(rows);
  return isAligned & b.areMultiples(scales, scaleBytes);
}

/// The distance of neighbouring tokens of a cache without gaps, in rows.
static int64_t getDenseRows(CacheType type) {
  return type.getTokenDim() < type.getHeadDimIndex() ? type.getNumHeads() : 1;
}

Pred DecodeKernel::isDense(const CachePointers &cache, const PackedRows &side) {
  int64_t rows = getDenseRows(cache.getType());
  unsigned tokens = cache.getType().getTokenDim();
  Pred isDense = cache.dataStride(tokens) == rows * side.rowBytes();
  if (!side.scales())
    return isDense;
  return isDense & (cache.scalesStride(tokens) == rows * side.scales());
}

void DecodeKernel::loadData(const CachePointers &cache, const PackedRows &side,
                            const LanePages &pages, TokenRange tokens, Ptr to,
                            CopyMode mode) {
  // The addresses of the rows of two panels have room in registers.
  bool isLoop = side.panels() > (mode == CopyMode::Dense ? 2 : 1);
  forEach(b, side.panels(), isLoop, [&](I32 panel) {
    loadPanel(cache, side, pages, tokens, panel, to + panel * side.panelSize(),
              mode);
  });
}

void DecodeKernel::loadPanel(const CachePointers &cache, const PackedRows &side,
                             const LanePages &pages, TokenRange tokens,
                             I32 panel, Ptr to, CopyMode mode) {
  int64_t line = side.rowsOfLine();
  I64 stride = cache.dataStride(cache.getType().getTokenDim());
  if (mode == CopyMode::Dense)
    stride = b.i64(getDenseRows(cache.getType()) * side.rowBytes());
  // Lanes of neighbouring rows of lanes take the rows of a line in different
  // orders: they then write to different banks.
  I32 turn = (pages.lane / side.pieces()) % line;
  for (auto [number, page] : llvm::enumerate(pages.pages)) {
    Ptr from =
        cache.row(page.max(0), pages.entry, b.block(gpu::Dimension::y)).base +
        (pages.piece * 16 + panel * side.panelBytes());
    int64_t rows = pages.rowsOfPage();
    forEach(b, rows, isCopyLoop(side, mode), [&](I32 row) {
      // The lane's part of the addresses stands apart: what is constant becomes
      // the offset of the instruction. Pages begin where the swizzle does.
      I32 inLine = (row % line) ^ turn;
      I32 lineRow = row - row % line;
      I32 inTile = pages.begin + inLine + lineRow + int64_t(number) * rows;
      I32 piece = pages.piece ^ ((lineRow / line) % side.pieces());
      Ptr at = to + ((pages.begin + inLine) * side.panelBytes() + piece * 16) +
               (lineRow + int64_t(number) * rows) * side.panelBytes();
      Ptr source = from + inLine.extend() * stride + lineRow.extend() * stride;
      if (mode == CopyMode::Dense)
        return copyAsync(b, at, source, 16, Pred());
      I32 position = pages.first + inTile;
      Pred isRead =
          (page >= 0) & (position >= tokens.begin) & (position < tokens.end);
      if (mode == CopyMode::Strided)
        return copyAsync(b, at, source, 16, isRead);
      copyBytes(b, at, source, 16, isRead);
    });
  }
}

/// The address of the block scales of a page's token and of this head.
static Ptr getScales(KernelBuilder &b, const CachePointers &cache, I32 page,
                     I32 token) {
  CacheType type = cache.getType();
  return cache.scales() +
         (page.max(0).extend() * cache.scalesStride(0) +
          token.extend() * cache.scalesStride(type.getTokenDim()) +
          b.block(gpu::Dimension::y).extend() *
              cache.scalesStride(type.getHeadDimIndex()));
}

/// The bytes before the pair of block scales of a page's token in the word that
/// they lie in: pages are aligned to words and have an even number of tokens.
I32 DecodeKernel::findPair(const CachePointers &cache, I32 token) {
  CacheType type = cache.getType();
  I64 tokens = cache.scalesStride(type.getTokenDim());
  I64 heads = cache.scalesStride(type.getHeadDimIndex());
  return ((token & 1) * tokens.truncate() +
          b.block(gpu::Dimension::y) * heads.truncate()) &
         2;
}

/// Copies block scales into the order of the tensor cores, a word of four at a
/// time. Of pairs it is the word that they lie in, up to their end.
void DecodeKernel::loadScales(const CachePointers &cache,
                              const PackedRows &side, const LanePages &pages,
                              TokenRange tokens, Ptr to, CopyMode mode) {
  // Several lanes of a row of lanes share each word: a part of the rows each.
  int64_t words = side.scaleColumns() / 4, parts = side.pieces() / words;
  I32 word = pages.piece % words, part = pages.piece / words;
  I64 stride = cache.scalesStride(cache.getType().getTokenDim());
  if (mode == CopyMode::Dense)
    stride = b.i64(getDenseRows(cache.getType()) * side.scales());
  int64_t rows = std::min(pages.length / parts, pages.rowsOfPage());
  for (int64_t first = 0; first < pages.length; first += parts * rows) {
    // Parts of pages, or pages in turn.
    I32 firstRow = part * rows + first;
    auto pageOf = [&](int64_t part) {
      return pages.pages[(first + part * rows) / pages.rowsOfPage()];
    };
    I32 page = pageOf(0);
    for (int64_t i = 1; i < parts && pages.pages.size() > 1; ++i)
      page = (part == i).select(pageOf(i), page);
    I32 entry = pages.entry + (part * rows) % pages.rowsOfPage();
    Ptr from = getScales(b, cache, page, entry) + word * 4;
    // Lanes that copy the same rows, or those 8 apart, would meet in a bank.
    I32 turn = (pages.lane / (rows < 8 ? 2 : 1)) % 4;
    forEach(b, rows, isCopyLoop(side, mode), [&](I32 row) {
      I32 inFour = (row % 4) ^ turn;
      I32 fourRow = row - row % 4;
      I32 lanePart = pages.begin + firstRow + inFour;
      I32 inTile = lanePart + fourRow;
      Ptr at = to + (word * 512 + (lanePart % 32) * 16 + (inTile / 32) * 4) +
               fourRow * 16;
      Ptr source = from + inFour.extend() * stride + fourRow.extend() * stride;
      I32 before, size;
      if (side.hasScalePairs()) {
        before = findPair(cache, inFour);
        size = before + side.scales();
      }
      if (before && mode != CopyMode::Unaligned)
        source = source + before * -1;
      if (mode == CopyMode::Dense)
        return copyAsync(b, at, source, 4, Pred(), size);
      I32 position = pages.first + inTile;
      Pred isRead =
          (page >= 0) & (position >= tokens.begin) & (position < tokens.end);
      if (mode == CopyMode::Strided)
        return copyAsync(b, at, source, 4, isRead, size);
      if (!before)
        return copyBytes(b, at, source, 4, isRead);
      b.storeBits(b.i32(0), at, 32);
      copyBytes(b, at + before, source, side.scales(), isRead);
    });
  }
}

/// Moves the pairs of block scales that this lane has copied to the beginning
/// of their words.
void DecodeKernel::orderPairs(const CachePointers &cache, Ptr scales) {
  // As they were copied, see loadScales.
  I32 turn = (b.lane() / 2) % 4;
  SmallVector<Ptr> places;
  SmallVector<I32> words;
  for (int64_t row = 0; row < 4; ++row) {
    I32 token = b.lane() * 4 + (turn ^ row);
    places.push_back(scales + ((token % 32) * 16 + (token / 32) * 4));
    I32 selector = findPair(cache, token) * 0x11 + 0x4410;
    words.push_back(
        {b, NVVM::PermuteOp::create(
                b, b.getI32Type(), Value(b.loadI32(places.back())),
                Value(b.i32(0)), Value(selector), NVVM::PermuteMode::DEFAULT)});
  }
  for (auto [word, place] : llvm::zip_equal(words, places))
    b.storeBits(word, place, 32);
}

/// Copies interleaved block scales of V as they are stored. A lane has those of
/// four tokens.
void DecodeKernel::loadQuads(const LanePages &pages, TokenRange tokens, Ptr to,
                             CopyMode mode) {
  int64_t bytes = plan.v.scales();
  I64 stride = v.scalesStride(v.getType().getTokenDim());
  if (mode == CopyMode::Dense)
    stride = b.i64(getDenseRows(v.getType()) * bytes);
  I32 firstRow = pages.piece * 4;
  I32 page = pages.pages.front();
  for (size_t i = 1; i < pages.pages.size(); ++i)
    page = (firstRow >= int64_t(i) * pages.rowsOfPage())
               .select(pages.pages[i], page);
  Ptr from = getScales(b, v, page, pages.entry + firstRow % pages.rowsOfPage());
  I32 first = pages.first + pages.begin + firstRow;
  Pred isRead =
      (page >= 0) & (first + 3 >= tokens.begin) & (first < tokens.end);
  forEach(b, 4, mode == CopyMode::Unaligned, [&](I32 row) {
    Ptr at = to + (b.lane() * 4 + row) * bytes;
    Ptr source = from + row.extend() * stride;
    if (mode == CopyMode::Unaligned)
      return copyBytes(b, at, source, bytes, isRead);
    copyAsync(b, at, source, bytes, mode == CopyMode::Dense ? Pred() : isRead);
  });
}

/// Brings interleaved block scales of V, whose copies by this lane are done,
/// into the order of the tensor cores.
void DecodeKernel::orderQuads(Work work, I32 tile) {
  Ptr from =
      stage(tile) + (b.lane() * (4 * plan.v.scales()) + plan.shared.vQuads);
  Ptr to = stage(tile) +
           ((b.lane() % 8) * 64 + (b.lane() / 8) * 4 + plan.shared.vScales);
  auto join = [&](I32 low, I32 high, int64_t selector) -> I32 {
    return {b, NVVM::PermuteOp::create(b, b.getI32Type(), low, high,
                                       b.i32(selector),
                                       NVVM::PermuteMode::DEFAULT)};
  };
  // Of tokens outside of the range, which share words with others, bytes may be
  // NaN.
  I32 first = work.first + tile * kTileTokens + b.lane() * 4;
  auto isThere = [&](int64_t token) {
    I32 position = first + token;
    return (position >= work.tokens.begin) & (position < work.tokens.end);
  };
  for (int64_t block = 0; block < plan.v.scales(); block += 4) {
    SmallVector<I32> blocks = b.loadWords(from + block * 4, 4);
    // Words of two tokens and two blocks, then of four blocks of a token.
    I32 low[2], high[2];
    for (int64_t i = 0; i < 2; ++i) {
      low[i] = join(blocks[2 * i], blocks[2 * i + 1], 0x5140);
      high[i] = join(blocks[2 * i], blocks[2 * i + 1], 0x7362);
    }
    for (int64_t token = 0; token < 4; ++token) {
      const I32 *pair = token < 2 ? low : high;
      I32 word = join(pair[0], pair[1], token % 2 ? 0x7632 : 0x5410);
      word = isThere(token).select(word, b.i32(0));
      b.storeBits(word, to + (block * kTileTokens + token * 16), 32);
    }
  }
}

void DecodeKernel::loadTile(Work work, I32 tile) {
  I32 first = work.first + tile * kTileTokens;
  LanePages keyPages = findPages(work, plan.k, first);
  LanePages valuePages = plan.v.pieces() == plan.k.pieces()
                             ? keyPages
                             : findPages(work, plan.v, first);
  Ptr to = stage(tile);
  auto load = [&](CopyMode mode) {
    loadData(k, plan.k, keyPages, work.tokens, to + plan.shared.k, mode);
    if (plan.k.scales())
      loadScales(k, plan.k, keyPages, work.tokens, to + plan.shared.kScales,
                 mode);
    loadData(v, plan.v, valuePages, work.tokens, to + plan.shared.v, mode);
    if (plan.hasQuads)
      loadQuads(valuePages, work.tokens, to + plan.shared.vQuads, mode);
    else if (plan.v.scales())
      loadScales(v, plan.v, valuePages, work.tokens, to + plan.shared.vScales,
                 mode);
  };
  Pred isAligned =
      areCopiesAligned(k, plan.k, 4) &
      areCopiesAligned(v, plan.v, plan.hasQuads ? plan.v.scales() : 4);
  Pred isWhole =
      (first >= work.tokens.begin) & (first + kTileTokens <= work.tokens.end);
  for (I32 page : llvm::concat<I32>(keyPages.pages, valuePages.pages))
    isWhole = isWhole & (page >= 0);
  Pred isPlain = isWhole & isAligned & isDense(k, plan.k) & isDense(v, plan.v);
  isPlain = {b,
             NVVM::VoteSyncOp::create(b, b.getI1Type(), Value(b.i32(-1)),
                                      Value(isPlain), NVVM::VoteSyncKind::all)};
  b.when(
      isPlain, [&] { load(CopyMode::Dense); },
      [&] {
        b.when(
            isAligned, [&] { load(CopyMode::Strided); },
            [&] { load(CopyMode::Unaligned); });
      });
}

void DecodeKernel::loadTiles(Work work) {
  int64_t tilesInFlight = getTilesInFlight(plan);
  // A thread says that a tile is there when its copies are done, which it waits
  // for only when it has issued those of later tiles.
  auto arrive = [&](I32 tile) {
    if (plan.hasQuads)
      orderQuads(work, tile);
    if (plan.k.hasScalePairs())
      orderPairs(k, stage(tile) + plan.shared.kScales);
    if (plan.v.hasScalePairs())
      orderPairs(v, stage(tile) + plan.shared.vScales);
    fenceForAsyncProxy(b);
    filled.arrive(tile);
  };
  b.loop(b.i32(0), work.count, 1, [&](I32 tile) {
    consumed.waitBefore(tile);
    loadTile(work, tile);
    b.commitCopies();
    b.when(tile >= tilesInFlight, [&] {
      b.waitCopies(tilesInFlight);
      arrive(tile - tilesInFlight);
    });
  });
  b.waitCopies(0);
  b.loop((work.count - tilesInFlight).max(0), work.count, 1, arrive);
}
