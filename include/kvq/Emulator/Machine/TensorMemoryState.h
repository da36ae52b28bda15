//===- TensorMemoryState.h - The tensor memory of a CTA ---------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_TENSORMEMORYSTATE_H
#define KVQ_EMULATOR_MACHINE_TENSORMEMORYSTATE_H

#include "kvq/Emulator/TensorCore/TensorMemory.h"
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kvq::emu {

class Warp;
struct Op;

/// 128 lanes of 512 cells, handed out in columns.
class TensorMemoryState {
public:
  static constexpr unsigned unit = 32;
  static constexpr unsigned units = tc::tmemColumns / unit;

  /// The first of `columns` free columns (a multiple of 32), now allocated; -1
  /// if there is no such run.
  int allocate(unsigned columns, const Op *op);
  /// The same in the two CTAs of a pair: the columns are free in both.
  static int allocatePair(TensorMemoryState &first, TensorMemoryState &second,
                          unsigned columns, const Op *op);
  /// False if no allocation of this size begins there.
  bool release(unsigned column, unsigned columns);
  bool isAllocated(unsigned column) const {
    return column < tc::tmemColumns && owner[column / unit] != 0;
  }
  /// The instruction that made an allocation which still exists, or null.
  const Op *leaked() const;

  uint32_t read(unsigned lane, unsigned column) const {
    return cells[lane * tc::tmemColumns + column];
  }
  bool isWritten(unsigned lane, unsigned column) const {
    return written[lane * tc::tmemColumns + column];
  }
  void write(unsigned lane, unsigned column, uint32_t value) {
    cells[lane * tc::tmemColumns + column] = value;
    written[lane * tc::tmemColumns + column] = 1;
  }

  /// The same of `count` cells side by side in a lane.
  bool areAllocated(unsigned lane, unsigned column, unsigned count) const {
    if (lane >= tc::tmemLanes || column + count > tc::tmemColumns)
      return false;
    for (unsigned at = column / unit; at * unit < column + count; ++at)
      if (!owner[at])
        return false;
    return true;
  }
  bool areWritten(unsigned lane, unsigned column, unsigned count) const {
    return !memchr(&written[lane * tc::tmemColumns + column], 0, count);
  }
  const uint32_t *cellsAt(unsigned lane, unsigned column) const {
    return &cells[lane * tc::tmemColumns + column];
  }
  /// Cells that the caller writes, all of them.
  uint32_t *overwrite(unsigned lane, unsigned column, unsigned count) {
    memset(&written[lane * tc::tmemColumns + column], 1, count);
    return &cells[lane * tc::tmemColumns + column];
  }

  /// After relinquish_alloc_permit nothing can be allocated.
  bool relinquished = false;
  /// The cta_group of all tcgen05 instructions so far; 0 before the first.
  unsigned ctaGroup = 0;
  /// Columns of the last allocation: they may not grow.
  unsigned lastColumns = tc::tmemColumns;

  /// Of an allocation by a pair of CTAs: the columns that this one asks for
  /// while it waits for the other, and the first that it was given.
  unsigned pairWants = 0;
  int pairColumn = -1;

private:
  bool isFree(unsigned firstUnit, unsigned count) const;
  void take(unsigned firstUnit, unsigned count, const Op *op);

  /// Numbers of allocations, 0 where free.
  std::array<unsigned, units> owner{};
  struct Block {
    unsigned column, columns;
    const Op *op;
  };
  std::vector<Block> blocks;
  unsigned next = 0;
  std::vector<uint32_t> cells;
  std::vector<uint8_t> written;
};

/// Reports, fatally, an access to tensor memory that has no defined effect.
void reportTensorMisuse(Warp &warp, const Op &op, unsigned lane,
                        uint64_t address, const llvm::Twine &message);

/// Whether the column of an address is a multiple of `columns`; reports it if
/// not. Such addresses assemble, and trap on hardware.
bool checkTensorColumn(Warp &warp, const Op &op, unsigned lane,
                       uint32_t address, unsigned columns, const char *what);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_TENSORMEMORYSTATE_H
