//===- RowPlaces.h - Where the rows of an append go -----------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_ROWPLACES_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_ROWPLACES_H

#include "Arrays.h"
#include "CachePointers.h"

namespace kvq::kernel {

/// The page that a block table lists for a token of a sequence.
class BlockTable {
public:
  /// Declares the parameter `block_table`.
  BlockTable(KernelLaunch &kernel, mlir::Value blockTable, int64_t pageSize);

  Size sequences() const { return table.size(0); }

  /// The tokens that a row of the table can address.
  I64 capacity() const;

  /// Emits `body` with the page of token `position` of a sequence, if it is one
  /// of the `pages` of a cache; records an error otherwise.
  void whenPage(I32 sequence, I32 position, I32 pages,
                llvm::function_ref<void(I32 page)> body) const;

  /// Loads the page of token `position` of a sequence; records an error and
  /// returns -1 if it is none of the `pages` of a cache.
  I32 loadPage(I32 sequence, I32 position, I32 pages) const;

private:
  KernelLaunch *kernel;
  int64_t pageSize;
  Array table;
};

/// Where each row of an append goes.
class RowPlaces {
public:
  /// Declares the parameters of the tables that are there: `slot_mapping`, or
  /// `positions`, `block_table` and perhaps `batch_indices`.
  RowPlaces(KernelLaunch &kernel, PagedBatchOpInterface op, CacheType type);

  /// Emits `body` with the place of a row, unless the row is padding. A place
  /// outside of the cache is recorded as an error and skipped.
  void whenPlaced(I32 row, I32 pages,
                  llvm::function_ref<void(I32 page, I32 token)> body) const;

  /// The same with values that the body returns; `others` where it is skipped.
  Values
  choosePlaced(I32 row, I32 pages, mlir::ValueRange others,
               llvm::function_ref<Values(I32 page, I32 token)> body) const;

private:
  KernelLaunch *kernel;
  int64_t pageSize;
  std::optional<Array> slots, positions, batchIndices;
  std::optional<BlockTable> blockTable;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_ROWPLACES_H
