//===- Warp.cpp - Thirty-two threads and their control flow ---------------===//

#include "kvq/Emulator/Machine/Warp.h"
#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Memory.h"
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
  setSpecialRegisters();
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

Group *Warp::storeGroup() {
  auto it = std::find_if(groups.begin(), groups.end(), [](const Group &group) {
    return group.wait == Wait::Running;
  });
  if (!activeLanes) {
    groups.erase(it);
    return nullptr;
  }
  it->lanes = activeLanes;
  it->pc = pc;
  it->frame = frame;
  it->depth = depth;
  it->wait = Wait::None;
  return it;
}

/// A load or an atomic operation; their addresses are the last source.
void Warp::noteRead(const Op &op, LaneMask lanes) {
  bool reads = op.category == InstructionClass::Atomic ||
               (op.numDst && (op.category == InstructionClass::Global ||
                              op.category == InstructionClass::Shared));
  if (!reads || !op.numSrc)
    return;
  const Operand &base = op.src(op.numSrc - 1u);
  readOp = &op;
  readAddress = addressBias(*this, op);
  if (base.bank != Bank::None && !base.predicate)
    readAddress += values(base)[llvm::countr_zero(lanes)];
}

uint64_t Warp::run(uint64_t budget) {
  const Op *ops = program.ops.data();
  uint64_t done = 0;
  yielded = false;
  watches = launch.watches();
  while (done < budget && !yielded && !launch.stopped() && selectGroup()) {
    switchRequested = false;
    // With other groups waiting for a turn this one runs for a while only.
    uint64_t limit = budget;
    if (groups.size() > 1)
      limit = std::min(budget, done + fairShare);
    uint64_t start = done;
    readOp = nullptr;
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
        if (watches)
          noteRead(op, lanes);
        op.handler(*this, op, lanes);
      }
    } while (!switchRequested && done < limit && pc < nextPc);
    executed += done - start;
    if (groups.size() > 1)
      divergentSteps += done - start;
    Group *group = storeGroup();
    if (!watches || !group)
      continue;
    if (!group->watch)
      group->watch = std::make_shared<SpinWatch>();
    if (readOp) {
      group->watch->read = readOp;
      group->watch->address = readAddress;
    }
    group->watch->sample(*this, *group, launch.epoch());
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
