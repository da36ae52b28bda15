//===- AsyncStores.cpp - st.async, red.async and st.bulk ------------------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/MBarrier.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Opcode;
using ptx::Order;

namespace {

struct AsyncStoreExtra : OpExtra {
  ExtraAddress to, barrier;
  bool reduces = false;
  AtomicOperation operation;

  /// Of the check of bytes that nothing has written.
  void note(Warp &warp, const Op &op, unsigned lane, const Location &location,
            unsigned bytes) const {
    if (reduces)
      noteWritten(warp, op, lane, location, bytes, AccessKind::StrongRead);
    noteWritten(warp, op, lane, location, bytes, AccessKind::Write);
  }
  /// What a location of `bytes` bytes holds afterwards.
  void write(uint8_t *host, unsigned bytes, uint64_t value) const {
    updateAtomically(host, bytes, [&](uint64_t old) {
      return reduces ? operation.apply(old, value) : value;
    });
  }
};

/// The weak and relaxed forms: a value in shared memory, then its bytes at the
/// mbarrier.
void storeAndSignal(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const AsyncStoreExtra *>(op.extra);
  unsigned each = op.bits / 8, bytes = each * op.count;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    Location to, signal;
    if (!locate(warp, op, lane, Space::SharedCluster,
                stripWindow(extra.to.value(warp, lane)), bytes, bytes, to) ||
        !locateMBarrier(warp, op, lane, Space::SharedCluster,
                        stripWindow(extra.barrier.value(warp, lane)), signal))
      return;
    std::array<uint64_t, 4> values{};
    for (unsigned k = 0; k < op.count; ++k)
      values[k] = warp.values(op.src(k))[lane];
    Warp *self = &warp;
    const Op *where = &op;
    const AsyncStoreExtra *what = &extra;
    CopyStamps stamps = signalledStamps(warp, lane);
    AccessKind kind =
        extra.reduces ? AccessKind::StrongWrite : AccessKind::Write;
    noteAsync(warp, op, lane, to, bytes, kind, stamps.write, Proxy::Generic);
    startWork(warp, lane, -1, [=] {
      what->note(*self, *where, lane, to, bytes);
      for (unsigned k = 0; k < where->count; ++k)
        what->write(to.host + k * each, each, values[k]);
      self->launch.progress();
      completeWork(*self, signal.host, bytes, stamps.write);
    });
  }
}

/// The releasing forms: a value in global memory, which nothing but the end of
/// the CTA or the value itself tells of.
void storeAndRelease(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const AsyncStoreExtra *>(op.extra);
  unsigned bytes = op.bits / 8;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    Location to;
    if (!locate(warp, op, lane, Space::Global, extra.to.value(warp, lane),
                bytes, bytes, to))
      return;
    countTransfer(warp, to, bytes, /*write=*/true);
    uint64_t value = warp.values(op.src(0))[lane];
    Warp *self = &warp;
    const Op *where = &op;
    const AsyncStoreExtra *what = &extra;
    auto carried = std::make_shared<Knowledge>();
    if (warp.launch.checkRaces) {
      noteAsync(warp, op, lane, to, bytes, AccessKind::StrongWrite,
                HappensBefore::threadStamp(warp, lane), Proxy::Generic);
      warp.launch.races.publish(warp, LaneMask(1) << lane, *carried);
    }
    startWork(warp, lane, -1, [=] {
      what->note(*self, *where, lane, to, bytes);
      what->write(to.host, bytes, value);
      if (self->launch.checkRaces)
        self->launch.races.releaseWork(*self,
                                       reinterpret_cast<uint64_t>(to.host),
                                       where->scope, what->reduces, *carried);
      self->launch.progress();
    });
  }
}

/// st.bulk writes zeros. Sources: the size.
void storeBulk(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const AsyncStoreExtra *>(op.extra);
  forLanes(lanes, [&](unsigned lane) {
    uint64_t size = warp.values(op.src(0))[lane];
    Location to;
    if (!size || warp.launch.stopped())
      return;
    if (size % 8 || size > 0xffffffffu) {
      warp.report(
          FindingKind::IllegalOperand, op, lane, 0,
          llvm::formatv("{0} bytes; st.bulk writes multiples of 8", size).str(),
          true);
      return;
    }
    unsigned bytes = static_cast<unsigned>(size);
    if (!locate(warp, op, lane, extra.to.space, extra.to.value(warp, lane),
                bytes, 8, to))
      return;
    noteAccess(warp, op, lane, to, bytes, AccessKind::Write);
    memset(to.host, 0, bytes);
  });
  warp.launch.progress();
}

llvm::Error decodeBulkStore(Decoder &decoder, const ptx::Instruction &inst) {
  auto *extra = decoder.newExtra<AsyncStoreExtra>();
  auto to = decodeAddress(decoder, inst, inst.operands[0],
                          toSpace(inst.mods.space()));
  if (!to)
    return to.takeError();
  extra->to = ExtraAddress::from(*to);
  decoder
      .emit(inst, storeBulk, InstructionClass::Shared, {},
            {decoder.source(inst.operands[1], 64)})
      .extra = extra;
  return llvm::Error::success();
}

} // namespace

llvm::Error kvq::emu::decodeAsyncStore(Decoder &decoder,
                                       const ptx::Instruction &inst) {
  if (inst.opcode == Opcode::StBulk)
    return decodeBulkStore(decoder, inst);
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  bool releases = mods.order == Order::Release;
  unsigned bits = ptx::getBits(mods.type());
  if (operands.size() != (releases ? 2 : 3) ||
      mods.has(ptx::Mod::MbarrierCompleteTxBytes) == releases)
    return decoder.unsupported(inst);
  auto *extra = decoder.newExtra<AsyncStoreExtra>();
  extra->reduces = inst.opcode == Opcode::RedAsync;
  if (extra->reduces) {
    auto operation = AtomicOperation::find(inst, mods.type());
    // Global memory is added to only.
    if (!operation || operation->function ||
        (releases && operation->kind != AtomicKind::Add))
      return decoder.unsupported(inst);
    extra->operation = *operation;
  }
  llvm::SmallVector<Operand, 4> src;
  if (operands[1].kind == ptx::OperandKind::Vector) {
    for (const ptx::Operand &element : decoder.elements(operands[1]))
      src.push_back(decoder.source(element, bits));
  } else {
    src.push_back(decoder.source(operands[1], bits));
  }
  bool isWord = bits == 32 || bits == 64;
  bool isShort = releases && !extra->reduces && (bits == 8 || bits == 16);
  if ((!isWord && !isShort) || src.size() > (releases ? 1 : 4))
    return decoder.unsupported(inst);
  auto to = decodeAddress(decoder, inst, operands[0],
                          releases ? Space::Global : Space::SharedCluster);
  if (!to)
    return to.takeError();
  extra->to = ExtraAddress::from(*to);
  if (!releases) {
    auto barrier =
        decodeAddress(decoder, inst, operands[2], Space::SharedCluster);
    if (!barrier)
      return barrier.takeError();
    extra->barrier = ExtraAddress::from(*barrier);
  }
  Op &op = decoder.emit(inst, releases ? storeAndRelease : storeAndSignal,
                        InstructionClass::AsyncCopy, {}, src);
  op.extra = extra;
  op.bits = static_cast<uint8_t>(bits);
  op.count = static_cast<uint8_t>(src.size());
  op.scope = toScope(mods.scope, MemoryScope::Gpu);
  return llvm::Error::success();
}
