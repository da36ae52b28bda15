//===- BarrierOps.cpp - Barriers of the warp, the CTA and the cluster -----===//

#include "kvq/Emulator/Machine/BarrierOps.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Machine/WarpOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {
enum BarrierForm : uint8_t { FormSync, FormArrive, FormRed };
enum Reduction : uint8_t { ReduceAnd, ReduceOr, ReducePopc };
} // namespace

/// Sources: barrier number, thread count, predicate of red. Op: a the form,
/// b the reduction, isSigned: .aligned, count: 1 if a thread count is given.
static void ctaBarrier(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *number = warp.values(op.src(0));
  const uint64_t *threads = warp.values(op.src(1));
  unsigned leader = llvm::countr_zero(lanes);
  uint64_t id = number[leader] & 0xffffffffu;
  uint64_t count = threads[leader] & 0xffffffffu;
  LaneMask same = lanesWhere(lanes, [&](unsigned i) {
    return (number[i] & 0xffffffffu) == id &&
           (threads[i] & 0xffffffffu) == count;
  });
  if (id >= numBarriers) {
    warp.report(
        FindingKind::BarrierMisuse, op, leader, 0,
        llvm::formatv("barrier {0}; a CTA has {1}", id, numBarriers).str(),
        true);
    return;
  }
  if (op.isSigned && warp.launch.checkProtocol) {
    // Threads of the warp that wait elsewhere make an aligned form undefined.
    for (const Group &group : warp.getGroups())
      if (group.wait == Wait::CtaBarrier && group.op != &op)
        warp.report(FindingKind::Divergence, op, leader, 0,
                    llvm::formatv("threads of the warp are at different "
                                  "aligned barriers: others wait at line {0}",
                                  group.op->line)
                        .str(),
                    false);
  }
  // Threads with another barrier number take their turn after these.
  if (LaneMask others = lanes & ~same)
    warp.jump(others, warp.getPc() - 1);
  LaneMask predicate =
      op.a == FormRed ? warp.predicate(op.src(2)) : LaneMask(0);
  if (op.a != FormArrive)
    warp.park(same, warp.getPc(), Wait::CtaBarrier, id, op);
  warp.cta.arrive(warp, op, static_cast<unsigned>(id),
                  static_cast<unsigned>(count), same, predicate);
}

void kvq::emu::finishBarrierWait(Warp &warp, Group &group, unsigned trueCount,
                                 unsigned threadCount) {
  const Op &op = *group.op;
  if (op.a != FormRed || !op.numDst)
    return;
  uint64_t value = op.b == ReduceAnd  ? trueCount == threadCount
                   : op.b == ReduceOr ? trueCount != 0
                                      : trueCount;
  forLanes(group.lanes, [&](unsigned lane) {
    warp.setCallerRegister(group.frame, op.dst(), lane, value);
  });
}

static void warpBarrier(Warp &warp, const Op &op, LaneMask lanes) {
  LaneMask members;
  if (!convergeOn(warp, op, op.src(0), lanes, members))
    return;
  if (warp.launch.checkRaces)
    warp.launch.races.converge(warp, lanes);
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// Whether every thread that has not ended has arrived in this phase.
static bool haveAllArrived(const Cluster &cluster) {
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      if (lanesWhere(warp->live(), [&](unsigned i) {
            return warp->clusterPhase[i] != cluster.phase + 1;
          }))
        return false;
  return true;
}

void kvq::emu::completeClusterBarrier(Cluster &cluster) {
  if (!cluster.arrived || !haveAllArrived(cluster))
    return;
  cluster.arrived = 0;
  ++cluster.phase;
  // What earlier phases published stays known: it came first.
  cluster.publishedOfPhase = cluster.published;
  cluster.launch.progress();
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps) {
      LaneMask released = 0;
      warp->wake([&](const Group &group) {
        if (group.wait != Wait::ClusterBarrier || group.value > cluster.phase)
          return false;
        released |= group.lanes;
        return true;
      });
      forLanes(released, [&](unsigned i) { warp->clusterPhase[i] = 0; });
      if (released && cluster.launch.checkRaces)
        cluster.launch.races.learn(*warp, released, cluster.publishedOfPhase);
    }
}

