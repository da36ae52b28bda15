//===- Launch.cpp - A worker thread and the clusters it runs --------------===//

#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Numerics/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <chrono>
#include <thread>

using namespace kvq::emu;

/// Operations of a warp's turn in the ordered schedules, and of one that has
/// only polled before.
static constexpr uint64_t turnLength = 2048, shortTurnLength = 128;
Launch::Launch(Grid &grid, unsigned worker)
    : memory(grid.memory), options(grid.options), program(grid.program),
      config(grid.config), clusterShape(grid.clusterShape),
      arguments(config.arguments),
      warpsPerCta(static_cast<unsigned>((config.block.volume() + warpSize - 1) /
                                        warpSize)),
      sharedBytes(static_cast<uint32_t>(program.dynamicSharedBase +
                                        config.dynamicSharedBytes)),
      checkRaces(options.checks.races),
      checkWritten(options.checks.uninitialized),
      checkProtocol(options.checks.protocol), grid(grid), worker(worker),
      generator(options.schedule.seed) {
  if (options.perturb)
    perturbation = num::Perturbation{*options.perturb};
  if (options.checks.tensorFences)
    races.requireTensorFences();
  if (options.checks.tensorPairs)
    races.requireTensorPairs();
  if (checkRaces && program.usesTensorMemory)
    races.activateTensor();
}

void Launch::enter(Cluster *cluster) {
  if (current == cluster)
    return;
  if (current)
    std::swap(counters, current->result.counters);
  if (cluster)
    std::swap(counters, cluster->result.counters);
  current = cluster;
  stop = cluster && cluster->result.failed;
}

void Launch::forgetAllocations() {
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps)
        warp->lastAllocation = nullptr;
}

void Launch::print(Cluster &cluster, llvm::StringRef text) {
  progress();
  grid.print(cluster.linear, cluster.result, text);
}

void Launch::report(Cluster &cluster, Finding finding) {
  cluster.result.report(std::move(finding), options.maxFindings);
  if (current == &cluster)
    stop = cluster.result.failed;
}

bool Launch::admitCluster() {
  std::optional<uint64_t> taken = grid.takeCluster();
  if (!taken)
    return false;
  resident.push_back(
      std::make_unique<Cluster>(*this, *taken, grid.clusterId(*taken)));
  return true;
}

void Launch::admit() {
  uint64_t residentCtas = resident.size() * clusterShape.volume();
  while (residentCtas < options.residentCTAs && admitCluster())
    residentCtas += clusterShape.volume();
}

void Launch::finish(Cluster &cluster, bool completed) {
  enter(&cluster);
  for (const auto &cta : cluster.ctas) {
    if (completed) {
      ++cluster.result.finishedCtas;
      if (const Op *op = cta->tensor.leaked(); op && checkProtocol)
        cta->warps[0]->report(FindingKind::TensorMemory, *op, 0, 0,
                              "the CTA ends with tensor memory allocated",
                              false);
      // Copies that nobody waited for still happen before memory goes away.
      for (const auto &warp : cta->warps)
        advanceAsyncCopies(*warp, /*all=*/true);
    }
    counters.warps.resize(warpsPerCta);
    for (const auto &warp : cta->warps)
      warp->addCountsTo(counters.warps[warp->index]);
    if (checkRaces) {
      races.forget(reinterpret_cast<uint64_t>(cta->shared.data()),
                   cta->shared.size());
      races.forgetTensor(*cta);
    }
  }
  enter(nullptr);
  grid.finish(cluster.linear, std::move(cluster.result), cluster.steps);
}

void Launch::retire() {
  bool any = false;
  for (auto it = resident.begin(); it != resident.end();) {
    Cluster &cluster = **it;
    bool done = cluster.isDone();
    if (!done && !cluster.result.failed &&
        !grid.isObsolete(cluster.linear, cluster.steps)) {
      ++it;
      continue;
    }
    finish(cluster, done);
    it = resident.erase(it);
    any = true;
  }
  if (any)
    progress();
  if (worker == 0 && options.progress && grid.steps >= nextProgressReport) {
    nextProgressReport = grid.steps + (1 << 20);
    options.progress(grid.finishedCtas, config.grid.volume());
  }
}

