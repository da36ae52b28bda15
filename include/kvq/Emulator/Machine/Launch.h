//===- Launch.h - One grid while it runs ------------------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_LAUNCH_H
#define KVQ_EMULATOR_MACHINE_LAUNCH_H

#include "kvq/Emulator/Emulator.h"
#include "kvq/Emulator/Machine/Cta.h"
#include "kvq/Emulator/Machine/GlobalMemory.h"
#include "kvq/Emulator/Machine/RaceDetector.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>
#include <list>
#include <random>

namespace kvq::emu {

class Launch {
public:
  Launch(GlobalMemory &memory, const Options &options, const Program &program,
         const LaunchConfig &config, Dim3 clusterShape);

  /// Runs the grid to its end or to a fatal finding.
  Report run();

  void report(Finding finding);
  /// True after a fatal finding.
  bool stopped() const { return stop; }
  bool isLazy() const { return options.schedule.kind == ScheduleKind::Lazy; }
  bool isRandom() const {
    return options.schedule.kind == ScheduleKind::Random;
  }
  bool isEager() const { return options.schedule.kind == ScheduleKind::Eager; }
  /// A number below `bound`, the same for the same seed.
  uint32_t random(uint32_t bound) {
    return static_cast<uint32_t>(generator() % bound);
  }
  void print(llvm::StringRef text);
  /// Called by everything that another thread may be waiting to see.
  void progress() { ++progressCount; }

  GlobalMemory &memory;
  const Options &options;
  const Program &program;
  const LaunchConfig &config;
  const Dim3 clusterShape;
  const std::vector<uint8_t> &arguments;
  const unsigned warpsPerCta;
  const uint32_t sharedBytes;
  RaceDetector races;
  Counters counters;
  /// Warp instructions so far, the emulator's clock.
  uint64_t steps = 0;
  const bool checkRaces, checkWritten, checkProtocol;

private:
  bool admitCluster();
  void runInOrder();
  void runAtRandom();
  /// What to do when nothing can run: complete asynchronous work, admit CTAs,
  /// let waits time out. False: a deadlock, which is then reported.
  bool unblock();
  void reportDeadlock();
  bool limitsReached();
  void retire();

  std::list<std::unique_ptr<Cluster>> resident;
  uint64_t nextCluster = 0, numClusters = 0, finishedCtas = 0;
  std::mt19937_64 generator;
  Report result;
  llvm::DenseMap<std::pair<const void *, unsigned>, size_t> findingIndex;
  bool stop = false;
  uint64_t progressCount = 0, progressAtTimeout = 0;
  unsigned idleTimeouts = 0;
  uint64_t nextProgressReport = 0;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_LAUNCH_H
