//===- HappensBefore.cpp - What each thread knows to come before ----------===//

#include "kvq/Emulator/Machine/HappensBefore.h"
#include "kvq/Emulator/Machine/Launch.h"

using namespace kvq::emu;

static constexpr uint32_t bitOf(Visibility visibility) {
  return 1u << static_cast<unsigned>(visibility);
}

/// tcgen05.fence goes with any operation that orders execution.
static constexpr uint32_t relaxedVisibilities =
    bitOf(Visibility::TensorBefore) | bitOf(Visibility::IssuedBefore);

static void join(Knowledge &into, const Knowledge &from) {
  for (unsigned v = 0; v < numVisibilities; ++v)
    into.clocks[v].join(from.clocks[v]);
}

//===----------------------------------------------------------------------===//
// Between threads
//===----------------------------------------------------------------------===//

void HappensBefore::publish(Warp &warp, LaneMask lanes, Knowledge &into,
                            uint32_t which) {
  WarpClock &clock = warp.clock;
  uint32_t row = agentRow(warp.globalIndex, AgentKind::Thread);
  bool whole = !(warp.live() & ~lanes);
  for (unsigned v = 0; v < numVisibilities; ++v) {
    if (!((active & which) >> v & 1))
      continue;
    const WarpKnowledge &known = clock.known[v];
    VectorClock &to = into.clocks[v];
    to.join(known.common);
    forLanes(lanes & known.haveOwn ? lanes & known.haveOwn : 0,
             [&](unsigned lane) { to.join(*known.own[lane]); });
    if (v == 0) {
      if (whole)
        to.raiseRow(row, clock.now);
      else
        forLanes(lanes, [&](unsigned lane) { to.raise(row, lane, clock.now); });
      continue;
    }
    forLanes(lanes,
             [&](unsigned lane) { to.raise(row, lane, known.self[lane]); });
  }
  clock.published = true;
}

void HappensBefore::publishFenced(Warp &warp, LaneMask lanes, MemoryScope scope,
                                  Knowledge &into) {
  if (active & relaxedVisibilities)
    publish(warp, lanes, into, relaxedVisibilities);
  if (!warp.clock.pending)
    return;
  for (unsigned f = static_cast<unsigned>(scope); f < 3; ++f)
    forLanes(lanes, [&](unsigned lane) {
      if (const auto &fenced = warp.clock.pending->fenced[f][lane])
        join(into, *fenced);
    });
}

static VectorClock &ownOf(WarpKnowledge &known, unsigned lane) {
  if (!known.own[lane]) {
    known.own[lane] = std::make_unique<VectorClock>(known.common.emptyLike());
    known.haveOwn |= LaneMask(1) << lane;
  }
  return *known.own[lane];
}

void HappensBefore::learn(Warp &warp, LaneMask lanes, const Knowledge &from,
                          uint32_t which) {
  bool whole = !(warp.live() & ~lanes);
  for (unsigned v = 0; v < numVisibilities; ++v) {
    if (!((active & which) >> v & 1))
      continue;
    WarpKnowledge &known = warp.clock.known[v];
    if (whole)
      known.common.join(from.clocks[v]);
    else
      forLanes(lanes,
               [&](unsigned lane) { ownOf(known, lane).join(from.clocks[v]); });
  }
}

void HappensBefore::converge(Warp &warp, LaneMask lanes) {
  Knowledge all;
  publish(warp, lanes, all);
  learn(warp, lanes, all);
  if (!(warp.live() & ~lanes))
    mergeThreads(warp);
}

void HappensBefore::mergeThreads(Warp &warp) {
  for (WarpKnowledge &known : warp.clock.known) {
    forLanes(known.haveOwn, [&](unsigned lane) { known.own[lane].reset(); });
    known.haveOwn = 0;
  }
}

void HappensBefore::learnOwn(Warp &warp, LaneMask lanes, AgentKind kind,
                             unsigned lane, uint32_t clock) {
  WarpKnowledge &known = warp.clock[Visibility::Base];
  uint32_t row = agentRow(warp.globalIndex, kind);
  if (!(warp.live() & ~lanes))
    known.common.raise(row, lane, clock);
  else
    forLanes(lanes, [&](unsigned viewer) {
      ownOf(known, viewer).raise(row, lane, clock);
    });
}

