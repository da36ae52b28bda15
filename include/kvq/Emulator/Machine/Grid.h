//===- Grid.h - What the threads that run a launch share --------*- C++ -*-===//
//
// Clusters are handed out in order to worker threads. What a cluster counted
// and what was found in it stays with it until it ends; then results are put
// together in the order of clusters, so that a report does not depend on the
// number of workers.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_GRID_H
#define KVQ_EMULATOR_MACHINE_GRID_H

#include "kvq/Emulator/Emulator.h"
#include "kvq/Emulator/Machine/GlobalMemory.h"
#include "kvq/Emulator/Machine/Program.h"
#include "llvm/ADT/DenseMap.h"
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

namespace kvq::emu {

/// What a cluster leaves.
struct ClusterResult {
  Counters counters;
  std::vector<Finding> findings;
  /// Text printed and not yet shown.
  std::string output;
  uint64_t finishedCtas = 0;
  /// A fatal finding ended it, or there were too many findings.
  bool failed = false;

  /// Adds a finding; equal ones of one instruction are one.
  void report(Finding finding, unsigned maxFindings);
};

class Grid {
public:
  Grid(GlobalMemory &memory, const Options &options, const Program &program,
       const LaunchConfig &config, Dim3 clusterShape);

  /// Runs the grid to its end or to a fatal finding.
  Report run();

  //===--------------------------------------------------------------------===//
  // Called by the workers
  //===--------------------------------------------------------------------===//

  /// The next cluster in order, if one is left that is worth running.
  std::optional<uint64_t> takeCluster();
  /// The place of a cluster in the grid of clusters.
  Dim3 clusterId(uint64_t cluster) const;
  /// A cluster has ended after `steps` operations, or is given up.
  void finish(uint64_t cluster, ClusterResult result, uint64_t steps);
  /// Whether a cluster's result can no longer matter: one before it has
  /// failed, or one behind it and this one has had the time to fail as well.
  bool isObsolete(uint64_t cluster, uint64_t steps) const {
    uint64_t failed = firstFailed.load(std::memory_order_relaxed);
    return cluster > failed ||
           (failed != none &&
            steps > stepsLeft.load(std::memory_order_relaxed));
  }
  /// True once for the caller who is to say why the launch ends early.
  bool abort() { return !aborted.exchange(true); }
  bool isAborted() const { return aborted.load(std::memory_order_relaxed); }
  /// Text that a cluster prints; shown in the order of clusters.
  void print(uint64_t cluster, ClusterResult &result, llvm::StringRef text);

  GlobalMemory &memory;
  const Options &options;
  const Program &program;
  const LaunchConfig &config;
  const Dim3 clusterShape;
  const uint64_t numClusters;
  unsigned numWorkers = 1;
  /// Warp instructions of all workers.
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> finishedCtas{0};
  /// Grows whenever a cluster does something that another may wait for. Not 0,
  /// which stands for a worker that has not been idle.
  std::atomic<uint64_t> progress{1};
  /// A worker has found that its clusters can only wait for others, after it
  /// had seen `progress` at that value; or it has no cluster left.
  void noteIdle(unsigned worker, uint64_t progressSeen) {
    idleAt[worker].store(progressSeen);
  }
  static constexpr uint64_t noCluster = std::numeric_limits<uint64_t>::max();
  /// Whether all workers have, and nothing has happened since.
  bool isDeadlocked(uint64_t progressSeen) const;

private:
  static constexpr uint64_t none = std::numeric_limits<uint64_t>::max();
  void fold(ClusterResult &result);
  void show(llvm::StringRef text);

  std::vector<std::atomic<uint64_t>> idleAt;
  std::atomic<uint64_t> nextCluster{0};
  std::atomic<uint64_t> firstFailed{none};
  /// What clusters before the failed one may still run.
  std::atomic<uint64_t> stepsLeft{none};
  std::atomic<bool> aborted{false};

  std::mutex mutex;
  std::map<uint64_t, ClusterResult> waiting;
  uint64_t nextToFold = 0;
  bool foldingEnded = false;
  ClusterResult total;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_GRID_H
