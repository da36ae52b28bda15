//===- VectorClock.cpp - Which accesses happen before which ---------------===//

#include "kvq/Emulator/Machine/VectorClock.h"
#include "llvm/ADT/STLExtras.h"

using namespace kvq::emu;

VectorClock::Uneven &VectorClock::unevenRow(uint32_t row) {
  for (Uneven &entry : uneven)
    if (entry.row == row)
      return entry;
  uneven.push_back({row, {}});
  return uneven.back();
}

void VectorClock::settle(uint32_t row, uint32_t rowClock) {
  for (size_t i = 0; i < uneven.size(); ++i) {
    if (uneven[i].row != row)
      continue;
    const auto &clocks = uneven[i].clocks;
    auto [low, high] = std::minmax_element(clocks.begin(), clocks.end());
    uint32_t all = std::max(rowClock, *low);
    if (*high > all)
      return;
    uneven.erase(uneven.begin() + static_cast<ptrdiff_t>(i));
    if (all > rowClock)
      raiseRow(row, all);
    return;
  }
}

void VectorClock::raise(uint32_t row, unsigned lane, uint32_t clock) {
  uint32_t all = rowClock(row);
  if (clock <= all)
    return;
  uint32_t &slot = unevenRow(row).clocks[lane];
  if (clock <= slot)
    return;
  slot = clock;
  settle(row, all);
}

void VectorClock::join(const VectorClock &other) {
  if (first == other.first && dense.size() == other.dense.size()) {
    for (size_t i = 0; i < dense.size(); ++i)
      dense[i] = std::max(dense[i], other.dense[i]);
  } else if (dense.empty() && sparse.empty() && uneven.empty()) {
    *this = other;
    return;
  } else {
    for (size_t i = 0; i < other.dense.size(); ++i)
      if (other.dense[i])
        raiseRow(other.first + static_cast<uint32_t>(i), other.dense[i]);
  }
  for (const auto &entry : other.sparse)
    raiseRow(entry.first, entry.second);
  for (const Uneven &entry : other.uneven) {
    uint32_t all = rowClock(entry.row);
    bool news = false;
    for (uint32_t clock : entry.clocks)
      news |= clock > all;
    if (!news)
      continue;
    Uneven &mine = unevenRow(entry.row);
    for (unsigned lane = 0; lane < 32; ++lane)
      mine.clocks[lane] = std::max(mine.clocks[lane], entry.clocks[lane]);
    settle(entry.row, all);
  }
  // Rows that were raised may have caught up with single clocks.
  for (size_t i = 0; i < uneven.size();) {
    uint32_t all = rowClock(uneven[i].row);
    if (*std::max_element(uneven[i].clocks.begin(), uneven[i].clocks.end()) <=
        all)
      uneven.erase(uneven.begin() + static_cast<ptrdiff_t>(i));
    else
      ++i;
  }
}

void VectorClock::restrictTo(uint32_t firstWarp, uint32_t numWarps) {
  uint32_t begin = firstWarp * numAgentKinds,
           end = begin + numWarps * numAgentKinds;
  auto outside = [&](uint32_t row) {
    return row < barrierRow && (row < begin || row >= end);
  };
  for (size_t i = 0; i < dense.size(); ++i)
    if (outside(first + static_cast<uint32_t>(i)))
      dense[i] = 0;
  llvm::SmallVector<uint32_t, 16> gone;
  for (const auto &entry : sparse)
    if (outside(entry.first))
      gone.push_back(entry.first);
  for (uint32_t row : gone)
    sparse.erase(row);
  llvm::erase_if(uneven, [&](const Uneven &e) { return outside(e.row); });
}