/// Op: a: relaxed.
static void clusterArrive(Warp &warp, const Op &op, LaneMask lanes) {
  Cluster &cluster = warp.cta.cluster;
  LaneMask twice =
      lanesWhere(lanes, [&](unsigned i) { return warp.clusterPhase[i] != 0; });
  if (twice) {
    warp.report(FindingKind::BarrierMisuse, op, llvm::countr_zero(twice), 0,
                "the thread arrives at the cluster barrier again without "
                "having waited",
                true);
    return;
  }
  forLanes(lanes,
           [&](unsigned i) { warp.clusterPhase[i] = cluster.phase + 1; });
  if (warp.launch.checkRaces) {
    if (op.a)
      warp.launch.races.publishFenced(warp, lanes, MemoryScope::Cluster,
                                      cluster.published);
    else
      warp.launch.races.publish(warp, lanes, cluster.published);
  }
  cluster.arrived += static_cast<unsigned>(llvm::popcount(lanes));
  warp.launch.progress();
  completeClusterBarrier(cluster);
}

static void clusterWait(Warp &warp, const Op &op, LaneMask lanes) {
  Cluster &cluster = warp.cta.cluster;
  unsigned leader = llvm::countr_zero(lanes);
  uint64_t phase = warp.clusterPhase[leader];
  if (!phase) {
    warp.report(FindingKind::BarrierMisuse, op, leader, 0,
                "the thread waits at the cluster barrier without having "
                "arrived",
                true);
    return;
  }
  LaneMask same = lanesWhere(
      lanes, [&](unsigned i) { return warp.clusterPhase[i] == phase; });
  if (LaneMask others = lanes & ~same)
    warp.jump(others, warp.getPc() - 1);
  if (phase <= cluster.phase) {
    forLanes(same, [&](unsigned i) { warp.clusterPhase[i] = 0; });
    if (warp.launch.checkRaces)
      warp.launch.races.learn(warp, same, cluster.publishedOfPhase);
    return;
  }
  Group &group = warp.park(same, warp.getPc(), Wait::ClusterBarrier, phase, op);
  group.value = phase;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

llvm::Error kvq::emu::decodeBarrier(Decoder &decoder,
                                    const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  switch (inst.opcode) {
  case Opcode::BarWarpSync: {
    Operand mask = decoder.source(operands[0], 32);
    Op &op =
        decoder.emit(inst, warpBarrier, InstructionClass::Barrier, {}, mask);
    op.a = 1;
    return llvm::Error::success();
  }
  case Opcode::BarrierClusterArrive: {
    Op &op =
        decoder.emit(inst, clusterArrive, InstructionClass::Barrier, {}, {});
    op.a = mods.order == ptx::Order::Relaxed;
    return llvm::Error::success();
  }
  case Opcode::BarrierClusterWait:
    decoder.emit(inst, clusterWait, InstructionClass::Barrier, {}, {});
    return llvm::Error::success();
  default:
    break;
  }
  bool red = inst.opcode == Opcode::BarRed;
  // {d,} a {, b} {, c}
  size_t first = red ? 1 : 0;
  size_t last = operands.size() - (red ? 1 : 0);
  if (operands.size() < first + 1 || last <= first || last - first > 2)
    return decoder.unsupported(inst);
  llvm::SmallVector<Operand, 3> src, dst;
  src.push_back(decoder.source(operands[first], 32));
  src.push_back(last - first == 2 ? decoder.source(operands[first + 1], 32)
                                  : decoder.constant(0));
  Reduction reduction = ReduceAnd;
  if (red) {
    src.push_back(decoder.predicateSource(operands.back()));
    reduction = mods.has(Mod::And)  ? ReduceAnd
                : mods.has(Mod::Or) ? ReduceOr
                                    : ReducePopc;
    dst.push_back(
        decoder.destination(operands[0], reduction == ReducePopc ? 32 : 1));
  }
  Op &op = decoder.emit(inst, ctaBarrier, InstructionClass::Barrier, dst, src);
  op.a = red                                ? FormRed
         : inst.opcode == Opcode::BarArrive ? FormArrive
                                            : FormSync;
  op.b = reduction;
  op.isSigned = mods.aligned;
  return llvm::Error::success();
}