bool Launch::limitsReached() {
  FindingKind kind;
  std::string message;
  if (options.interrupt && options.interrupt->load()) {
    kind = FindingKind::Interrupted;
    message = "the launch was interrupted";
  } else if (options.maxWarpInstructions &&
             grid.steps >= options.maxWarpInstructions) {
    kind = FindingKind::StepLimit;
    message = llvm::formatv("the launch reached its limit of {0} warp "
                            "instructions with {1} of {2} CTAs finished",
                            options.maxWarpInstructions, grid.finishedCtas,
                            config.grid.volume());
  } else {
    return false;
  }
  if (grid.abort() && !resident.empty()) {
    // Blame the instruction that some thread is at.
    Cluster &cluster = *resident.front();
    enter(&cluster);
    for (const auto &cta : cluster.ctas)
      for (const auto &warp : cta->warps)
        for (const Group &group : warp->getGroups()) {
          if (stop)
            continue;
          const Op &op =
              program.ops[std::min<size_t>(group.pc, program.ops.size() - 1)];
          warp->report(kind, op, llvm::countr_zero(group.lanes), 0, message,
                       true);
        }
  }
  return true;
}

/// What has to change for threads that poll global memory to stop waiting.
static uint64_t countGlobalAccesses(const Cluster &cluster) {
  InstructionCounts counts;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      warp->addCountsTo(counts);
  return counts.warp[static_cast<unsigned>(InstructionClass::Global)] +
         counts.warp[static_cast<unsigned>(InstructionClass::Atomic)];
}

bool Launch::advanceAll(Cluster &cluster) {
  bool advanced = false;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      // Work that completed since may have woken someone.
      advanced |= warp->isRunnable();
      if (advanceAsyncCopies(*warp, /*all=*/true)) {
        advanced = true;
        progress();
      }
    }
  return advanced;
}

/// Whether all threads of the cluster wait, or repeat themselves, and no work
/// is under way that may change that.
bool Launch::repeats(const Cluster &cluster) const {
  if (!watches())
    return false;
  uint64_t now = epoch();
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      if (!warp->asyncCopies.isSettled())
        return false;
      for (const Group &group : warp->getGroups())
        if (group.wait == Wait::None &&
            !(group.watch && group.watch->repeats(group, now)))
          return false;
    }
  return true;
}

/// A cluster in which nothing can run: completes its asynchronous work, else
/// lets waits time out.
void Launch::unblock(Cluster &cluster) {
  enter(&cluster);
  if (!advanceAll(cluster) && !cluster.isDone())
    timeOut(cluster);
}

/// Nothing but time can help the cluster: lets waits time out, and reports a
/// deadlock where that has not helped for long.
void Launch::timeOut(Cluster &cluster) {
  enter(&cluster);
  if (!cluster.idleTimeouts)
    cluster.globalAccesses = countGlobalAccesses(cluster);
  bool any = false;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      any |= warp->isRunnable();
      any |= warp->wake([](Group &group) {
        if (group.wait != Wait::MBarrier)
          return false;
        group.timedOut = true;
        return true;
      });
    }
  ++cluster.idleTimeouts;
  // Who looks at global memory between waits may see what another cluster
  // writes: see waitForOthers.
  if (!any || (cluster.isIdle() &&
               cluster.globalAccesses == countGlobalAccesses(cluster)))
    reportDeadlock(cluster);
}

uint64_t Launch::runTurn(Cluster &cluster) {
  enter(&cluster);
  uint64_t before = progressCount, executed = 0;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      if (!stop && warp->isRunnable())
        executed += warp->run(cluster.turnLength);
  account(cluster, executed, before);
  cluster.turnLength = progressCount == before ? shortTurnLength : turnLength;
  if (stop)
    return executed;
  if (!executed)
    unblock(cluster);
  else if (progressCount == before) {
    // Everything that runs only polls: what it polls for may come from
    // asynchronous work.
    advanceAll(cluster);
    if (repeats(cluster))
      timeOut(cluster);
  }
  return executed;
}