void HappensBefore::cover(Warp &warp, LaneMask lanes, Visibility from,
                          Visibility to) {
  active |= 1u << static_cast<unsigned>(to);
  WarpClock &clock = warp.clock;
  WarpKnowledge &source = clock[from], &target = clock[to];
  if (!(warp.live() & ~lanes)) {
    target.common.join(source.common);
    forLanes(source.haveOwn & lanes, [&](unsigned lane) {
      ownOf(target, lane).join(*source.own[lane]);
    });
  } else {
    forLanes(lanes, [&](unsigned lane) {
      VectorClock &own = ownOf(target, lane);
      own.join(source.common);
      if (source.haveOwn >> lane & 1)
        own.join(*source.own[lane]);
    });
  }
  forLanes(lanes, [&](unsigned lane) {
    uint32_t covered = from == Visibility::Base ? clock.now : source.self[lane];
    target.self[lane] = std::max(target.self[lane], covered);
  });
  if (from == Visibility::Base)
    clock.published = true;
}

void HappensBefore::activateTensor() {
  active |= bitOf(Visibility::TensorBefore) | bitOf(Visibility::TensorAfter) |
            bitOf(Visibility::IssuedBefore) | bitOf(Visibility::IssuedAfter);
}

void HappensBefore::fenceBeforeThreadSync(Warp &warp, LaneMask lanes) {
  cover(warp, lanes, Visibility::Base, Visibility::TensorBefore);
  cover(warp, lanes, Visibility::TensorAfter, Visibility::TensorBefore);
  cover(warp, lanes, Visibility::IssuedAfter, Visibility::IssuedBefore);
  WarpKnowledge &issued = warp.clock[Visibility::IssuedBefore];
  forLanes(lanes, [&](unsigned lane) {
    if (uint32_t last = warp.clock.tensorCore[lane])
      ownOf(issued, lane).raise(agentRow(warp.globalIndex, AgentKind::TensorCore), lane, last);
  });
}

void HappensBefore::fenceAfterThreadSync(Warp &warp, LaneMask lanes) {
  cover(warp, lanes, Visibility::TensorBefore, Visibility::TensorAfter);
  cover(warp, lanes, Visibility::IssuedBefore, Visibility::IssuedAfter);
}

//===----------------------------------------------------------------------===//
// Strong operations and fences
//===----------------------------------------------------------------------===//

static bool acquires(MemoryOrder order) {
  return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel ||
         order == MemoryOrder::SeqCst;
}

static bool releases(MemoryOrder order) {
  return order == MemoryOrder::Release || order == MemoryOrder::AcqRel ||
         order == MemoryOrder::SeqCst;
}

/// The device is one: .sys is not wider than .gpu here.
static MemoryScope clampScope(MemoryScope scope) {
  return std::min(scope, MemoryScope::Gpu);
}

HappensBefore::Part &HappensBefore::partOf(std::vector<Part> &parts,
                                           const Warp &warp,
                                           MemoryScope scope) {
  uint32_t cta = static_cast<uint32_t>(warp.cta.linear);
  for (Part &part : parts) {
    if (part.scope != scope)
      continue;
    if (part.cta == cta)
      return part;
    if (scope == MemoryScope::Gpu) {
      part.cta = manyCtas;
      return part;
    }
  }
  parts.push_back({cta, scope, {}});
  return parts.back();
}

/// Calls `body` with what a thread of the warp may take at `scope`: operations
/// order two threads only where the scope of each includes the other.
template <typename Body>
void HappensBefore::forParts(Warp &warp, const std::vector<Part> &parts,
                             MemoryScope scope, Body &&body) {
  uint64_t perCluster = warp.launch.clusterShape.volume();
  for (const Part &part : parts) {
    if (part.cta == manyCtas && scope < MemoryScope::Gpu) {
      // Of the releases by many CTAs, what is of the reader's own scope.
      Knowledge near = part.knowledge;
      uint32_t ctas = scope == MemoryScope::Cta ? 1 : uint32_t(perCluster);
      uint32_t first = static_cast<uint32_t>(warp.cta.linear / ctas * ctas);
      for (VectorClock &clock : near.clocks)
        clock.restrictTo(first * warp.launch.warpsPerCta,
                         ctas * warp.launch.warpsPerCta);
      body(near);
      continue;
    }
    MemoryScope distance =
        part.cta == warp.cta.linear ? MemoryScope::Cta
        : part.cta != manyCtas &&
                part.cta / perCluster == warp.cta.linear / perCluster
            ? MemoryScope::Cluster
            : MemoryScope::Gpu;
    if (distance <= scope && distance <= part.scope)
      body(part.knowledge);
  }
}

