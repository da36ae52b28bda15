//===- Launch.cpp - One grid while it runs --------------------------------===//

#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Numerics/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace kvq::emu;

/// Warp instructions of one turn in the ordered schedules.
static constexpr uint64_t turnLength = 2048;
/// How often all waits with a time limit may run out with nothing happening
/// between before that counts as a deadlock.
static constexpr unsigned maxIdleTimeouts = 64;

Launch::Launch(GlobalMemory &memory, const Options &options,
               const Program &program, const LaunchConfig &config,
               Dim3 clusterShape)
    : memory(memory), options(options), program(program), config(config),
      clusterShape(clusterShape), arguments(config.arguments),
      warpsPerCta(static_cast<unsigned>((config.block.volume() + warpSize - 1) /
                                        warpSize)),
      sharedBytes(static_cast<uint32_t>(program.dynamicSharedBase +
                                        config.dynamicSharedBytes)),
      checkRaces(options.checks.races),
      checkWritten(options.checks.uninitialized),
      checkProtocol(options.checks.protocol), generator(options.schedule.seed) {
  numClusters = config.grid.volume() / clusterShape.volume();
  counters.warpInstructionsByWarp.resize(warpsPerCta);
  if (options.checks.tensorFences)
    races.requireTensorFences();
}

void Launch::print(llvm::StringRef text) {
  if (options.print)
    options.print(text);
  else
    llvm::outs() << text;
}

void Launch::report(Finding finding) {
  // Threads of one instruction with one fault are one finding.
  auto key = std::make_pair(
      static_cast<const void *>(finding.line ? program.file.data() : nullptr),
      finding.line << 8 | static_cast<unsigned>(finding.kind));
  auto found = findingIndex.find(key);
  if (found != findingIndex.end() && finding.line) {
    Finding &earlier = result.findings[found->second];
    ++earlier.occurrences;
    earlier.fatal |= finding.fatal;
  } else {
    findingIndex[key] = result.findings.size();
    result.findings.push_back(finding);
  }
  if (finding.fatal || result.findings.size() >= options.maxFindings)
    stop = true;
}

bool Launch::admitCluster() {
  if (nextCluster == numClusters)
    return false;
  uint64_t index = nextCluster++;
  uint32_t nx = config.grid.x / clusterShape.x;
  uint32_t ny = config.grid.y / clusterShape.y;
  Dim3 id{static_cast<uint32_t>(index % nx),
          static_cast<uint32_t>(index / nx % ny),
          static_cast<uint32_t>(index / nx / ny)};
  resident.push_back(std::make_unique<Cluster>(*this, index, id));
  return true;
}

void Launch::retire() {
  for (auto it = resident.begin(); it != resident.end();) {
    if (!(*it)->isDone()) {
      ++it;
      continue;
    }
    for (const auto &cta : (*it)->ctas) {
      ++finishedCtas;
      if (const Op *op = cta->tensor.leaked(); op && checkProtocol)
        cta->warps[0]->report(FindingKind::TensorMemory, *op, 0, 0,
                              "the CTA ends with tensor memory allocated",
                              false);
      for (const auto &warp : cta->warps) {
        // Copies that nobody waited for still happen before memory goes away.
        advanceAsyncCopies(*warp, /*all=*/true);
        counters.warpInstructionsByWarp[warp->index] += warp->executed;
      }
      if (checkRaces) {
        races.forget(reinterpret_cast<uint64_t>(cta->shared.data()),
                     cta->shared.size());
        races.forgetTensor(*cta);
      }
    }
    it = resident.erase(it);
    progress();
  }
  if (options.progress && steps >= nextProgressReport) {
    nextProgressReport = steps + (1 << 20);
    options.progress(finishedCtas, config.grid.volume());
  }
}

