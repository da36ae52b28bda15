//===- WarpControl.cpp - Jumps, calls, and where threads meet -------------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace kvq::emu;

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
