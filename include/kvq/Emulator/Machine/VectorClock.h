//===- VectorClock.h - Which accesses happen before which -------*- C++ -*-===//
//
// An access is stamped with an agent and the agent's clock. Agents are the
// threads of a warp and, apart from them, the asynchronous work that they
// issue. A vector clock says, for every agent, up to which clock its accesses
// are known to come first. Most knowledge is of whole warps, so a clock keeps
// one number for the 32 agents of a row, and more only where they differ.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_VECTORCLOCK_H
#define KVQ_EMULATOR_MACHINE_VECTORCLOCK_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace kvq::emu {

/// What makes an access: the thread itself or a kind of work that it issued.
enum class AgentKind : uint8_t {
  Thread,
  /// cp.async, numbered by the arrivals and commits of its thread.
  AsyncCopy,
  /// Reads and writes of bulk copies, numbered by bulk group.
  BulkRead,
  BulkWrite,
  /// tcgen05.mma, cp and shift, numbered by instruction.
  TensorCore,
  /// tcgen05.ld and st of a warp, numbered by instruction.
  TensorLoad,
  TensorStore,
  /// A copy that signals an mbarrier; the clock is its number in the launch.
  Signalled
};
constexpr uint32_t numAgentKinds = 8;

/// A row is the 32 agents of one kind in one warp of the launch.
constexpr uint32_t agentRow(uint32_t warp, AgentKind kind) {
  return warp * numAgentKinds + static_cast<uint32_t>(kind);
}
constexpr uint32_t agentOf(uint32_t row, unsigned lane) {
  return row << 5 | lane;
}

/// Latest known clock of each agent. Rows of one cluster's warps lie in an
/// array, the others in a map. Rows from `barrierRow` on stand for mbarriers:
/// their clock counts complete phases.
class VectorClock {
public:
  static constexpr uint32_t barrierRow = uint32_t(1) << 26;

  VectorClock() = default;
  VectorClock(uint32_t firstWarp, uint32_t numWarps)
      : first(firstWarp * numAgentKinds), dense(numWarps * numAgentKinds, 0) {}

  /// A clock that knows nothing, for warps of the same cluster.
  VectorClock emptyLike() const {
    VectorClock result;
    result.first = first;
    result.dense.resize(dense.size(), 0);
    return result;
  }

  /// Whether the access of an agent is known.
  bool knows(uint32_t row, unsigned lane, uint32_t clock) const {
    if (row - first < dense.size()) {
      if (clock <= dense[row - first])
        return true;
    } else {
      auto it = sparse.find(row);
      if (it != sparse.end() && clock <= it->second)
        return true;
    }
    return !uneven.empty() && clock <= unevenClock(row, lane);
  }
  /// All agents of a row are known up to `clock`.
  void raiseRow(uint32_t row, uint32_t clock) {
    uint32_t &slot =
        row - first < dense.size() ? dense[row - first] : sparse[row];
    slot = std::max(slot, clock);
    if (!uneven.empty())
      settle(row, slot);
  }
  void raise(uint32_t row, unsigned lane, uint32_t clock);
  void join(const VectorClock &other);
  void clear() {
    std::fill(dense.begin(), dense.end(), 0);
    sparse.clear();
    uneven.clear();
  }
  /// Forgets all rows of warps but those of `numWarps` from `firstWarp` on.
  void restrictTo(uint32_t firstWarp, uint32_t numWarps);

private:
  struct Uneven {
    uint32_t row;
    std::array<uint32_t, 32> clocks;
  };
  uint32_t unevenClock(uint32_t row, unsigned lane) const {
    for (const Uneven &entry : uneven)
      if (entry.row == row)
        return entry.clocks[lane];
    return 0;
  }
  Uneven &unevenRow(uint32_t row);
  uint32_t rowClock(uint32_t row) const {
    if (row - first < dense.size())
      return dense[row - first];
    auto it = sparse.find(row);
    return it == sparse.end() ? 0 : it->second;
  }
  /// Drops a row's single clocks where the row's own has caught up, and raises
  /// that to what all of its agents have.
  void settle(uint32_t row, uint32_t rowClock);

  uint32_t first = 0;
  std::vector<uint32_t> dense;
  llvm::DenseMap<uint32_t, uint32_t> sparse;
  llvm::SmallVector<Uneven, 0> uneven;
};

/// What an order between two accesses is good for.
enum class Visibility : uint8_t {
  /// Within a proxy.
  Base,
  /// A fence.proxy.async for shared or global memory lies between.
  AsyncShared,
  AsyncGlobal,
  /// The two halves of fence.proxy.tensormap.
  MapReleased,
  MapAcquired,
  /// tcgen05.fence::before_thread_sync, and ::after_thread_sync behind it:
  /// what is complete, and what is only issued, which is as good for pairs of
  /// instructions that keep their order. Relaxed operations pass these on.
  TensorBefore,
  TensorAfter,
  IssuedBefore,
  IssuedAfter
};
constexpr unsigned numVisibilities = 9;

/// What is passed on by a release: a clock for each visibility.
struct Knowledge {
  std::array<VectorClock, numVisibilities> clocks;
  VectorClock &operator[](Visibility v) {
    return clocks[static_cast<unsigned>(v)];
  }
  const VectorClock &operator[](Visibility v) const {
    return clocks[static_cast<unsigned>(v)];
  }
};

/// What the threads of one warp know, of one visibility.
struct WarpKnowledge {
  /// Known to all threads.
  VectorClock common;
  /// What single threads know beyond that; null where nothing.
  std::array<std::unique_ptr<VectorClock>, 32> own;
  uint32_t haveOwn = 0;
  /// How far each thread's own accesses are covered. For Base a thread's own
  /// accesses always are.
  std::array<uint32_t, 32> self{};

  bool knows(unsigned viewer, uint32_t row, unsigned lane,
             uint32_t clock) const {
    return common.knows(row, lane, clock) ||
           (haveOwn >> viewer & 1 && own[viewer]->knows(row, lane, clock));
  }
};

/// The happens-before state of one warp.
struct WarpClock {
  /// Clock of the accesses that the warp makes now; starts at 1.
  uint32_t now = 1;
  /// `now` was published: the next access has a later clock.
  bool published = false;
  std::array<WarpKnowledge, numVisibilities> known;
  /// Fences of each scope (CTA, cluster, wider) that make a later relaxed
  /// write a release, per thread, and what relaxed reads have seen, which a
  /// later fence makes known. Few kernels need them.
  struct Pending {
    std::array<std::array<std::unique_ptr<Knowledge>, 32>, 3> fenced, seen;
  };
  std::unique_ptr<Pending> pending;
  /// The last version of a synchronization variable that threads acquired, and
  /// which of them did.
  uint64_t acquired = 0;
  uint32_t acquiredBy = 0;
  /// Asynchronous work so far: sequence numbers of the kinds that count here.
  std::array<uint32_t, 32> copySegment{};
  std::array<uint32_t, 32> tensorCore{};
  uint32_t tensorLoad = 0, tensorStore = 0;

  WarpKnowledge &operator[](Visibility v) {
    return known[static_cast<unsigned>(v)];
  }
  const WarpKnowledge &operator[](Visibility v) const {
    return known[static_cast<unsigned>(v)];
  }
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_VECTORCLOCK_H
