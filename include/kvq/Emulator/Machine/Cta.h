//===- Cta.h - A thread block and its cluster -------------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_CTA_H
#define KVQ_EMULATOR_MACHINE_CTA_H

#include "kvq/Emulator/Machine/Grid.h"
#include "kvq/Emulator/Machine/TensorMemoryState.h"
#include "kvq/Emulator/Machine/Warp.h"
#include <memory>
#include <vector>

namespace kvq::emu {

class Cluster;
class Launch;

constexpr unsigned numBarriers = 16;
/// Where the rank of a CTA stands in a shared-memory address. Kernels that
/// clear this bit to reach the even CTA of a pair rely on it.
constexpr unsigned sharedRankShift = 24;
/// Shared addresses begin behind what the system keeps (sm_90 and later).
constexpr uint32_t sharedReserved = 1024;
/// Generic addresses of shared and local memory: high bits that no host
/// address of user space has.
constexpr uint64_t sharedWindow = uint64_t(1) << 56;
constexpr uint64_t localWindow = uint64_t(2) << 56;
constexpr uint64_t paramWindow = uint64_t(3) << 56;
constexpr uint64_t windowMask = uint64_t(0xff) << 56;

/// One of the 16 barriers of a CTA.
struct CtaBarrier {
  /// Warps that have arrived in this phase.
  unsigned arrived = 0;
  /// Warps that are expected, from the first arrival; 0 is all of the CTA.
  unsigned expected = 0;
  bool inUse = false;
  /// Threads of each warp that are here.
  std::vector<LaneMask> lanes;
  /// Predicate reduction of barrier.red.
  unsigned trueCount = 0, threadCount = 0;
  /// What the threads that arrived pass on.
  Knowledge published;
};

class Cta {
public:
  Cta(Cluster &cluster, unsigned rank, Dim3 id, uint64_t linear);

  Cluster &cluster;
  Launch &launch;
  /// Rank in the cluster.
  const unsigned rank;
  const Dim3 id;
  const uint64_t linear;
  /// Shared memory from offset 0 of the window, reserved part included.
  std::vector<uint8_t> shared;
  /// Non-zero where written; empty without the check.
  std::vector<uint8_t> sharedWritten;
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<CtaBarrier, numBarriers> barriers;

  TensorMemoryState tensor;

  bool isDone() const;
  /// Threads `lanes` of a warp reach a barrier. `expectedThreads` 0 means all.
  void arrive(Warp &warp, const Op &op, unsigned barrier,
              unsigned expectedThreads, LaneMask lanes, LaneMask predicate);
  /// Re-examines barriers after threads have exited.
  void threadsExited(Warp &warp);
  /// The window address of an offset in this CTA's shared memory.
  uint32_t sharedAddress(uint32_t offset) const {
    return offset | rank << sharedRankShift;
  }

private:
  void warpArrived(Warp &warp, unsigned barrier);
  void completeIfFull(unsigned barrier);
};

class Cluster {
public:
  Cluster(Launch &launch, uint64_t linear, Dim3 id);

  Launch &launch;
  const uint64_t linear;
  const Dim3 id;
  std::vector<std::unique_ptr<Cta>> ctas;
  /// Threads that have arrived at the cluster barrier, and the phase.
  uint64_t arrived = 0;
  uint64_t phase = 0;
  /// What arrivals at the cluster barrier pass on, and what those of complete
  /// phases did.
  Knowledge published, publishedOfPhase;

  /// Operations of its warps.
  uint64_t steps = 0;
  /// What it has counted and found; counters are in the launch while it runs.
  ClusterResult result;
  /// How often all waits have run out since anything happened, and the
  /// accesses to global memory at the first time.
  unsigned idleTimeouts = 0;
  uint64_t globalAccesses = 0;
  /// Operations that each warp may do in the cluster's next turn.
  uint64_t turnLength = 1;

  bool isDone() const;
  /// Whether nothing has happened for long enough to call it a deadlock.
  bool isIdle() const { return idleTimeouts >= 64; }
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_CTA_H
