//===- Launch.h - A worker thread and the clusters it runs ------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_LAUNCH_H
#define KVQ_EMULATOR_MACHINE_LAUNCH_H

#include "kvq/Emulator/Emulator.h"
#include "kvq/Emulator/Machine/Cta.h"
#include "kvq/Emulator/Machine/Grid.h"
#include "kvq/Emulator/Machine/RaceDetector.h"
#include "kvq/Emulator/Numerics/Arith.h"
#include <list>
#include <random>

namespace kvq::emu {

/// The clusters that one worker thread runs.
class Launch {
public:
  Launch(Grid &grid, unsigned worker);

  /// Runs clusters of the grid until none is left.
  void run();

  void report(Cluster &cluster, Finding finding);
  /// True after a fatal finding in the cluster that runs.
  bool stopped() const { return stop; }
  bool isLazy() const { return options.schedule.kind == ScheduleKind::Lazy; }
  bool isRandom() const {
    return options.schedule.kind == ScheduleKind::Random;
  }
  bool isEager() const { return options.schedule.kind == ScheduleKind::Eager; }
  /// Whether other threads run clusters of the grid at the same time.
  bool isParallel() const { return grid.numWorkers > 1; }
  /// A number below `bound`, the same for the same seed.
  uint32_t random(uint32_t bound) {
    return static_cast<uint32_t>(generator() % bound);
  }
  /// Before an allocation goes away: warps may remember it.
  void forgetAllocations();
  void print(Cluster &cluster, llvm::StringRef text);
  /// Called by everything that another thread may be waiting to see.
  void progress() { ++progressCount; }
  /// Changes whenever anything was written that a thread might read.
  uint64_t epoch() const {
    return progressCount + grid.progress.load(std::memory_order_seq_cst);
  }
  /// Whether nothing has been written for so long that threads may be spinning
  /// for nothing.
  bool watches() const { return quietTurns >= 64; }

  GlobalMemory &memory;
  const Options &options;
  const Program &program;
  const LaunchConfig &config;
  const Dim3 clusterShape;
  const std::vector<uint8_t> &arguments;
  const unsigned warpsPerCta;
  const uint32_t sharedBytes;
  RaceDetector races;
  /// Of the cluster that runs.
  Counters counters;
  const bool checkRaces, checkWritten, checkProtocol;
  Grid &grid;
  /// Makes approximate functions wrong, where wanted.
  std::optional<num::Perturbation> perturbation;

private:
  void enter(Cluster *cluster);
  void admit();
  bool admitCluster();
  void runInOrder();
  void runAtRandom();
  uint64_t runTurn(Cluster &cluster);
  void account(Cluster &cluster, uint64_t executed, uint64_t progressBefore);
  bool advanceAll(Cluster &cluster);
  bool repeats(const Cluster &cluster) const;
  void unblock(Cluster &cluster);
  void timeOut(Cluster &cluster);
  bool allIdle() const;
  void waitForOthers();
  void reportDeadlock(Cluster &cluster);
  bool limitsReached();
  void retire();
  void finish(Cluster &cluster, bool completed);

  const unsigned worker;
  std::list<std::unique_ptr<Cluster>> resident;
  Cluster *current = nullptr;
  std::mt19937_64 generator;
  bool stop = false;
  /// The grid's progress at which its clusters were last found idle.
  uint64_t idleSince = 0;
  uint64_t progressCount = 0;
  /// Turns in a row in which nothing was written.
  uint64_t quietTurns = 0;
  uint64_t nextProgressReport = 0;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_LAUNCH_H
