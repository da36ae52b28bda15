//===- MBarrier.cpp - Barriers that live in shared memory -----------------===//

#include "kvq/Emulator/Machine/MBarrier.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

/// From bit 0: pending 20, expected 20, transactions 22, parity, valid.
MBarrierState MBarrierState::decode(uint64_t word) {
  MBarrierState state;
  state.pending = word & maxCount;
  state.expected = word >> 20 & maxCount;
  state.transactions =
      static_cast<int32_t>(signExtend(word >> 40 & 0x3fffff, 22));
  state.parity = word >> 62 & 1;
  state.valid = word >> 63 & 1;
  return state;
}

uint64_t MBarrierState::encode() const {
  return uint64_t(pending) | uint64_t(expected) << 20 |
         (uint64_t(uint32_t(transactions)) & 0x3fffff) << 40 |
         uint64_t(parity) << 62 | uint64_t(valid) << 63;
}

static MBarrierState readState(const uint8_t *host) {
  return MBarrierState::decode(readBytes(host, 8));
}

/// Ends the phase if it is complete and wakes who waits for it.
static void update(Cta &owner, uint8_t *host, MBarrierState state) {
  if (state.pending == 0 && state.transactions == 0) {
    state.parity = !state.parity;
    state.pending = state.expected;
    uint64_t key = reinterpret_cast<uint64_t>(host);
    if (owner.launch.checkRaces)
      owner.launch.races.completePhase(key);
    for (const auto &cta : owner.cluster.ctas)
      for (const auto &warp : cta->warps)
        warp->wake([&](const Group &group) {
          return group.wait == Wait::MBarrier && group.key == key &&
                 group.value != state.parity;
        });
  }
  writeBytes(host, state.encode(), 8);
  owner.launch.progress();
}

void kvq::emu::arriveOnMBarrier(Warp &warp, Cta &owner, uint8_t *host,
                                uint32_t count) {
  MBarrierState state = readState(host);
  if (!state.valid || state.pending < count) {
    warp.report(FindingKind::BarrierMisuse, warp.currentOp(), 0,
                reinterpret_cast<uint64_t>(host),
                state.valid ? "more arrivals at an mbarrier than it expects"
                            : "an arrival at an mbarrier that is no more",
                true);
    return;
  }
  state.pending -= count;
  update(owner, host, state);
}

void kvq::emu::completeTransactions(Warp &, Cta &owner, uint8_t *host,
                                    uint32_t bytes) {
  MBarrierState state = readState(host);
  state.transactions -= static_cast<int32_t>(bytes);
  update(owner, host, state);
}

void kvq::emu::addPendingArrivals(Warp &warp, const Op &op, unsigned lane,
                                  const Location &location, uint32_t count) {
  MBarrierState state = readState(location.host);
  if (state.pending + count > MBarrierState::maxCount) {
    warp.report(FindingKind::BarrierMisuse, op, lane, location.shown,
                "the pending count of the mbarrier overflows", true);
    return;
  }
  state.pending += count;
  writeBytes(location.host, state.encode(), 8);
}

bool kvq::emu::locateMBarrier(Warp &warp, const Op &op, unsigned lane,
                              Space space, uint64_t address,
                              Location &location) {
  if (!locate(warp, op, lane, space, address, 8, 8, location))
    return false;
  if (location.space != Space::Shared) {
    warp.report(FindingKind::BarrierMisuse, op, lane, address,
                "an mbarrier must lie in shared memory", true);
    return false;
  }
  if (!readState(location.host).valid) {
    warp.report(FindingKind::BarrierMisuse, op, lane, location.shown,
                "no mbarrier has been initialized here", true);
    return false;
  }
  return true;
}

namespace {
enum Action : uint8_t {
  ActInit,
  ActInvalidate,
  ActExpect,
  ActComplete,
  ActArrive,
  ActDrop
};
} // namespace

