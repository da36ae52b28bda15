//===- TensorMemoryState.cpp - The tensor memory of a CTA -----------------===//

#include "kvq/Emulator/Machine/TensorMemoryState.h"
#include <algorithm>

using namespace kvq::emu;

bool TensorMemoryState::isFree(unsigned firstUnit, unsigned count) const {
  return std::all_of(owner.begin() + firstUnit,
                     owner.begin() + firstUnit + count,
                     [](unsigned number) { return number == 0; });
}

void TensorMemoryState::take(unsigned firstUnit, unsigned count, const Op *op) {
  ++next;
  std::fill_n(owner.begin() + firstUnit, count, next);
  blocks.push_back({firstUnit * unit, count * unit, op});
  if (cells.empty()) {
    cells.resize(tc::tmemLanes * tc::tmemColumns, 0x5a5a5a5a);
    written.resize(cells.size());
  }
  for (unsigned lane = 0; lane < tc::tmemLanes; ++lane)
    std::fill_n(written.begin() + lane * tc::tmemColumns + firstUnit * unit,
                count * unit, 0);
}

int TensorMemoryState::allocate(unsigned columns, const Op *op) {
  return allocatePair(*this, *this, columns, op);
}

int TensorMemoryState::allocatePair(TensorMemoryState &first,
                                    TensorMemoryState &second, unsigned columns,
                                    const Op *op) {
  unsigned count = columns / unit;
  for (unsigned at = 0; at + count <= units; at += count) {
    if (!first.isFree(at, count) || !second.isFree(at, count))
      continue;
    first.take(at, count, op);
    if (&first != &second)
      second.take(at, count, op);
    return static_cast<int>(at * unit);
  }
  return -1;
}

bool TensorMemoryState::release(unsigned column, unsigned columns) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].column != column || blocks[i].columns != columns)
      continue;
    for (unsigned u = column / unit; u < (column + columns) / unit; ++u)
      owner[u] = 0;
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  return false;
}

const Op *TensorMemoryState::leaked() const {
  return blocks.empty() ? nullptr : blocks.front().op;
}
