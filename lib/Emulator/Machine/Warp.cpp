//===- Warp.cpp - Thirty-two threads and their control flow ---------------===//

#include "kvq/Emulator/Machine/Warp.h"
#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace kvq::emu;

/// Instructions that one group may run ahead while another waits for a turn.
static constexpr uint64_t fairShare = 256;

Warp::Warp(Cta &cta, unsigned index, LaneMask present)
    : cta(cta), launch(cta.launch), program(cta.launch.program), index(index),
      globalIndex(
          static_cast<uint32_t>(cta.linear * cta.launch.warpsPerCta + index)),
      exited(~present), counts(program.countKinds.size()),
      specials(numSpecialRegisters * warpSize), local(32), localShadow(32),
      stacks(32) {
  Group group;
  group.lanes = present;
  group.pc = program.functions[0].entry;
  groups.push_back(group);
  ensureFrame(Frame(), program.functions[0]);
  if (uint32_t bytes = program.functions[0].frameBytes)
    forLanes(present, [&](unsigned lane) { localMemory(lane, bytes); });
  banks[static_cast<unsigned>(Bank::Constant)] = program.constants.data();
  banks[static_cast<unsigned>(Bank::Special)] = specials.data();
  if (launch.checkRaces) {
    uint32_t perCluster = static_cast<uint32_t>(launch.clusterShape.volume()) *
                          launch.warpsPerCta;
    for (WarpKnowledge &known : clock.known)
      known.common =
          VectorClock(globalIndex / perCluster * perCluster, perCluster);
  }

  auto set = [&](SpecialRegister reg, auto &&value) {
    uint64_t *slot = specials.data() + static_cast<unsigned>(reg) * warpSize;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      slot[lane] = value(lane);
  };
  auto setAll = [&](SpecialRegister reg, uint64_t value) {
    set(reg, [&](unsigned) { return value; });
  };
  using SR = SpecialRegister;
  const Dim3 &block = launch.config.block, &grid = launch.config.grid;
  const Dim3 &shape = launch.clusterShape;
  set(SR::TidX, [&](unsigned lane) { return threadIndex(lane).x; });
  set(SR::TidY, [&](unsigned lane) { return threadIndex(lane).y; });
  set(SR::TidZ, [&](unsigned lane) { return threadIndex(lane).z; });
  setAll(SR::NtidX, block.x);
  setAll(SR::NtidY, block.y);
  setAll(SR::NtidZ, block.z);
  setAll(SR::CtaidX, cta.id.x);
  setAll(SR::CtaidY, cta.id.y);
  setAll(SR::CtaidZ, cta.id.z);
  setAll(SR::NctaidX, grid.x);
  setAll(SR::NctaidY, grid.y);
  setAll(SR::NctaidZ, grid.z);
  set(SR::LaneId, [](unsigned lane) { return lane; });
  setAll(SR::WarpId, index);
  setAll(SR::NwarpId, launch.warpsPerCta);
  // CTAs lie on 148 processors in turn, as on a B200.
  setAll(SR::NsmId, 148);
  setAll(SR::SmId, cta.linear % 148);
  setAll(SR::GridId, 1);
  setAll(SR::IsExplicitCluster, shape.volume() > 1);
  setAll(SR::ClusterIdX, cta.id.x / shape.x);
  setAll(SR::ClusterIdY, cta.id.y / shape.y);
  setAll(SR::ClusterIdZ, cta.id.z / shape.z);
  setAll(SR::NclusterIdX, grid.x / shape.x);
  setAll(SR::NclusterIdY, grid.y / shape.y);
  setAll(SR::NclusterIdZ, grid.z / shape.z);
  setAll(SR::ClusterCtaidX, cta.id.x % shape.x);
  setAll(SR::ClusterCtaidY, cta.id.y % shape.y);
  setAll(SR::ClusterCtaidZ, cta.id.z % shape.z);
  setAll(SR::ClusterNctaidX, shape.x);
  setAll(SR::ClusterNctaidY, shape.y);
  setAll(SR::ClusterNctaidZ, shape.z);
  setAll(SR::ClusterCtarank, cta.rank);
  setAll(SR::ClusterNctarank, shape.volume());
  set(SR::LanemaskEq, [](unsigned lane) { return 1u << lane; });
  set(SR::LanemaskLt, [](unsigned lane) { return (1u << lane) - 1; });
  set(SR::LanemaskLe,
      [](unsigned lane) { return (uint64_t(2) << lane) - 1 & 0xffffffffu; });
  set(SR::LanemaskGt,
      [](unsigned lane) { return ~((uint64_t(2) << lane) - 1) & 0xffffffffu; });
  set(SR::LanemaskGe,
      [](unsigned lane) { return ~((uint64_t(1) << lane) - 1) & 0xffffffffu; });
  setAll(SR::TotalSmemSize, launch.sharedBytes - sharedReserved);
  setAll(SR::AggrSmemSize, launch.sharedBytes);
  setAll(SR::DynamicSmemSize, launch.config.dynamicSharedBytes);
  setAll(SR::ReservedSmemOffsetBegin, 0);
  setAll(SR::ReservedSmemOffsetEnd, sharedReserved);
  setAll(SR::ReservedSmemOffsetCap, sharedReserved);
  setAll(SR::WarpSize, warpSize);
}

