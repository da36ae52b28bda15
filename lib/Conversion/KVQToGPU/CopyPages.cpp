//===- CopyPages.cpp - The kernel of kvq.copy_pages -----------------------===//
//
// The x dimension of the grid is the list of pages, the y dimension cuts the
// rows of a page, data first, into pieces of 16 bytes, one for each thread.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "CachePointers.h"
#include "Kernels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

namespace {

/// The data or the scales of two pages, as rows.
struct Part {
  FloatType element;
  int64_t rows1, rows2, columns;
  /// Elements of a piece and pieces of a page.
  int64_t chunk, pieces;

  Part(FloatType element, ArrayRef<int64_t> shape, int64_t bytes)
      : element(element), rows1(shape[1]), rows2(shape[2]), columns(shape[3]),
        chunk(bytes * 8 / element.getWidth()) {
    pieces = rows1 * rows2 * llvm::divideCeil(columns, chunk);
  }
};

} // namespace

/// Copies piece number `piece` from one page to another, given their
/// addresses.
static void copyPiece(KernelBuilder &b, const Part &part, I32 piece, Ptr from,
                      Ptr to, Pred isAligned,
                      function_ref<I64(bool isTo, int64_t dimension)> stride) {
  int64_t perRow = llvm::divideCeil(part.columns, part.chunk);
  I32 column = (piece % perRow) * part.chunk;
  I32 row2 = (piece / perRow) % part.rows2;
  I32 row1 = piece / (perRow * part.rows2);
  auto getRow = [&](Ptr page, bool isTo) {
    Row row;
    row.base = page + (row1.extend() * stride(isTo, 1) +
                       row2.extend() * stride(isTo, 2));
    row.element = part.element;
    row.isAligned = isAligned;
    if (part.columns % part.chunk != 0)
      row.size = b.i32(part.columns);
    return row;
  };
  storeElements(b, loadElements(b, getRow(from, false), column, part.chunk),
                getRow(to, true), column);
}

void kvq::kernel::emitKernel(CopyPagesOp op, OpBuilder &host,
                             KernelTarget target) {
  CacheType type = op.getSource().getType();
  KernelLaunch kernel(host, target.module, target.chip, op,
                      "copy_pages_" + getName(type));
  KernelBuilder &b = kernel.body();
  FloatType element = type.getFormat().getElementType();
  Part data(element, type.getDataShape(), 16);
  CachePointers source(kernel, host, "source_", op.getSource(), Access::Read,
                       data.chunk);
  CachePointers dest(kernel, host, "dest_", op.getDest(), Access::Write,
                     data.chunk);
  Array sourcePages(kernel, "src_pages", op.getSrcPages(), Access::Read);
  Array destPages(kernel, "dst_pages", op.getDstPages(), Access::Read);
  std::optional<Part> scales;
  Pred areScalesAligned;
  if (type.getFormat().hasBlockScale()) {
    scales.emplace(type.getFormat().getScaleType(), type.getScalesShape(), 4);
    SmallVector<I64> addresses{source.scales().address(),
                               dest.scales().address()};
    for (int64_t dimension = 0; dimension < 3; ++dimension)
      addresses.append(
          {source.scalesStride(dimension), dest.scalesStride(dimension)});
    areScalesAligned = b.areMultiples(addresses, 4);
  }

  int64_t pieces = data.pieces + (scales ? scales->pieces : 0);
  I32 entry = b.block();
  I32 piece = b.block(gpu::Dimension::y) * 256 + b.thread();
  Size entries = sourcePages.size(0);
  // An empty list launches a block as well.
  b.when(entry < entries.value, [&] {
    I64 from = b.loadI32(sourcePages.element(entry)).extend();
    I64 to = b.loadI32(destPages.element(entry)).extend();
    Pred good = b.checkRange(KVQ_RUNTIME_PAGE, entry.extend(), from,
                             source.pages().extend()) &
                b.checkRange(KVQ_RUNTIME_PAGE, entry.extend(), to,
                             dest.pages().extend());
    if (type.getFormat().getHasGlobalScale() &&
        op.getSource() != op.getDest()) {
      I64 ours = source.loadGlobalScale().bits().extendUnsigned();
      I64 theirs = dest.loadGlobalScale().bits().extendUnsigned();
      Pred isSame = ours == theirs;
      b.when(isSame.negate(), [&] {
        b.fail(KVQ_RUNTIME_GLOBAL_SCALES_DIFFER, b.i64(0), ours, theirs);
      });
      good = good & isSame;
    }
    b.when(good & (piece < pieces), [&] {
      auto copyData = [&] {
        copyPiece(b, data, piece, source.data() + from * source.dataStride(0),
                  dest.data() + to * dest.dataStride(0),
                  source.areRowsAligned() & dest.areRowsAligned(),
                  [&](bool isTo, int64_t dimension) {
                    return (isTo ? dest : source).dataStride(dimension);
                  });
      };
      if (!scales)
        return copyData();
      b.when(piece < data.pieces, copyData, [&] {
        copyPiece(b, *scales, piece - data.pieces,
                  source.scales() + from * source.scalesStride(0),
                  dest.scales() + to * dest.scalesStride(0), areScalesAligned,
                  [&](bool isTo, int64_t dimension) {
                    return (isTo ? dest : source).scalesStride(dimension);
                  });
      });
    });
  });
  kernel.launch(256, entries.formula,
                kernel.constant(llvm::divideCeil(pieces, int64_t(256))));
}