/// Sources: count, transaction bytes, address. Op: a the action, b: 1 there is
/// .expect_tx; order of the arrival.
static void changeBarrier(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *counts = warp.values(op.src(0));
  const uint64_t *bytes = warp.values(op.src(1));
  const Operand &operand = op.src(2);
  const uint64_t *base = operand.isNone() ? nullptr : warp.values(operand);
  uint64_t bias = addressBias(warp, op);
  LaneMask published = 0;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned i = llvm::countr_zero(rest);
    uint64_t address = (base ? base[i] : 0) + bias;
    Location location;
    uint64_t count = counts[i] & 0xffffffffu;
    if (op.a == ActInit) {
      if (!locate(warp, op, i, op.space, address, 8, 8, location))
        return;
      if (location.space != Space::Shared || count == 0 ||
          count > MBarrierState::maxCount) {
        warp.report(FindingKind::BarrierMisuse, op, i, address,
                    location.space != Space::Shared
                        ? "an mbarrier must lie in shared memory"
                        : llvm::formatv("an mbarrier of {0} arrivals; it "
                                        "takes 1 to {1}",
                                        count, +MBarrierState::maxCount)
                              .str(),
                    true);
        return;
      }
      noteAccess(warp, op, i, location, 8, AccessKind::Write);
      MBarrierState state;
      state.pending = state.expected = static_cast<uint32_t>(count);
      state.valid = true;
      writeBytes(location.host, state.encode(), 8);
      if (warp.launch.checkRaces)
        warp.launch.races.initBarrier(
            reinterpret_cast<uint64_t>(location.host));
      warp.launch.progress();
      continue;
    }
    if (!locateMBarrier(warp, op, i, op.space, address, location))
      return;
    MBarrierState state = readState(location.host);
    if (op.a == ActInvalidate) {
      noteAccess(warp, op, i, location, 8, AccessKind::Write);
      state.valid = false;
      writeBytes(location.host, state.encode(), 8);
      continue;
    }
    noteAccess(warp, op, i, location, 8, AccessKind::StrongWrite);
    if (op.a == ActExpect || op.b)
      state.transactions += static_cast<int32_t>(bytes[i]);
    if (op.a == ActComplete)
      state.transactions -= static_cast<int32_t>(bytes[i]);
    if (state.transactions > int32_t(MBarrierState::maxCount) ||
        state.transactions < -int32_t(MBarrierState::maxCount)) {
      warp.report(FindingKind::BarrierMisuse, op, i, location.shown,
                  llvm::formatv("the transaction count of the mbarrier becomes "
                                "{0}; it takes up to {1}",
                                state.transactions, +MBarrierState::maxCount)
                      .str(),
                  true);
      return;
    }
    if (op.a == ActArrive || op.a == ActDrop) {
      if (op.numDst)
        warp.destination(op.dst())[i] = readState(location.host).encode();
      if (count == 0 || count > state.pending) {
        warp.report(FindingKind::BarrierMisuse, op, i, location.shown,
                    llvm::formatv("{0} arrivals at an mbarrier whose phase "
                                  "still expects {1}",
                                  count, state.pending)
                        .str(),
                    true);
        return;
      }
      state.pending -= static_cast<uint32_t>(count);
      if (op.a == ActDrop)
        state.expected -=
            static_cast<uint32_t>(std::min<uint64_t>(count, state.expected));
      if (warp.launch.checkRaces && !(published >> i & 1)) {
        // Threads that arrive at one mbarrier publish together.
        LaneMask same = lanesWhere(
            lanes, [&](unsigned j) { return !base || base[j] == base[i]; });
        published |= same;
        warp.launch.races.arriveBarrier(
            warp, same, reinterpret_cast<uint64_t>(location.host), op.order,
            op.scope);
      }
    }
    update(warp.cta, location.host, state);
  }
}

/// test_wait and try_wait (Op: a 1). Sources: state or parity, address. Op: b:
/// .parity.
static void waitBarrier(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *wanted = warp.values(op.src(0));
  const Operand &operand = op.src(1);
  const uint64_t *base = operand.isNone() ? nullptr : warp.values(operand);
  uint64_t bias = addressBias(warp, op);
  bool timedOut = warp.takeTimeout();
  LaneMask complete = 0, waiting = 0, acquiring = 0;
  uint8_t *completeHost = nullptr;
  auto acquireFor = [&](uint8_t *host) {
    warp.launch.races.acquireBarrier(
        warp, acquiring, reinterpret_cast<uint64_t>(host), op.order, op.scope);
  };
  Location first;
  bool firstParity = false;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned i = llvm::countr_zero(rest);
    Location location;
    if (!locateMBarrier(warp, op, i, op.space, (base ? base[i] : 0) + bias,
                        location))
      return;
    noteAccess(warp, op, i, location, 8, AccessKind::StrongRead);
    bool parity =
        op.b ? wanted[i] & 1 : MBarrierState::decode(wanted[i]).parity;
    if (readState(location.host).parity != parity) {
      if (warp.launch.checkRaces) {
        // Threads that wait for one mbarrier learn of it together.
        if (complete && location.host != completeHost) {
          acquireFor(completeHost);
          acquiring = 0;
        }
        completeHost = location.host;
        acquiring |= LaneMask(1) << i;
      }
      complete |= LaneMask(1) << i;
      continue;
    }
    if (!waiting) {
      first = location;
      firstParity = parity;
    }
    waiting |= LaneMask(1) << i;
  }
  if (acquiring)
    acquireFor(completeHost);
  if (!waiting || timedOut || !op.a) {
    warp.setPredicate(op.dst(), lanes, complete);
    warp.notePoll(waiting ? &op : nullptr,
                  reinterpret_cast<uint64_t>(first.host), firstParity);
    // Who polls lets others go first.
    if (waiting)
      warp.yield();
    return;
  }
  // Threads that wait for something else than the first one try again.
  LaneMask others = 0;
  forLanes(waiting, [&](unsigned i) {
    bool parity =
        op.b ? wanted[i] & 1 : MBarrierState::decode(wanted[i]).parity;
    Location location;
    if (locate(warp, op, i, op.space, (base ? base[i] : 0) + bias, 8, 8,
               location) &&
        (location.host != first.host || parity != firstParity))
      others |= LaneMask(1) << i;
  });
  warp.setPredicate(op.dst(), complete, allLanes);
  LaneMask same = waiting & ~others;
  warp.uncount(op, same | others);
  if (others)
    warp.jump(others, warp.getPc() - 1);
  Group &group = warp.park(same, warp.getPc() - 1, Wait::MBarrier,
                           reinterpret_cast<uint64_t>(first.host), op);
  group.value = firstParity;
}