Dim3 Warp::threadIndex(unsigned lane) const {
  const Dim3 &block = launch.config.block;
  uint32_t linear = index * warpSize + lane;
  return {linear % block.x, linear / block.x % block.y,
          linear / (block.x * block.y)};
}

void Warp::refreshClocks() {
  // One step of the emulator stands for one clock, and a nanosecond for two.
  uint64_t now = cta.cluster.steps + executed;
  auto set = [&](SpecialRegister reg, uint64_t value) {
    uint64_t *slot = specials.data() + static_cast<unsigned>(reg) * warpSize;
    std::fill(slot, slot + warpSize, value);
  };
  set(SpecialRegister::Clock, now & 0xffffffffu);
  set(SpecialRegister::ClockHi, now >> 32);
  set(SpecialRegister::Clock64, now);
  set(SpecialRegister::GlobalTimer, now / 2);
  set(SpecialRegister::GlobalTimerLo, now / 2 & 0xffffffffu);
  set(SpecialRegister::GlobalTimerHi, now / 2 >> 32);
}

LaneMask Warp::nonZeroLanes(const Operand &operand) const {
  const uint64_t *slot = values(operand);
  LaneMask result = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result |= LaneMask(slot[lane] != 0) << lane;
  return result;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Warp::ensureFrame(const Frame &newFrame, const ProgramFunction &function) {
  size_t values = size_t(newFrame.registers + function.registers) * warpSize;
  if (registers.size() < values)
    registers.resize(values);
  size_t masks = newFrame.predicates + function.predicates;
  if (predicates.size() < masks)
    predicates.resize(masks);
  useFrame(frame);
}

void Warp::useFrame(const Frame &newFrame) {
  frame = newFrame;
  registerBank = registers.data() + size_t(frame.registers) * warpSize;
  predicateBank = predicates.data() + frame.predicates;
  banks[static_cast<unsigned>(Bank::Register)] = registerBank;
}

void Warp::mergeGroups() {
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t j = i + 1; j < groups.size();) {
      Group &a = groups[i], &b = groups[j];
      bool same = a.pc == b.pc && a.frame == b.frame && a.depth == b.depth &&
                  a.wait == Wait::None && b.wait == Wait::None &&
                  a.timedOut == b.timedOut;
      if (!same) {
        ++j;
        continue;
      }
      a.lanes |= b.lanes;
      groups.erase(groups.begin() + j);
    }
}

bool Warp::isRunnable() const {
  return std::any_of(groups.begin(), groups.end(), [](const Group &group) {
    return group.wait == Wait::None;
  });
}

