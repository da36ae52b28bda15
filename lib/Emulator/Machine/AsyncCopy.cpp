//===- AsyncCopy.cpp - cp.async and its groups ----------------------------===//

#include "kvq/Emulator/Machine/AsyncCopy.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/MBarrier.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

static void perform(AsyncCopy &copy) {
  if (copy.sourceBytes)
    memcpy(copy.to, copy.from, copy.sourceBytes);
  memset(copy.to + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
  if (copy.toWritten)
    memset(copy.toWritten, 1, copy.bytes);
  copy.done = true;
}

static void settle(AsyncCopy &copy) {
  if (!copy.done)
    perform(copy);
  copy.waited = true;
}

/// Fires arrivals whose copies are all done. Returns whether any did.
static bool fireArrives(Warp &warp) {
  AsyncCopyQueue &queue = warp.asyncCopies;
  bool any = false;
  for (AsyncArrive &arrive : queue.arrives) {
    if (arrive.fired)
      continue;
    bool ready = true;
    for (size_t i = 0; i < queue.copies.size() && ready; ++i)
      ready = queue.firstSequence + i >= arrive.sequence ||
              queue.copies[i].lane != arrive.lane || queue.copies[i].done;
    if (!ready)
      continue;
    for (size_t i = 0; i < queue.copies.size(); ++i)
      if (queue.firstSequence + i < arrive.sequence &&
          queue.copies[i].lane == arrive.lane)
        settle(queue.copies[i]);
    arrive.fired = true;
    any = true;
    if (warp.launch.checkRaces) {
      Stamp upTo = HappensBefore::copyStamp(warp, arrive.lane);
      upTo.clock = arrive.segment;
      warp.launch.races.arriveWork(warp, upTo,
                                   reinterpret_cast<uint64_t>(arrive.barrier),
                                   arrive.carried.get());
    }
    arriveOnMBarrier(warp, warp.cta, arrive.barrier, 1);
  }
  while (!queue.arrives.empty() && queue.arrives.front().fired)
    queue.arrives.pop_front();
  while (!queue.copies.empty() && queue.copies.front().waited) {
    queue.copies.pop_front();
    ++queue.firstSequence;
  }
  return any;
}

bool AsyncCopyQueue::isSettled() const {
  auto isDone = [](const auto &item) { return item.done; };
  return arrives.empty() && llvm::all_of(copies, isDone) &&
         llvm::all_of(work, isDone);
}

bool kvq::emu::advanceAsyncCopies(Warp &warp, bool all) {
  AsyncCopyQueue &queue = warp.asyncCopies;
  if (queue.empty())
    return false;
  bool any = false;
  for (AsyncCopy &copy : queue.copies)
    if (!copy.done && (all || warp.launch.random(2))) {
      perform(copy);
      any = true;
    }
  // Work that is done may queue more.
  bool blocked = false;
  for (size_t i = 0; i < queue.work.size(); ++i) {
    if (queue.work[i].done)
      continue;
    bool ordered = queue.work[i].ordered;
    if ((ordered && blocked) || !(all || warp.launch.random(2))) {
      blocked |= ordered;
      continue;
    }
    queue.work[i].done = true;
    auto perform = std::move(queue.work[i].perform);
    perform();
    any = true;
  }
  while (!queue.work.empty() && queue.work.front().done)
    queue.work.pop_front();
  return fireArrives(warp) || any;
}

/// cp.async. Sources: source size or predicate (optional), destination address,
/// source address. Op: bits the bytes to copy, a: 1 there is a source size, 2
/// there is an ignore-src predicate; b, imm and c of the destination; the
/// source's bias is in the extra.
namespace {
struct AsyncExtra : OpExtra {
  int64_t sourceImm = 0;
};
} // namespace

static void issueCopy(Warp &warp, const Op &op, LaneMask lanes) {
  const Operand &toOperand = op.src(op.numSrc - 2u);
  const Operand &fromOperand = op.src(op.numSrc - 1u);
  const uint64_t *to = toOperand.isNone() ? nullptr : warp.values(toOperand);
  const uint64_t *from =
      fromOperand.isNone() ? nullptr : warp.values(fromOperand);
  uint64_t toBias = addressBias(warp, op);
  uint64_t fromBias = static_cast<uint64_t>(
      static_cast<const AsyncExtra *>(op.extra)->sourceImm);
  unsigned bytes = op.bits;
  const uint64_t *sizes = op.a == 1 ? warp.values(op.src(0)) : nullptr;
  LaneMask ignored = op.a == 2 ? warp.predicate(op.src(0)) : 0;
  AsyncCopyQueue &queue = warp.asyncCopies;
  AccessCounter reads(warp, /*write=*/false), writes(warp, /*write=*/true);
  bool eager = warp.launch.isEager();
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned i = llvm::countr_zero(rest);
    AsyncCopy copy;
    copy.lane = static_cast<uint8_t>(i);
    copy.bytes = static_cast<uint8_t>(bytes);
    uint64_t sourceBytes = sizes ? sizes[i] & 0xffffffffu : bytes;
    if (ignored >> i & 1)
      sourceBytes = 0;
    if (sourceBytes > bytes) {
      warp.report(FindingKind::IllegalOperand, op, i, 0,
                  llvm::formatv("source size {0} of a copy of {1} bytes",
                                sourceBytes, bytes)
                      .str(),
                  true);
      return;
    }
    copy.sourceBytes = static_cast<uint8_t>(sourceBytes);
    copy.group = queue.group[i];
    Location destination;
    if (!locate(warp, op, i, Space::Shared, (to ? to[i] : 0) + toBias, bytes,
                bytes, destination))
      return;
    copy.to = destination.host;
    copy.toWritten = destination.written;
    if (sourceBytes) {
      Location source;
      uint64_t address = (from ? from[i] : 0) + fromBias;
      // Alignment is that of the whole copy, bounds are those of what is read.
      if (!locate(warp, op, i, op.space, address, copy.sourceBytes, 1, source))
        return;
      if (address % bytes) {
        warp.report(FindingKind::Misaligned, op, i, address,
                    llvm::formatv("address {0:x} is not aligned to {1} bytes",
                                  address, bytes)
                        .str(),
                    true);
        return;
      }
      reads.add(source, copy.sourceBytes);
      noteWritten(warp, op, i, source, copy.sourceBytes, AccessKind::Read);
      if (warp.launch.checkRaces)
        warp.launch.races.access(
            warp, op, i, reinterpret_cast<uint64_t>(source.host),
            copy.sourceBytes, AccessKind::Read, source.space, source.shown,
            HappensBefore::copyStamp(warp, i), Proxy::Generic);
      copy.from = source.host;
    }
    warp.launch.counters.asyncCopyBytes += sourceBytes;
    writes.add(destination, bytes);
    if (warp.launch.checkRaces) {
      Stamp stamp = HappensBefore::copyStamp(warp, i);
      copy.segment = stamp.clock;
      warp.launch.races.access(warp, op, i, reinterpret_cast<uint64_t>(copy.to),
                               bytes, AccessKind::Write, Space::Shared,
                               destination.shown, stamp, Proxy::Generic);
    }
    if (eager) {
      perform(copy);
      // Without the race check nothing needs to be remembered.
      if (!warp.launch.checkRaces)
        continue;
    }
    queue.copies.push_back(copy);
  }
  warp.launch.progress();
}

