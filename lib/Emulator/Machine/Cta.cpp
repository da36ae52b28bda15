//===- Cta.cpp - Thread blocks, clusters and their barriers ---------------===//

#include "kvq/Emulator/Machine/Cta.h"
#include "kvq/Emulator/Machine/BarrierOps.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;

Cluster::Cluster(Launch &launch, uint64_t linear, Dim3 id)
    : launch(launch), linear(linear), id(id) {
  const Dim3 &shape = launch.clusterShape;
  unsigned rank = 0;
  for (uint32_t z = 0; z < shape.z; ++z)
    for (uint32_t y = 0; y < shape.y; ++y)
      for (uint32_t x = 0; x < shape.x; ++x) {
        Dim3 at{id.x * shape.x + x, id.y * shape.y + y, id.z * shape.z + z};
        // CTAs count cluster by cluster: equal to the grid's order where a
        // cluster is one CTA.
        uint64_t ctaLinear = linear * shape.volume() + rank;
        ctas.push_back(std::make_unique<Cta>(*this, rank, at, ctaLinear));
        ++rank;
      }
}

bool Cluster::isDone() const {
  for (const auto &cta : ctas)
    if (!cta->isDone())
      return false;
  return true;
}

Cta::Cta(Cluster &cluster, unsigned rank, Dim3 id, uint64_t linear)
    : cluster(cluster), launch(cluster.launch), rank(rank), id(id),
      linear(linear), shared(launch.sharedBytes) {
  if (launch.checkWritten)
    sharedWritten.resize(launch.sharedBytes);
  // Fresh shared memory holds whatever an earlier CTA left.
  std::fill(shared.begin(), shared.end(), 0x5a);
  uint64_t threads = launch.config.block.volume();
  for (CtaBarrier &barrier : barriers)
    barrier.lanes.resize(launch.warpsPerCta);
  for (unsigned i = 0; i < launch.warpsPerCta; ++i) {
    uint64_t left = threads - uint64_t(i) * warpSize;
    LaneMask present = left >= warpSize ? allLanes : (LaneMask(1) << left) - 1;
    warps.push_back(std::make_unique<Warp>(*this, i, present));
  }
}

bool Cta::isDone() const {
  for (const auto &warp : warps)
    if (!warp->isDone())
      return false;
  return true;
}

void Cta::arrive(Warp &warp, const Op &op, unsigned number,
                 unsigned expectedThreads, LaneMask lanes, LaneMask predicate) {
  CtaBarrier &barrier = barriers[number];
  unsigned expected = (expectedThreads + warpSize - 1) / warpSize;
  if (barrier.inUse && barrier.expected != expected)
    warp.report(FindingKind::BarrierMisuse, op, llvm::countr_zero(lanes), 0,
                llvm::formatv("barrier {0} expects {1} threads here, but {2} "
                              "where others arrived at it",
                              number, expected * warpSize,
                              barrier.expected * warpSize),
                true);
  if (expectedThreads % warpSize)
    warp.report(FindingKind::BarrierMisuse, op, llvm::countr_zero(lanes), 0,
                llvm::formatv("barrier {0} expects {1} threads, which is not "
                              "a multiple of the warp size",
                              number, expectedThreads),
                true);
  launch.progress();
  barrier.inUse = true;
  barrier.expected = expected;
  barrier.lanes[warp.index] |= lanes;
  barrier.threadCount += static_cast<unsigned>(llvm::popcount(lanes));
  barrier.trueCount += static_cast<unsigned>(llvm::popcount(lanes & predicate));
  // Threads of a warp arrive as one, when the last of them is here.
  if (!(warp.live() & ~barrier.lanes[warp.index]))
    warpArrived(warp, number);
}

void Cta::warpArrived(Warp &warp, unsigned number) {
  CtaBarrier &barrier = barriers[number];
  barrier.lanes[warp.index] = 0;
  ++barrier.arrived;
  if (launch.checkRaces)
    launch.races.publish(warp, warp.live(), barrier.published);
  completeIfFull(number);
}

void Cta::completeIfFull(unsigned number) {
  CtaBarrier &barrier = barriers[number];
  if (!barrier.inUse || !barrier.arrived)
    return;
  unsigned needed = barrier.expected;
  if (!needed) {
    for (const auto &warp : warps)
      needed += !warp->isDone();
  }
  if (barrier.arrived < needed)
    return;
  launch.progress();
  Knowledge published = std::move(barrier.published);
  barrier.published = Knowledge();
  unsigned trueCount = barrier.trueCount, threadCount = barrier.threadCount;
  barrier.inUse = false;
  barrier.arrived = 0;
  barrier.trueCount = barrier.threadCount = 0;
  for (const auto &warp : warps) {
    bool released = warp->wake([&](Group &group) {
      if (group.wait != Wait::CtaBarrier || group.key != number)
        return false;
      finishBarrierWait(*warp, group, trueCount, threadCount);
      return true;
    });
    if (!released || !launch.checkRaces)
      continue;
    // All threads of the warp were here.
    launch.races.learn(*warp, warp->live(), published);
    launch.races.mergeThreads(*warp);
  }
}

void Cta::threadsExited(Warp &warp) {
  for (unsigned number = 0; number < numBarriers; ++number) {
    CtaBarrier &barrier = barriers[number];
    if (!barrier.inUse)
      continue;
    if (barrier.lanes[warp.index] && warp.live() &&
        !(warp.live() & ~barrier.lanes[warp.index]))
      warpArrived(warp, number);
    else
      completeIfFull(number);
  }
  completeClusterBarrier(cluster);
}