bool Warp::selectGroup() {
  int best = 0;
  if (groups.size() == 1) {
    if (groups[0].wait != Wait::None)
      return false;
    nextPc = ~0u;
  } else {
    mergeGroups();
    best = -1;
    bool rotate = divergentSteps >= fairShare;
    unsigned runnable = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      const Group &group = groups[i];
      if (group.wait != Wait::None)
        continue;
      ++runnable;
      if (best < 0) {
        best = static_cast<int>(i);
        continue;
      }
      const Group &chosen = groups[best];
      bool better = rotate ? group.lastRun < chosen.lastRun
                    : group.depth != chosen.depth ? group.depth > chosen.depth
                                                  : group.pc < chosen.pc;
      if (better)
        best = static_cast<int>(i);
    }
    if (best < 0)
      return false;
    if (launch.isRandom() && runnable > 1 && launch.random(4) == 0)
      for (unsigned skip = launch.random(runnable), i = 0; i < groups.size();
           ++i)
        if (groups[i].wait == Wait::None && skip-- == 0)
          best = static_cast<int>(i);
    if (rotate || runnable == 1)
      divergentSteps = 0;
    nextPc = ~0u;
    const Group &chosen = groups[best];
    for (const Group &group : groups)
      if (group.wait == Wait::None && group.pc > chosen.pc &&
          group.depth == chosen.depth)
        nextPc = std::min(nextPc, group.pc);
  }
  Group &group = groups[static_cast<unsigned>(best)];
  activeLanes = group.lanes;
  pc = group.pc;
  depth = group.depth;
  group.lastRun = ++turns;
  group.wait = Wait::Running;
  timeout = group.timedOut;
  group.timedOut = false;
  useFrame(group.frame);
  return true;
}

void Warp::storeGroup() {
  auto it = std::find_if(groups.begin(), groups.end(), [](const Group &group) {
    return group.wait == Wait::Running;
  });
  if (!activeLanes) {
    groups.erase(it);
    return;
  }
  it->lanes = activeLanes;
  it->pc = pc;
  it->frame = frame;
  it->depth = depth;
  it->wait = Wait::None;
}

uint64_t Warp::run(uint64_t budget) {
  const Op *ops = program.ops.data();
  uint64_t done = 0;
  yielded = false;
  while (done < budget && !yielded && !launch.stopped() && selectGroup()) {
    switchRequested = false;
    // With other groups waiting for a turn this one runs for a while only.
    uint64_t limit = budget;
    if (groups.size() > 1)
      limit = std::min(budget, done + fairShare);
    uint64_t start = done;
    do {
      const Op &op = ops[pc];
      LaneMask lanes = activeLanes;
      if (op.guard >= 0) {
        LaneMask guard = predicateBank[op.guard];
        lanes &= op.guardNegated ? ~guard : guard;
      }
      ++pc;
      ++done;
      std::array<uint64_t, 2> &count = counts[op.countKind];
      ++count[0];
      count[1] += static_cast<unsigned>(llvm::popcount(lanes));
      if (lanes) {
        runningOp = &op;
        if (pendingLoads)
          resolveTensorLoads(*this, op);
        op.handler(*this, op, lanes);
      }
    } while (!switchRequested && done < limit && pc < nextPc);
    executed += done - start;
    if (groups.size() > 1)
      divergentSteps += done - start;
    storeGroup();
  }
  return done;
}

void Warp::uncount(const Op &op, LaneMask lanes) {
  --counts[op.countKind][0];
  counts[op.countKind][1] -= static_cast<unsigned>(llvm::popcount(lanes));
}