static void commitGroup(Warp &warp, const Op &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned i) {
    ++warp.asyncCopies.group[i];
    HappensBefore::closeCopies(warp, i);
  });
}

/// Op: imm the groups that may stay open, or -1 to wait for everything.
static void waitGroup(Warp &warp, const Op &op, LaneMask lanes) {
  AsyncCopyQueue &queue = warp.asyncCopies;
  if (queue.empty())
    return;
  // What is not committed is part of wait_all.
  if (op.imm < 0)
    forLanes(lanes, [&](unsigned i) { HappensBefore::closeCopies(warp, i); });
  std::array<uint32_t, warpSize> segments{};
  for (AsyncCopy &copy : queue.copies) {
    if (!(lanes >> copy.lane & 1) || copy.waited)
      continue;
    int64_t committed = queue.group[copy.lane];
    if (op.imm < 0 || int64_t(copy.group) < committed - op.imm) {
      settle(copy);
      segments[copy.lane] = std::max(segments[copy.lane], copy.segment);
    }
  }
  if (warp.launch.checkRaces)
    forLanes(lanes, [&](unsigned i) {
      if (segments[i])
        warp.launch.races.learnOwn(warp, LaneMask(1) << i, AgentKind::AsyncCopy,
                                   i, segments[i]);
    });
  fireArrives(warp);
}