static uint64_t pendingCount(uint64_t state) {
  return MBarrierState::decode(state).pending;
}

llvm::Error kvq::emu::decodeMBarrier(Decoder &decoder,
                                     const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  if (inst.opcode == Opcode::MbarrierPendingCount) {
    Operand state = decoder.source(operands[1], 64);
    decoder.emit(inst, unaryLanes<pendingCount>, InstructionClass::Barrier,
                 decoder.destination(operands[0], 32), state);
    return llvm::Error::success();
  }
  bool wait = inst.opcode == Opcode::MbarrierTestWait ||
              inst.opcode == Opcode::MbarrierTryWait;
  bool arrive = inst.opcode == Opcode::MbarrierArrive ||
                inst.opcode == Opcode::MbarrierArriveDrop;
  // The state that arrive returns is left out for remote barriers.
  size_t at = 0;
  while (at < operands.size() && !operands[at].isAddress())
    ++at;
  if (at == operands.size() || at > 1 || (wait && at != 1))
    return decoder.unsupported(inst);
  llvm::Expected<AddressOperand> address =
      decodeAddress(decoder, inst, operands[at], toSpace(mods.space()));
  if (!address)
    return address.takeError();
  Op *op;
  if (wait) {
    if (operands.size() < 3)
      return decoder.unsupported(inst);
    bool parity = mods.has(Mod::Parity);
    Operand wanted = decoder.source(operands[2], parity ? 32 : 64);
    op = &decoder.emit(inst, waitBarrier, InstructionClass::Barrier,
                       decoder.destination(operands[0], 1),
                       {wanted, address->base});
    op->a = inst.opcode == Opcode::MbarrierTryWait;
    op->b = parity;
    op->order = toOrder(mods.order, MemoryOrder::Acquire);
    op->scope = toScope(mods.scope, MemoryScope::Cluster);
  } else {
    bool expect = mods.has(Mod::ExpectTx);
    Operand count = decoder.constant(1), bytes = decoder.constant(0);
    bool hasValue = operands.size() > at + 1;
    bool isTx = expect || inst.opcode == Opcode::MbarrierExpectTx ||
                inst.opcode == Opcode::MbarrierCompleteTx;
    if ((isTx || inst.opcode == Opcode::MbarrierInit) && !hasValue)
      return decoder.unsupported(inst);
    if (hasValue)
      (isTx ? bytes : count) = decoder.source(operands[at + 1], 32);
    llvm::SmallVector<Operand, 1> dst;
    if (arrive && at == 1)
      dst.push_back(decoder.destination(operands[0], 64));
    op = &decoder.emit(inst, changeBarrier, InstructionClass::Barrier, dst,
                       {count, bytes, address->base});
    switch (inst.opcode) {
    case Opcode::MbarrierInit:
      op->a = ActInit;
      break;
    case Opcode::MbarrierInval:
      op->a = ActInvalidate;
      break;
    case Opcode::MbarrierExpectTx:
      op->a = ActExpect;
      break;
    case Opcode::MbarrierCompleteTx:
      op->a = ActComplete;
      break;
    case Opcode::MbarrierArriveDrop:
      op->a = ActDrop;
      break;
    default:
      op->a = ActArrive;
      break;
    }
    op->b = arrive && expect;
    op->order = toOrder(mods.order, MemoryOrder::Release);
    // PTX defaults to .cta; libraries leave the scope out for barriers that
    // other CTAs of the cluster arrive at, and it works.
    op->scope = toScope(mods.scope, MemoryScope::Cluster);
  }
  op->imm = address->imm;
  op->space = address->space;
  op->c = address->flags;
  return llvm::Error::success();
}