void Warp::addCountsTo(InstructionCounts &total) const {
  for (size_t i = 1; i < counts.size(); ++i) {
    const CountKind &kind = program.countKinds[i];
    total.warp[static_cast<unsigned>(kind.category)] += counts[i][0];
    total.thread[static_cast<unsigned>(kind.category)] += counts[i][1];
    total.pipes[static_cast<unsigned>(kind.pipe)] += counts[i][0];
  }
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void Warp::jump(LaneMask lanes, uint32_t target) {
  if (lanes == activeLanes) {
    // Backward jumps may pass the pc of a group that is behind.
    if (groups.size() > 1 && target < pc)
      switchRequested = true;
    pc = target;
    return;
  }
  Group group;
  group.lanes = lanes;
  group.pc = target;
  group.frame = frame;
  group.depth = depth;
  groups.push_back(group);
  activeLanes &= ~lanes;
  switchRequested = true;
}

void Warp::notePoll(const Op *op, uint64_t key, uint64_t parity) {
  for (Group &group : groups)
    if (group.wait == Wait::Running) {
      group.polls = op;
      group.op = op;
      group.key = key;
      group.value = parity;
    }
}

Group &Warp::park(LaneMask lanes, uint32_t resumePc, Wait wait, uint64_t key,
                  const Op &op) {
  Group group;
  group.lanes = lanes;
  group.pc = resumePc;
  group.frame = frame;
  group.depth = depth;
  group.wait = wait;
  group.key = key;
  group.op = &op;
  activeLanes &= ~lanes;
  switchRequested = true;
  groups.push_back(group);
  return groups.back();
}

void Warp::exitLanes(LaneMask lanes) {
  checkUnreadGroups(*this, *runningOp, lanes);
  exited |= lanes;
  activeLanes &= ~lanes;
  switchRequested = true;
  retryWarpSync();
  cta.threadsExited(*this);
  launch.progress();
}

void Warp::call(const Op &op, LaneMask lanes, uint32_t function) {
  const ProgramFunction &caller = program.functionAt(pc - 1);
  const ProgramFunction &callee = program.functions[function];
  constexpr size_t maxDepth = 4096;
  if (depth >= maxDepth) {
    report(FindingKind::Trap, op, llvm::countr_zero(lanes), 0,
           llvm::formatv("call depth exceeds {0}", maxDepth).str(), true);
    return;
  }
  Activation activation;
  activation.returnPc = pc;
  activation.frame = frame;
  activation.call = &op;
  Frame inner = frame;
  inner.registers += caller.registers;
  inner.predicates += caller.predicates;
  inner.local += (caller.frameBytes + 15) & ~15u;
  forLanes(lanes, [&](unsigned lane) {
    activation.stackTop = stackTops[lane];
    stacks[lane].push_back(activation);
  });
  ensureFrame(inner, callee);
  useFrame(inner);
  ++depth;
  pc = callee.entry;
  if (groups.size() > 1)
    switchRequested = true;
}

void Warp::returnLanes(LaneMask lanes) {
  if (depth == 0) {
    exitLanes(lanes);
    return;
  }
  uint32_t calleeDepth = depth;
  LaneMask rest = lanes;
  bool leavesWhole = lanes == activeLanes;
  bool first = true;
  activeLanes &= ~lanes;
  // Threads that were called from different places go back to each.
  while (rest) {
    unsigned leader = llvm::countr_zero(rest);
    Activation activation = stacks[leader].back();
    LaneMask same = 0;
    forLanes(rest, [&](unsigned lane) {
      const Activation &other = stacks[lane].back();
      if (other.returnPc == activation.returnPc &&
          other.frame == activation.frame)
        same |= LaneMask(1) << lane;
    });
    forLanes(same, [&](unsigned lane) {
      stackTops[lane] = stacks[lane].back().stackTop;
      stacks[lane].pop_back();
    });
    rest &= ~same;
    if (leavesWhole && first) {
      activeLanes = same;
      pc = activation.returnPc;
      depth = calleeDepth - 1;
      useFrame(activation.frame);
      first = false;
      if (groups.size() > 1 || rest)
        switchRequested = true;
      continue;
    }
    Group group;
    group.lanes = same;
    group.pc = activation.returnPc;
    group.frame = activation.frame;
    group.depth = calleeDepth - 1;
    groups.push_back(group);
    switchRequested = true;
  }
}

//===----------------------------------------------------------------------===//
// Convergence
//===----------------------------------------------------------------------===//

bool Warp::converge(const Op &op, LaneMask lanes, LaneMask members) {
  LaneMask outside = lanes & ~members;
  if (outside) {
    report(FindingKind::IllegalOperand, op, llvm::countr_zero(outside), 0,
           llvm::formatv("the thread is not in its own member mask {0:x8}",
                         members),
           true);
    return false;
  }
  LaneMask needed = members & live();
  if (!(needed & ~lanes))
    return true;
  uncount(op, lanes);
  park(lanes, pc - 1, Wait::WarpSync, members, op);
  retryWarpSync();
  return false;
}

bool Warp::convergeAligned(const Op &op, LaneMask lanes) {
  if (!converge(op, lanes, allLanes))
    return false;
  if (lanes != allLanes && launch.checkProtocol)
    report(FindingKind::Divergence, op, llvm::countr_zero(~lanes), 0,
           llvm::formatv("the instruction is for all threads of a warp, and "
                         "threads {0:x8} have ended without it",
                         ~lanes),
           false);
  return true;
}

void Warp::retryWarpSync() {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].wait != Wait::WarpSync)
      continue;
    LaneMask members = static_cast<LaneMask>(groups[i].key);
    LaneMask here = 0, samePlace = 0;
    for (const Group &group : groups)
      if (group.wait == Wait::WarpSync && group.key == members) {
        here |= group.lanes;
        if (group.pc == groups[i].pc && group.frame == groups[i].frame)
          samePlace |= group.lanes;
      }
    LaneMask needed = members & live();
    if (needed & ~here)
      continue;
    if (!(needed & ~samePlace)) {
      // All at one place: they execute it again, now together.
      uint32_t place = groups[i].pc;
      Frame where = groups[i].frame;
      wake([&](const Group &group) {
        return group.wait == Wait::WarpSync && group.key == members &&
               group.pc == place && group.frame == where;
      });
      continue;
    }
    bool barriers =
        std::all_of(groups.begin(), groups.end(), [&](const Group &group) {
          return group.wait != Wait::WarpSync || group.key != members ||
                 group.op->a == 1;
        });
    if (barriers) {
      // bar.warp.sync orders threads wherever they execute it.
      if (launch.checkRaces)
        launch.races.converge(*this, here);
      for (Group &group : groups)
        if (group.wait == Wait::WarpSync && group.key == members) {
          ++group.pc;
          group.wait = Wait::None;
        }
      continue;
    }
    const Group &group = groups[i];
    report(FindingKind::Divergence, *group.op, llvm::countr_zero(group.lanes),
           0,
           llvm::formatv("threads of member mask {0:x8} wait at different "
                         "warp-level instructions",
                         members),
           true);
    return;
  }
}

//===----------------------------------------------------------------------===//
// Memory and reports
//===----------------------------------------------------------------------===//

uint8_t *Warp::localMemory(unsigned lane, uint64_t bytes) {
  std::vector<uint8_t> &memory = local[lane];
  if (memory.size() < bytes) {
    memory.resize(bytes);
    if (launch.checkWritten)
      localShadow[lane].resize(bytes);
  }
  return memory.data();
}

void Warp::report(FindingKind kind, const Op &op, unsigned lane,
                  uint64_t address, const llvm::Twine &message, bool fatal) {
  Finding finding;
  finding.kind = kind;
  finding.fatal = fatal;
  finding.kernel = program.name;
  finding.file = program.file;
  finding.line = op.line;
  finding.instruction = op.oneLine();
  finding.cta = cta.id;
  finding.thread = threadIndex(lane);
  finding.address = address;
  finding.message = message.str();
  launch.report(cta.cluster, std::move(finding));
  if (fatal)
    switchRequested = true;
}
