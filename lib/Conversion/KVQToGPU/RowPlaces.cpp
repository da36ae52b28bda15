//===- RowPlaces.cpp - Where the rows of an append go ---------------------===//

#include "RowPlaces.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

BlockTable::BlockTable(KernelLaunch &kernel, Value blockTable, int64_t pageSize)
    : kernel(&kernel), pageSize(pageSize),
      table(kernel, "block_table", blockTable, Access::Read) {
  // Declared where it dominates every use.
  (void)table.size(0);
  (void)table.size(1);
}

I64 BlockTable::capacity() const {
  return table.size(1).value.extend() * pageSize;
}

I32 BlockTable::loadPage(I32 sequence, I32 position, I32 pages) const {
  KernelBuilder &b = kernel->body();
  I32 column = position / pageSize;
  I32 page = b.loadI32(table.element({sequence, column}));
  I64 entry =
      sequence.extend() * table.size(1).value.extend() + column.extend();
  Pred good = b.checkRange(KVQ_RUNTIME_BLOCK_TABLE_PAGE, entry, page.extend(),
                           pages.extend());
  return good.select(page, b.i32(-1));
}

void BlockTable::whenPage(I32 sequence, I32 position, I32 pages,
                          function_ref<void(I32 page)> body) const {
  I32 page = loadPage(sequence, position, pages);
  kernel->body().when(page >= 0, [&] { body(page); });
}

RowPlaces::RowPlaces(KernelLaunch &kernel, PagedBatchOpInterface op,
                     CacheType type)
    : kernel(&kernel), pageSize(type.getPageSize()) {
  auto declare = [&](std::optional<Array> &array, StringRef name, Value value) {
    if (value)
      array.emplace(kernel, name, value, Access::Read);
  };
  declare(slots, "slot_mapping", op.getSlotMapping());
  declare(positions, "positions", op.getPositions());
  declare(batchIndices, "batch_indices", op.getBatchIndices());
  if (Value table = op.getBlockTable())
    blockTable.emplace(kernel, table, pageSize);
}

void RowPlaces::whenPlaced(I32 row, I32 pages,
                           function_ref<void(I32 page, I32 token)> body) const {
  choosePlaced(row, pages, {}, [&](I32 page, I32 token) {
    body(page, token);
    return Values();
  });
}

Values
RowPlaces::choosePlaced(I32 row, I32 pages, ValueRange others,
                        function_ref<Values(I32 page, I32 token)> body) const {
  KernelBuilder &b = kernel->body();
  if (slots) {
    I64 slot = b.loadIndex(slots->element(row),
                           slots->getType().getElementTypeBitWidth());
    return chooseOr(b, slot >= 0, others, [&] {
      I64 limit = pages.extend() * pageSize;
      Pred good = b.checkRange(KVQ_RUNTIME_SLOT, row.extend(), slot, limit);
      return chooseOr(b, good, others, [&] {
        return body((slot / pageSize).truncate(), (slot % pageSize).truncate());
      });
    });
  }
  I32 position = b.loadI32(positions->element(row));
  return chooseOr(b, position >= 0, others, [&] {
    I32 sequence = batchIndices ? b.loadI32(batchIndices->element(row)) : row;
    I64 index = row.extend();
    Pred good = b.checkRange(KVQ_RUNTIME_BATCH_INDEX, index, sequence.extend(),
                             blockTable->sequences().value.extend()) &
                b.checkRange(KVQ_RUNTIME_POSITION, index, position.extend(),
                             blockTable->capacity());
    return chooseOr(b, good, others, [&] {
      I32 page = blockTable->loadPage(sequence, position, pages);
      return chooseOr(b, page >= 0, others,
                      [&] { return body(page, position % pageSize); });
    });
  });
}
