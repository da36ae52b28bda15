//===- BulkCopy.cpp - cp.async.bulk and its groups ------------------------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/MBarrier.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

CopyStamps kvq::emu::groupStamps(const Warp &warp, unsigned lane) {
  int64_t group = warp.asyncCopies.bulkGroup[lane];
  return {HappensBefore::bulkStamp(warp, lane, group, /*write=*/false),
          HappensBefore::bulkStamp(warp, lane, group, /*write=*/true)};
}

void kvq::emu::noteGroupReads(Warp &warp, unsigned lane) {
  warp.asyncCopies.bulkReading[lane] = warp.asyncCopies.bulkGroup[lane] + 1;
}

void kvq::emu::checkUnreadGroups(Warp &warp, const Op &op, LaneMask lanes) {
  AsyncCopyQueue &queue = warp.asyncCopies;
  if (!warp.launch.checkProtocol)
    return;
  forLanes(lanes, [&](unsigned lane) {
    if (queue.bulkReading[lane] > queue.bulkRead[lane])
      warp.report(FindingKind::BarrierMisuse, op, lane, 0,
                  "the thread ends before its bulk copies have read shared "
                  "memory; a cp.async.bulk.wait_group is missing",
                  false);
  });
}

CopyStamps kvq::emu::signalledStamps(Warp &warp, unsigned lane) {
  if (!warp.launch.checkRaces)
    return {};
  Stamp stamp = warp.launch.races.signalledStamp(warp, lane);
  return {stamp, stamp};
}

void kvq::emu::startWork(Warp &warp, unsigned lane, int64_t group,
                         std::function<void()> perform) {
  if (warp.launch.isEager()) {
    perform();
    return;
  }
  AsyncWork work;
  work.lane = static_cast<uint8_t>(lane);
  work.group = group;
  work.perform = std::move(perform);
  warp.asyncCopies.work.push_back(std::move(work));
}

void kvq::emu::completeWork(Warp &warp, uint8_t *barrier, uint32_t bytes,
                            Stamp stamp) {
  if (warp.launch.checkRaces)
    warp.launch.races.completeSignalled(stamp,
                                        reinterpret_cast<uint64_t>(barrier));
  completeTransactions(warp, warp.cta, barrier, bytes);
}

namespace {

struct BulkExtra : OpExtra {
  ExtraAddress to, from, barrier;
  Operand size, mask, bytes;
  bool hasBarrier = false, multicast = false, reduces = false;
  AtomicOperation operation;
};

/// The CTAs of a multicast mask, or nothing for the one that an address names.
llvm::SmallVector<unsigned, 16> ranksOf(Warp &warp, const Op &op, unsigned lane,
                                        uint64_t mask) {
  llvm::SmallVector<unsigned, 16> ranks;
  for (unsigned rank = 0; rank < 16; ++rank)
    if (mask >> rank & 1) {
      if (rank >= warp.cta.cluster.ctas.size()) {
        warp.report(FindingKind::IllegalOperand, op, lane, 0,
                    llvm::formatv("multicast to CTA {0} in a cluster of {1}",
                                  rank, warp.cta.cluster.ctas.size())
                        .str(),
                    true);
        return {};
      }
      ranks.push_back(rank);
    }
  return ranks;
}

void bulkCopy(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const BulkExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint64_t size = warp.values(extra.size)[lane] & 0xffffffffu;
    if (size % 16) {
      warp.report(
          FindingKind::IllegalOperand, op, lane, 0,
          llvm::formatv("{0} bytes; bulk copies move multiples of 16", size)
              .str(),
          true);
      return;
    }
    Location from;
    if (!size)
      continue;
    unsigned bytes = static_cast<unsigned>(size);
    if (!locate(warp, op, lane, extra.from.space, extra.from.value(warp, lane),
                bytes, 16, from))
      return;
    uint64_t toAddress = stripWindow(extra.to.value(warp, lane));
    uint64_t barrierAddress =
        extra.hasBarrier ? stripWindow(extra.barrier.value(warp, lane)) : 0;
    llvm::SmallVector<std::pair<uint64_t, uint64_t>, 16> targets;
    if (extra.multicast) {
      for (unsigned rank :
           ranksOf(warp, op, lane, warp.values(extra.mask)[lane] & 0xffff))
        targets.push_back(
            {inRank(toAddress, rank), inRank(barrierAddress, rank)});
    } else {
      targets.push_back({toAddress, barrierAddress});
    }
    warp.launch.counters.asyncCopyBytes += size;
    countTransfer(warp, from, size, /*write=*/false);
    for (auto [address, barrier] : targets) {
      Location to, signal;
      if (!locate(warp, op, lane, extra.to.space, address, bytes, 16, to))
        return;
      if (extra.hasBarrier &&
          !locateMBarrier(warp, op, lane, Space::SharedCluster, barrier,
                          signal))
        return;
      countTransfer(warp, to, size, /*write=*/true);
      Warp *self = &warp;
      const Op *where = &op;
      const BulkExtra *what = &extra;
      CopyStamps stamps = extra.hasBarrier ? signalledStamps(warp, lane)
                                           : groupStamps(warp, lane);
      if (!extra.hasBarrier && from.space == Space::Shared)
        noteGroupReads(warp, lane);
      AccessKind kind =
          extra.reduces ? AccessKind::StrongWrite : AccessKind::Write;
      noteAsync(warp, op, lane, from, bytes, AccessKind::Read, stamps.read);
      noteAsync(warp, op, lane, to, bytes, kind, stamps.write);
      startWork(warp, lane,
                extra.hasBarrier ? -1 : warp.asyncCopies.bulkGroup[lane], [=] {
                  noteWritten(*self, *where, lane, from, bytes,
                              AccessKind::Read);
                  noteWritten(*self, *where, lane, to, bytes, kind);
                  if (what->reduces) {
                    unsigned each = ptx::getBytes(what->operation.type);
                    for (unsigned at = 0; at < bytes; at += each)
                      updateAtomically(to.host + at, each, [&](uint64_t old) {
                        return what->operation.apply(
                            old, readBytes(from.host + at, each));
                      });
                  } else {
                    memmove(to.host, from.host, bytes);
                  }
                  self->launch.progress();
                  if (what->hasBarrier)
                    completeWork(*self, signal.host, bytes, stamps.write);
                });
    }
  }
}

