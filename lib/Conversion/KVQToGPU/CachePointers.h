//===- CachePointers.h - A cache's parts inside a kernel ------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_CACHEPOINTERS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_CACHEPOINTERS_H

#include "Elements.h"
#include "KernelLaunch.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"

namespace kvq::kernel {

/// The parts of a handle as parameters of a kernel: `PREFIXdata`,
/// `PREFIXscales`, `PREFIXglobal_scale` with the strides of the pages, rows
/// and heads. Pages, tokens and heads are those of the type, whatever its
/// kv_layout. To be made at the top of a kernel.
class CachePointers {
public:
  /// Rows will be accessed in chunks of `chunk` elements.
  CachePointers(KernelLaunch &kernel, mlir::OpBuilder &host,
                llvm::StringRef prefix, mlir::TypedValue<CacheType> cache,
                Access access, int64_t chunk);

  CacheType getType() const { return type; }
  KVFormatInterface getFormat() const { return type.getFormat(); }

  /// The number of pages.
  I32 pages() const { return numPages.value; }
  Size pagesSize() const { return numPages; }

  /// The global scale, empty for a format without one. Loaded at the call.
  F32 loadGlobalScale() const;

  /// The elements of a token and head.
  Row row(I32 page, I32 token, I32 head) const;

  /// The addresses of data and scales and the distances in bytes of their
  /// dimensions but the innermost, as the parts lie in memory.
  Ptr data() const { return dataPointer; }
  Ptr scales() const { return scalesPointer; }
  I64 dataStride(int64_t dimension) const { return dataStrides[dimension]; }
  I64 scalesStride(int64_t dimension) const { return scalesStrides[dimension]; }

  /// Whether chunks of all rows lie at multiples of their access width.
  Pred areRowsAligned() const { return isAligned; }
  /// The same for chunks of `count` elements.
  Pred areRowsAligned(int64_t count) const;

  /// The address of the scale at (`row`, `column`) of the scale matrix of a
  /// page and head, as the scale layout places it. With blocks along head_dim
  /// the row is the token.
  Ptr scale(I32 page, I32 head, I32 row, I32 column) const;

  /// The address of the first scale of a row of the scales of a page and head,
  /// as they lie in memory.
  Ptr scalesRow(I32 page, I32 head, I32 row) const;

  /// The scales of a token and head as a row that is accessed in chunks of
  /// `chunk`. Only in the linear layout with blocks along head_dim.
  Row scaleRow(I32 page, I32 token, I32 head, int64_t chunk) const;

  /// The address of the scale of an element. Only with block scales.
  Ptr scaleOfElement(I32 page, I32 token, I32 head, I32 d) const;

private:
  KernelLaunch *kernel;
  CacheType type;
  Size numPages;
  Ptr dataPointer, scalesPointer, globalScale;
  /// By dimension of the parts; the innermost is not there.
  llvm::SmallVector<I64, 3> dataStrides, scalesStrides;
  int64_t chunk;
  Pred isAligned;
};

/// Emits where `layout` keeps the scale at (row, column) of a matrix of
/// `columns` columns: its row and column in the buffer.
std::pair<I32, I32> getScalePosition(KernelBuilder &b, ScaleLayout layout,
                                     I32 row, I32 column, I32 columns);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_CACHEPOINTERS_H