bool HappensBefore::hasAcquired(Warp &warp, LaneMask lanes, uint64_t version,
                                MemoryOrder order, MemoryScope scope) {
  uint64_t what = version << 3 | uint64_t(scope) << 1 | acquires(order);
  WarpClock &clock = warp.clock;
  if (clock.acquired != what) {
    clock.acquired = what;
    clock.acquiredBy = 0;
  }
  bool known = !(lanes & ~clock.acquiredBy);
  clock.acquiredBy |= lanes;
  return known;
}

Knowledge &HappensBefore::partToPublish(SyncVariable &variable,
                                        const Warp &warp, MemoryScope scope) {
  variable.version = ++nextVersion;
  return partOf(variable.parts, warp, scope).knowledge;
}

WarpClock::Pending &HappensBefore::pendingOf(Warp &warp) {
  if (!warp.clock.pending)
    warp.clock.pending = std::make_unique<WarpClock::Pending>();
  return *warp.clock.pending;
}

void HappensBefore::acquire(Warp &warp, unsigned lane, uint64_t address,
                            MemoryOrder order, MemoryScope scope) {
  auto it = variables.find(address);
  if (it == variables.end())
    return;
  scope = clampScope(scope);
  LaneMask self = LaneMask(1) << lane;
  if (hasAcquired(warp, self, it->second.version, order, scope))
    return;
  if (acquires(order)) {
    forParts(warp, it->second.parts, scope,
             [&](const Knowledge &from) { learn(warp, self, from); });
    return;
  }
  if (active & relaxedVisibilities)
    forParts(warp, it->second.parts, scope, [&](const Knowledge &from) {
      learn(warp, self, from, relaxedVisibilities);
    });
  // A later fence acquires it, as far as the fence's own scope reaches.
  WarpClock::Pending &pending = pendingOf(warp);
  for (MemoryScope reach :
       {MemoryScope::Cta, MemoryScope::Cluster, MemoryScope::Gpu}) {
    if (reach > scope)
      continue;
    forParts(warp, it->second.parts, reach, [&](const Knowledge &from) {
      auto &slot = pending.seen[static_cast<unsigned>(reach)][lane];
      if (!slot)
        slot = std::make_unique<Knowledge>();
      join(*slot, from);
    });
  }
}

void HappensBefore::forgetReleases(uint64_t address) {
  auto it = variables.find(address);
  if (it == variables.end() || it->second.parts.empty())
    return;
  it->second.parts.clear();
  it->second.version = ++nextVersion;
}

void HappensBefore::releaseWork(const Warp &warp, uint64_t address,
                                MemoryScope scope, bool readsToo,
                                const Knowledge &carried) {
  if (!readsToo)
    forgetReleases(address);
  join(partToPublish(variables[address], warp, clampScope(scope)), carried);
}

void HappensBefore::release(Warp &warp, unsigned lane, uint64_t address,
                            MemoryOrder order, MemoryScope scope,
                            bool readsToo) {
  scope = clampScope(scope);
  if (!readsToo)
    forgetReleases(address);
  if (releases(order)) {
    publish(warp, LaneMask(1) << lane,
            partToPublish(variables[address], warp, scope));
    return;
  }
  if (active & relaxedVisibilities)
    publish(warp, LaneMask(1) << lane,
            partToPublish(variables[address], warp, scope),
            relaxedVisibilities);
  // A fence before a relaxed write makes it a release.
  if (!warp.clock.pending)
    return;
  for (unsigned f = 0; f < 3; ++f) {
    const auto &fenced = warp.clock.pending->fenced[f][lane];
    if (!fenced)
      continue;
    MemoryScope reach = std::min(scope, static_cast<MemoryScope>(f));
    join(partToPublish(variables[address], warp, reach), *fenced);
  }
}