/// cp.async.mbarrier.arrive. Op: a: noinc.
static void arriveWhenDone(Warp &warp, const Op &op, LaneMask lanes) {
  const Operand &operand = op.src(0);
  const uint64_t *base = operand.isNone() ? nullptr : warp.values(operand);
  uint64_t bias = addressBias(warp, op);
  AsyncCopyQueue &queue = warp.asyncCopies;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned i = llvm::countr_zero(rest);
    Location location;
    if (!locateMBarrier(warp, op, i, op.space, (base ? base[i] : 0) + bias,
                        location))
      return;
    if (!op.a)
      addPendingArrivals(warp, op, i, location, 1);
    AsyncArrive arrive;
    arrive.lane = static_cast<uint8_t>(i);
    arrive.sequence = queue.firstSequence + queue.copies.size();
    arrive.barrier = location.host;
    if (warp.launch.checkRaces) {
      arrive.segment = HappensBefore::closeCopies(warp, i);
      arrive.carried = std::make_shared<Knowledge>();
      warp.launch.races.publish(warp, LaneMask(1) << i, *arrive.carried);
    }
    queue.arrives.push_back(arrive);
  }
  // What is complete already arrives now; lazily it waits its turn.
  if (!warp.launch.isLazy())
    fireArrives(warp);
}

llvm::Error kvq::emu::decodeAsyncCopy(Decoder &decoder,
                                      const ptx::Instruction &inst) {
  const auto &operands = inst.operands;
  switch (inst.opcode) {
  case Opcode::CpAsyncCommitGroup:
    decoder.emit(inst, commitGroup, InstructionClass::AsyncCopy, {}, {});
    return llvm::Error::success();
  case Opcode::CpAsyncWaitAll:
    decoder.emit(inst, waitGroup, InstructionClass::AsyncCopy, {}, {}).imm = -1;
    return llvm::Error::success();
  case Opcode::CpAsyncWaitGroup: {
    std::optional<uint64_t> count =
        operands.size() == 1 ? Decoder::immediate(operands[0]) : std::nullopt;
    if (!count)
      return decoder.error(inst, "the number of groups must be an immediate");
    decoder.emit(inst, waitGroup, InstructionClass::AsyncCopy, {}, {}).imm =
        static_cast<int64_t>(*count);
    return llvm::Error::success();
  }
  case Opcode::CpAsyncMbarrierArrive: {
    llvm::Expected<AddressOperand> address =
        decodeAddress(decoder, inst, operands[0], toSpace(inst.mods.space()));
    if (!address)
      return address.takeError();
    Op &op = decoder.emit(inst, arriveWhenDone, InstructionClass::AsyncCopy, {},
                          address->base);
    op.imm = address->imm;
    op.space = address->space;
    op.c = address->flags;
    op.a = inst.mods.has(Mod::Noinc);
    return llvm::Error::success();
  }
  default:
    break;
  }
  size_t count = operands.size();
  if (inst.mods.cacheHint && count)
    --count;
  if (count < 3 || count > 4)
    return decoder.unsupported(inst);
  llvm::Expected<AddressOperand> to =
      decodeAddress(decoder, inst, operands[0], Space::Shared);
  if (!to)
    return to.takeError();
  llvm::Expected<AddressOperand> from =
      decodeAddress(decoder, inst, operands[1], Space::Global);
  if (!from)
    return from.takeError();
  std::optional<uint64_t> bytes = Decoder::immediate(operands[2]);
  if (!bytes || (*bytes != 4 && *bytes != 8 && *bytes != 16))
    return decoder.error(inst, "the size of a copy must be 4, 8 or 16");
  llvm::SmallVector<Operand, 3> src;
  uint8_t form = 0;
  if (count == 4) {
    Operand extra = decoder.source(operands[3], 0);
    form = extra.predicate ? 2 : 1;
    src.push_back(extra);
  }
  src.push_back(to->base);
  src.push_back(from->base);
  auto *extra = decoder.newExtra<AsyncExtra>();
  extra->sourceImm = from->imm;
  Op &op = decoder.emit(inst, issueCopy, InstructionClass::AsyncCopy, {}, src);
  op.extra = extra;
  op.space = Space::Global;
  op.imm = to->imm;
  op.c = to->flags;
  op.bits = static_cast<uint8_t>(*bytes);
  op.a = form;
  return llvm::Error::success();
}