bool Launch::limitsReached() {
  FindingKind kind;
  std::string message;
  if (options.interrupt && options.interrupt->load()) {
    kind = FindingKind::Interrupted;
    message = "the launch was interrupted";
  } else if (options.maxWarpInstructions &&
             steps >= options.maxWarpInstructions) {
    kind = FindingKind::StepLimit;
    message = llvm::formatv("the launch reached its limit of {0} warp "
                            "instructions with {1} of {2} CTAs finished",
                            options.maxWarpInstructions, finishedCtas,
                            config.grid.volume());
  } else {
    return false;
  }
  if (!stop && !resident.empty()) {
    // Blame the instruction that some thread is at.
    for (const auto &cta : resident.front()->ctas)
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
  stop = true;
  return true;
}

void Launch::runInOrder() {
  while (!stop) {
    uint64_t residentCtas = resident.size() * clusterShape.volume();
    while (residentCtas < options.residentCTAs && admitCluster())
      residentCtas += clusterShape.volume();
    if (resident.empty())
      return;
    uint64_t before = steps, progressBefore = progressCount;
    for (const auto &cluster : resident)
      for (const auto &cta : cluster->ctas)
        for (const auto &warp : cta->warps) {
          if (stop)
            return;
          if (!warp->isRunnable())
            continue;
          steps += warp->run(turnLength);
        }
    if (limitsReached())
      return;
    retire();
    if (steps == before) {
      if (!resident.empty() && !unblock())
        return;
    } else if (progressCount == progressBefore) {
      // Everything that runs only polls: what it polls for may come from
      // asynchronous work or from a CTA that has not started.
      bool advanced = false;
      for (const auto &cluster : resident)
        for (const auto &cta : cluster->ctas)
          for (const auto &warp : cta->warps)
            advanced |= advanceAsyncCopies(*warp, /*all=*/true);
      if (!advanced)
        admitCluster();
    }
  }
}

void Launch::runAtRandom() {
  std::vector<Warp *> runnable;
  uint64_t sinceAdmission = 0, progressBefore = 0;
  while (!stop) {
    uint64_t residentCtas = resident.size() * clusterShape.volume();
    while (residentCtas < options.residentCTAs && admitCluster())
      residentCtas += clusterShape.volume();
    if (resident.empty())
      return;
    runnable.clear();
    for (const auto &cluster : resident)
      for (const auto &cta : cluster->ctas)
        for (const auto &warp : cta->warps) {
          if (warp->isRunnable())
            runnable.push_back(warp.get());
          if (!warp->asyncCopies.empty() && random(4) == 0)
            advanceAsyncCopies(*warp, /*all=*/false);
        }
    if (runnable.empty()) {
      retire();
      if (!resident.empty() && !unblock())
        return;
      continue;
    }
    // Some turns are long and some short, so that warps drift apart.
    for (unsigned i = 0, turns = 1 + random(16); i < turns && !stop; ++i) {
      Warp *warp = runnable[random(static_cast<uint32_t>(runnable.size()))];
      if (!warp->isRunnable())
        continue;
      steps += warp->run(1 + random(random(4) ? 16 : 512));
    }
    if (limitsReached())
      return;
    retire();
    if (progressCount == progressBefore) {
      if (++sinceAdmission > 256) {
        admitCluster();
        sinceAdmission = 0;
      }
    } else {
      progressBefore = progressCount;
      sinceAdmission = 0;
    }
  }
}

bool Launch::unblock() {
  bool advanced = false;
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps) {
        // Work that completed since may have woken someone.
        advanced |= warp->isRunnable();
        advanced |= advanceAsyncCopies(*warp, /*all=*/true);
      }
  if (advanced || admitCluster())
    return true;
  if (progressCount == progressAtTimeout)
    ++idleTimeouts;
  else
    idleTimeouts = 0;
  progressAtTimeout = progressCount;
  if (idleTimeouts < maxIdleTimeouts) {
    bool any = false;
    for (const auto &cluster : resident)
      for (const auto &cta : cluster->ctas)
        for (const auto &warp : cta->warps)
          any |= warp->wake([](Group &group) {
            if (group.wait != Wait::MBarrier)
              return false;
            group.timedOut = true;
            return true;
          });
    if (any)
      return true;
  }
  reportDeadlock();
  return false;
}

void Launch::reportDeadlock() {
  std::string text = "nothing can run any more:";
  llvm::raw_string_ostream os(text);
  Warp *first = nullptr;
  const Group *firstGroup = nullptr;
  unsigned listed = 0;
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps)
        for (const Group &group : warp->getGroups()) {
          if (!first) {
            first = warp.get();
            firstGroup = &group;
          }
          if (++listed > 64)
            continue;
          os << "\n    CTA " << cta->linear << " warp " << warp->index
             << " threads " << llvm::format_hex(group.lanes, 10) << " wait ";
          switch (group.wait) {
          case Wait::None:
          case Wait::Running:
            os << "for nothing";
            break;
          case Wait::WarpSync:
            os << "for member mask " << llvm::format_hex(group.key, 10);
            break;
          case Wait::CtaBarrier: {
            const CtaBarrier &barrier = cta->barriers[group.key];
            os << "at barrier " << group.key << " (" << barrier.arrived
               << " warps arrived)";
            break;
          }
          case Wait::ClusterBarrier:
            os << "at the cluster barrier";
            break;
          case Wait::MBarrier:
            os << "for phase " << group.value << " of the mbarrier at "
               << llvm::format_hex(group.key, 10);
            break;
          case Wait::TensorAlloc:
            os << "for " << group.key << " columns of tensor memory";
            break;
          }
          if (group.op)
            os << " at line " << group.op->line << " ('" << group.op->oneLine()
               << "')";
        }
  if (listed > 64)
    os << "\n    and " << listed - 64 << " more";
  if (first && firstGroup->op) {
    first->report(FindingKind::Deadlock, *firstGroup->op,
                  llvm::countr_zero(firstGroup->lanes), 0, text, true);
    return;
  }
  Finding finding;
  finding.kind = FindingKind::Deadlock;
  finding.fatal = true;
  finding.kernel = program.name;
  finding.message = text;
  report(std::move(finding));
}

Report Launch::run() {
  num::HostFPScope hostFloatingPoint;
  memory.clearSectors();
  if (isRandom())
    runAtRandom();
  else
    runInOrder();
  for (const auto &cluster : resident)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps)
        counters.warpInstructionsByWarp[warp->index] += warp->executed;
  std::tie(counters.distinctReadSectors, counters.distinctWriteSectors) =
      memory.countSectors();
  result.completed = !stop;
  result.counters = counters;
  result.ctas = finishedCtas;
  return std::move(result);
}
