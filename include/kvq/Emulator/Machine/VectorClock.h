//===- VectorClock.h - Happens-before between warps -------------*- C++ -*-===//
//
// Each warp has a clock that advances when it releases: at a barrier, a fence,
// a release. It knows, for every other warp, the latest clock value whose
// accesses happen before its own next one. Within a warp, threads are ordered
// by the convergence barriers that both took part in.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_VECTORCLOCK_H
#define KVQ_EMULATOR_MACHINE_VECTORCLOCK_H

#include "llvm/ADT/DenseMap.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace kvq::emu {

/// Latest known clock of each warp of a launch: dense for the warps of one
/// cluster, sparse for the rest.
class VectorClock {
public:
  VectorClock() = default;
  VectorClock(uint32_t firstDense, uint32_t numDense)
      : first(firstDense), dense(numDense, 0) {}

  uint32_t get(uint32_t warp) const {
    if (warp - first < dense.size())
      return dense[warp - first];
    auto it = sparse.find(warp);
    return it == sparse.end() ? 0 : it->second;
  }
  void raise(uint32_t warp, uint32_t clock) {
    uint32_t &slot =
        warp - first < dense.size() ? dense[warp - first] : sparse[warp];
    slot = std::max(slot, clock);
  }
  void join(const VectorClock &other) {
    if (first == other.first && dense.size() == other.dense.size()) {
      for (size_t i = 0; i < dense.size(); ++i)
        dense[i] = std::max(dense[i], other.dense[i]);
    } else {
      for (size_t i = 0; i < other.dense.size(); ++i)
        if (other.dense[i])
          raise(other.first + static_cast<uint32_t>(i), other.dense[i]);
    }
    for (const auto &entry : other.sparse)
      raise(entry.first, entry.second);
  }
  void clear() {
    std::fill(dense.begin(), dense.end(), 0);
    sparse.clear();
  }

private:
  uint32_t first = 0;
  std::vector<uint32_t> dense;
  llvm::DenseMap<uint32_t, uint32_t> sparse;
};

/// The happens-before state of one warp.
struct WarpClock {
  /// Clock of the accesses that the warp makes now; starts at 1.
  uint32_t now = 1;
  VectorClock known;
  /// What a release fence has made visible to whoever sees a later write.
  VectorClock fenced;
  bool hasFenced = false;
  /// What a later acquire fence makes known: joined by relaxed reads.
  VectorClock pendingAcquire;
  bool hasPending = false;
  /// For each lane, the lane's accesses with a clock below this one are known
  /// to the lanes that took part in the convergence with it.
  std::array<std::array<uint32_t, 32>, 32> lanes{};
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_VECTORCLOCK_H
