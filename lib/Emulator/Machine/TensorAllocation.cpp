//===- TensorAllocation.cpp - tcgen05 alloc, dealloc, relinquish ----------===//

#include "TensorDecoding.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Opcode;

namespace {

bool checkGroup(Warp &warp, const Op &op) {
  unsigned &group = warp.cta.tensor.ctaGroup;
  if (group && op.b && group != op.b) {
    reportTensorMisuse(
        warp, op, 0, 0,
        "the kernel uses tcgen05 instructions of both cta_groups");
    return false;
  }
  if (op.b)
    group = op.b;
  return true;
}

void wakeAllocations(Cta &cta) {
  for (const auto &warp : cta.warps)
    warp->wake(
        [](const Group &group) { return group.wait == Wait::TensorAlloc; });
}

/// The other CTA of a cta_group::2 pair, or null after a report.
Cta *peerOf(Warp &warp, const Op &op, unsigned lane) {
  const auto &ctas = warp.cta.cluster.ctas;
  unsigned peer = warp.cta.rank ^ 1u;
  if (peer < ctas.size())
    return ctas[peer].get();
  warp.report(FindingKind::IllegalOperand, op, lane, 0,
              "cta_group::2 in a cluster without a pair of CTAs", true);
  return nullptr;
}

/// A warp of each CTA of the pair asks for the same columns, and both get the
/// same ones: `column`, or -1 where this warp has to wait. False after a
/// report.
bool allocateInPair(Warp &warp, const Op &op, unsigned lane, unsigned columns,
                    int &column) {
  Cta *peer = peerOf(warp, op, lane);
  if (!peer)
    return false;
  TensorMemoryState &own = warp.cta.tensor, &other = peer->tensor;
  column = own.pairColumn;
  own.pairColumn = -1;
  if (column >= 0)
    return true;
  own.pairWants = columns;
  if (!other.pairWants)
    return true;
  if (other.pairWants != columns) {
    reportTensorMisuse(
        warp, op, lane, 0,
        llvm::formatv("{0} columns, where the other CTA of the pair asks "
                      "for {1}",
                      columns, other.pairWants));
    return false;
  }
  column = TensorMemoryState::allocatePair(own, other, columns, &op);
  if (column >= 0) {
    own.pairWants = other.pairWants = 0;
    other.pairColumn = column;
    wakeAllocations(*peer);
  }
  return true;
}

/// Sources: columns, address of the result. Op: b the cta_group.
void allocate(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes) || !checkGroup(warp, op))
    return;
  unsigned lane = llvm::countr_zero(lanes);
  uint64_t columns = warp.values(op.src(0))[lane] & 0xffffffffu;
  TensorMemoryState &tensor = warp.cta.tensor;
  if (columns < 32 || columns > 512 || (columns & (columns - 1)))
    return reportTensorMisuse(
        warp, op, lane, 0,
        llvm::formatv("{0} columns; an allocation has 32, 64, 128, "
                      "256 or 512",
                      columns));
  if (tensor.relinquished)
    return reportTensorMisuse(
        warp, op, lane, 0, "an allocation after the permit was relinquished");
  const Operand &operand = op.src(1);
  Location location;
  uint64_t address = (operand.isNone() ? 0 : warp.values(operand)[lane]) +
                     addressBias(warp, op);
  if (!locate(warp, op, lane, op.space, address, 4, 4, location))
    return;
  int column;
  if (op.b == 2) {
    if (!allocateInPair(warp, op, lane, static_cast<unsigned>(columns), column))
      return;
  } else {
    column = tensor.allocate(static_cast<unsigned>(columns), &op);
  }
  if (column < 0) {
    warp.uncount(op, lanes);
    warp.park(lanes, warp.getPc() - 1, Wait::TensorAlloc, columns, op);
    return;
  }
  noteAccess(warp, op, lane, location, 4, AccessKind::Write);
  writeBytes(location.host, static_cast<uint64_t>(column), 4);
  warp.launch.progress();
}

/// Sources: address, columns.
void deallocate(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes) || !checkGroup(warp, op))
    return;
  unsigned lane = llvm::countr_zero(lanes);
  uint64_t address = warp.values(op.src(0))[lane] & 0xffffffffu;
  uint64_t columns = warp.values(op.src(1))[lane] & 0xffffffffu;
  if (warp.launch.checkRaces && !(address >> 16) && columns <= 512 &&
      address + columns <= 512)
    warp.launch.races.releaseTensor(warp, op, 31 - llvm::countl_zero(lanes),
                                    warp.cta, static_cast<unsigned>(address),
                                    static_cast<unsigned>(columns));
  if (address >> 16 || !warp.cta.tensor.release(static_cast<unsigned>(address),
                                                static_cast<unsigned>(columns)))
    return reportTensorMisuse(
        warp, op, lane, address,
        llvm::formatv("no allocation of {0} columns begins at {1:x}", columns,
                      address));
  wakeAllocations(warp.cta);
  if (op.b == 2)
    if (Cta *peer = peerOf(warp, op, lane))
      wakeAllocations(*peer);
  warp.launch.progress();
}

void relinquish(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes) || !checkGroup(warp, op))
    return;
  warp.cta.tensor.relinquished = true;
}

} // namespace

llvm::Error kvq::emu::decodeTensorAllocation(Decoder &decoder,
                                             const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  decoder.program.usesTensorMemory = true;
  switch (inst.opcode) {
  case Opcode::Tcgen05Alloc: {
    auto address =
        decodeAddress(decoder, inst, operands[0], toSpace(mods.space()));
    if (!address)
      return address.takeError();
    Operand columns = decoder.source(operands[1], 32);
    Op &op = emitTensorOp(decoder, inst, allocate, {columns, address->base});
    op.imm = address->imm;
    op.space = address->space;
    op.c = address->flags;
    return llvm::Error::success();
  }
  case Opcode::Tcgen05Dealloc: {
    Operand address = decoder.source(operands[0], 32);
    Operand columns = decoder.source(operands[1], 32);
    emitTensorOp(decoder, inst, deallocate, {address, columns});
    return llvm::Error::success();
  }
  case Opcode::Tcgen05RelinquishAllocPermit:
    emitTensorOp(decoder, inst, relinquish, {});
    return llvm::Error::success();
  default:
    return decoder.unsupported(inst);
  }
}