void Launch::account(Cluster &cluster, uint64_t executed,
                     uint64_t progressBefore) {
  cluster.steps += executed;
  grid.steps.fetch_add(executed, std::memory_order_relaxed);
  if (progressCount == progressBefore) {
    ++quietTurns;
    return;
  }
  quietTurns = 0;
  cluster.idleTimeouts = 0;
  grid.progress.fetch_add(1);
}

bool Launch::allIdle() const {
  return llvm::all_of(resident, [](const auto &c) { return c->isIdle(); });
}

/// Nothing that this worker has can go on by itself.
void Launch::waitForOthers() {
  uint64_t seen = grid.progress;
  if (seen != idleSince) {
    // Others have done something since: what they wrote may help.
    idleSince = seen;
    for (const auto &cluster : resident)
      cluster->idleTimeouts = 0;
    return;
  }
  grid.noteIdle(worker, seen);
  if (grid.isDeadlocked(seen)) {
    Cluster &cluster = *resident.front();
    enter(&cluster);
    reportDeadlock(cluster);
    return;
  }
  if (grid.numWorkers > 1)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void Launch::runInOrder() {
  while (!grid.isAborted()) {
    admit();
    if (resident.empty())
      return;
    uint64_t progressBefore = progressCount;
    for (const auto &cluster : resident)
      if (!cluster->result.failed)
        runTurn(*cluster);
    if (limitsReached())
      return;
    retire();
    if (progressCount == progressBefore && !admitCluster() &&
        !resident.empty()) {
      // What is polled may come from a cluster of another worker.
      if (allIdle())
        waitForOthers();
      else if (grid.numWorkers > 1)
        std::this_thread::yield();
    }
  }
}

void Launch::runAtRandom() {
  std::vector<Warp *> runnable;
  uint64_t sinceAdmission = 0, progressBefore = 0;
  while (!grid.isAborted()) {
    admit();
    if (resident.empty())
      return;
    runnable.clear();
    for (const auto &cluster : resident)
      for (const auto &cta : cluster->ctas)
        for (const auto &warp : cta->warps) {
          if (warp->isRunnable())
            runnable.push_back(warp.get());
          if (!warp->asyncCopies.empty() && random(4) == 0) {
            enter(cluster.get());
            advanceAsyncCopies(*warp, /*all=*/false);
          }
        }
    if (runnable.empty()) {
      for (const auto &cluster : resident)
        if (!cluster->result.failed)
          unblock(*cluster);
      bool idle = allIdle();
      retire();
      if (idle && !resident.empty() && !admitCluster())
        waitForOthers();
      continue;
    }
    // Some turns are long and some short, so that warps drift apart.
    for (unsigned i = 0, turns = 1 + random(16); i < turns; ++i) {
      Warp *warp = runnable[random(static_cast<uint32_t>(runnable.size()))];
      Cluster &cluster = warp->cta.cluster;
      if (!warp->isRunnable() || cluster.result.failed)
        continue;
      enter(&cluster);
      uint64_t before = progressCount;
      account(cluster, warp->run(1 + random(random(4) ? 16 : 512)), before);
    }
    if (limitsReached())
      return;
    retire();
    if (progressCount == progressBefore) {
      for (const auto &cluster : resident)
        if (!cluster->result.failed && repeats(*cluster))
          timeOut(*cluster);
      retire();
      if (!resident.empty() && allIdle() && !admitCluster())
        waitForOthers();
      if (++sinceAdmission > 64) {
        admitCluster();
        sinceAdmission = 0;
      }
    } else {
      progressBefore = progressCount;
      sinceAdmission = 0;
    }
  }
}

void Launch::run() {
  num::HostFPScope hostFloatingPoint;
  if (isRandom())
    runAtRandom();
  else
    runInOrder();
  for (const auto &cluster : resident)
    finish(*cluster, /*completed=*/false);
  grid.noteIdle(worker, Grid::noCluster);
}