void commitBulk(Warp &warp, const Op &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { ++warp.asyncCopies.bulkGroup[lane]; });
}

/// Op: imm the groups that may stay open, a: 1 .read, which does not wait for
/// the writes.
void waitBulk(Warp &warp, const Op &op, LaneMask lanes) {
  AsyncCopyQueue &queue = warp.asyncCopies;
  for (size_t i = 0; i < queue.work.size(); ++i) {
    AsyncWork &work = queue.work[i];
    if (work.done || work.group < 0 || !(lanes >> work.lane & 1) ||
        work.group >= queue.bulkGroup[work.lane] - op.imm)
      continue;
    work.done = true;
    auto perform = std::move(work.perform);
    perform();
  }
  while (!queue.work.empty() && queue.work.front().done)
    queue.work.pop_front();
  forLanes(lanes, [&](unsigned lane) {
    queue.bulkRead[lane] =
        std::max(queue.bulkRead[lane], queue.bulkGroup[lane] - op.imm);
  });
  if (!warp.launch.checkRaces)
    return;
  forLanes(lanes, [&](unsigned lane) {
    int64_t complete = queue.bulkGroup[lane] - op.imm;
    if (complete <= 0)
      return;
    for (AgentKind kind : {AgentKind::BulkRead, AgentKind::BulkWrite})
      if (kind == AgentKind::BulkRead || !op.a)
        warp.launch.races.learnOwn(warp, LaneMask(1) << lane, kind, lane,
                                   static_cast<uint32_t>(complete));
  });
}

void nothing(Warp &, const Op &, LaneMask) {}

} // namespace

static llvm::Error decodeBulk(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  auto *extra = decoder.newExtra<BulkExtra>();
  extra->hasBarrier = mods.has(Mod::MbarrierCompleteTxBytes);
  extra->multicast = mods.has(Mod::MulticastCluster);
  extra->reduces = inst.opcode == Opcode::CpReduceAsyncBulk;
  if (mods.has(Mod::CpMask) || mods.has(Mod::IgnoreOob))
    return decoder.unsupported(inst);
  size_t needed = 3 + extra->hasBarrier + extra->multicast;
  if (operands.size() < needed)
    return decoder.unsupported(inst);
  if (extra->reduces) {
    auto operation = AtomicOperation::find(inst, mods.type());
    if (!operation)
      return decoder.unsupported(inst);
    extra->operation = *operation;
    decoder.program.hasFloatAtomics |= operation->function &&
                                       operation->kind == AtomicKind::Add &&
                                       mods.space(0) == ptx::Space::Global;
  }
  Space toSpaceOf = toSpace(mods.space(0)), fromSpace = toSpace(mods.space(1));
  auto to = decodeAddress(decoder, inst, operands[0], toSpaceOf);
  if (!to)
    return to.takeError();
  auto from = decodeAddress(decoder, inst, operands[1], fromSpace);
  if (!from)
    return from.takeError();
  extra->to = ExtraAddress::from(*to);
  extra->from = ExtraAddress::from(*from);
  extra->size = decoder.source(operands[2], 32);
  if (extra->hasBarrier) {
    auto barrier =
        decodeAddress(decoder, inst, operands[3], Space::SharedCluster);
    if (!barrier)
      return barrier.takeError();
    extra->barrier = ExtraAddress::from(*barrier);
  }
  if (extra->multicast)
    extra->mask = decoder.source(operands[4], 16);
  decoder.emit(inst, bulkCopy, InstructionClass::AsyncCopy, {}, {}).extra =
      extra;
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeBulkCopy(Decoder &decoder,
                                     const ptx::Instruction &inst) {
  const auto &operands = inst.operands;
  switch (inst.opcode) {
  case Opcode::CpAsyncBulk:
  case Opcode::CpReduceAsyncBulk:
    return decodeBulk(decoder, inst);
  case Opcode::CpAsyncBulkCommitGroup:
    decoder.emit(inst, commitBulk, InstructionClass::AsyncCopy, {}, {});
    return llvm::Error::success();
  case Opcode::CpAsyncBulkWaitGroup: {
    std::optional<uint64_t> count =
        operands.size() == 1 ? Decoder::immediate(operands[0]) : std::nullopt;
    if (!count)
      return decoder.error(inst, "the number of groups must be an immediate");
    Op &op = decoder.emit(inst, waitBulk, InstructionClass::AsyncCopy, {}, {});
    op.imm = static_cast<int64_t>(*count);
    op.a = inst.mods.has(Mod::Read);
    return llvm::Error::success();
  }
  case Opcode::CpAsyncBulkPrefetch:
  case Opcode::CpAsyncBulkPrefetchTensor:
    decoder.emit(inst, nothing, InstructionClass::AsyncCopy, {}, {});
    return llvm::Error::success();
  default:
    return decoder.unsupported(inst);
  }
}