void HappensBefore::fence(Warp &warp, LaneMask lanes, MemoryOrder order,
                          MemoryScope scope) {
  WarpClock::Pending &pending = pendingOf(warp);
  unsigned reach = static_cast<unsigned>(clampScope(scope));
  forLanes(lanes, [&](unsigned lane) {
    LaneMask self = LaneMask(1) << lane;
    if (acquires(order))
      for (unsigned s = 0; s <= reach; ++s)
        if (auto &seen = pending.seen[s][lane]) {
          learn(warp, self, *seen);
          if (s == reach)
            seen.reset();
        }
    if (!releases(order))
      return;
    auto &slot = pending.fenced[reach][lane];
    slot = std::make_unique<Knowledge>();
    publish(warp, self, *slot);
  });
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

HappensBefore::SyncVariable &HappensBefore::barrierAt(uint64_t address) {
  SyncVariable &variable = variables[address];
  if (!variable.row)
    variable.row = VectorClock::barrierRow + nextBarrier++;
  return variable;
}

void HappensBefore::initBarrier(uint64_t address) {
  variables.erase(address);
  barrierAt(address);
}

void HappensBefore::arriveBarrier(Warp &warp, LaneMask lanes, uint64_t address,
                                  MemoryOrder order, MemoryScope scope) {
  if (releases(order)) {
    publish(warp, lanes,
            partToPublish(barrierAt(address), warp, clampScope(scope)));
    return;
  }
  forLanes(lanes, [&](unsigned lane) {
    release(warp, lane, address, order, scope, /*readsToo=*/true);
  });
}

void HappensBefore::arriveWork(const Warp &warp, Stamp upTo, uint64_t address,
                               const Knowledge *carried) {
  Knowledge &to =
      partOf(barrierAt(address).parts, warp, MemoryScope::Cluster).knowledge;
  if (carried)
    join(to, *carried);
  to[Visibility::Base].raise(upTo.row(), upTo.lane(), upTo.clock);
  // A commit is a tcgen05.fence::before_thread_sync for what it commits.
  if (upTo.kind() == AgentKind::TensorCore)
    for (Visibility v : {Visibility::TensorBefore, Visibility::IssuedBefore})
      to[v].raise(upTo.row(), upTo.lane(), upTo.clock);
}

void HappensBefore::completeSignalled(Stamp stamp, uint64_t address) {
  SyncVariable &variable = barrierAt(address);
  completions[stamp.clock] = {variable.row, variable.phases + 1};
}

void HappensBefore::completePhase(uint64_t address) {
  SyncVariable &variable = barrierAt(address);
  ++variable.phases;
  variable.complete = variable.parts;
  variable.completeVersion = ++nextVersion;
}

void HappensBefore::acquireBarrier(Warp &warp, LaneMask lanes, uint64_t address,
                                   MemoryOrder order, MemoryScope scope) {
  SyncVariable &variable = barrierAt(address);
  scope = clampScope(scope);
  if (hasAcquired(warp, lanes, variable.completeVersion, order, scope))
    return;
  if (acquires(order)) {
    forParts(warp, variable.complete, scope,
             [&](const Knowledge &from) { learn(warp, lanes, from); });
    // The bytes that copies have completed, whoever issued them.
    Knowledge copies;
    copies[Visibility::Base].raiseRow(variable.row, variable.phases);
    learn(warp, lanes, copies);
    return;
  }
  if (active & relaxedVisibilities)
    forParts(warp, variable.complete, scope, [&](const Knowledge &from) {
      learn(warp, lanes, from, relaxedVisibilities);
    });
  WarpClock::Pending &pending = pendingOf(warp);
  for (unsigned s = 0; s <= static_cast<unsigned>(scope); ++s)
    forParts(warp, variable.complete, static_cast<MemoryScope>(s),
             [&](const Knowledge &from) {
               forLanes(lanes, [&](unsigned lane) {
                 auto &slot = pending.seen[s][lane];
                 if (!slot)
                   slot = std::make_unique<Knowledge>();
                 join(*slot, from);
                 (*slot)[Visibility::Base].raiseRow(variable.row,
                                                    variable.phases);
               });
             });
}

void HappensBefore::forgetSync(uint64_t address, uint64_t bytes) {
  variables.erase(variables.lower_bound(address),
                  variables.lower_bound(address + bytes));
}
