//===- TensorMemoryOps.cpp - tcgen05 alloc, ld, st and waits --------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

int TensorMemoryState::allocate(unsigned columns, const Op *op) {
  unsigned count = columns / unit;
  for (unsigned at = 0; at + count <= units; at += count) {
    bool free = true;
    for (unsigned i = at; i < at + count; ++i)
      free &= owner[i] == 0;
    if (!free)
      continue;
    ++next;
    for (unsigned i = at; i < at + count; ++i)
      owner[i] = next;
    blocks.push_back({at * unit, columns, op});
    if (cells.empty()) {
      cells.resize(tc::tmemLanes * tc::tmemColumns, 0x5a5a5a5a);
      written.resize(cells.size());
    }
    for (unsigned lane = 0; lane < tc::tmemLanes; ++lane)
      std::fill_n(written.begin() + lane * tc::tmemColumns + at * unit, columns,
                  0);
    return static_cast<int>(at * unit);
  }
  return -1;
}

bool TensorMemoryState::release(unsigned column, unsigned columns) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].column != column || blocks[i].columns != columns)
      continue;
    for (unsigned u = column / unit; u < (column + columns) / unit; ++u)
      owner[u] = 0;
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  return false;
}

const Op *TensorMemoryState::leaked() const {
  return blocks.empty() ? nullptr : blocks.front().op;
}

namespace {

void misuse(Warp &warp, const Op &op, unsigned lane, uint64_t address,
            const std::string &message) {
  warp.report(FindingKind::TensorMemory, op, lane, address, message, true);
}

bool checkGroup(Warp &warp, const Op &op) {
  unsigned &group = warp.cta.tensor.ctaGroup;
  if (group && op.b && group != op.b) {
    misuse(warp, op, 0, 0,
           "the kernel uses tcgen05 instructions of both cta_groups");
    return false;
  }
  if (op.b)
    group = op.b;
  return true;
}

/// Sources: columns, address of the result. Op: b the cta_group.
void allocate(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.converge(op, lanes, allLanes) || !checkGroup(warp, op))
    return;
  unsigned lane = llvm::countr_zero(lanes);
  uint64_t columns = warp.values(op.src(0))[lane] & 0xffffffffu;
  TensorMemoryState &tensor = warp.cta.tensor;
  if (columns < 32 || columns > 512 || (columns & (columns - 1)))
    return misuse(warp, op, lane, 0,
                  llvm::formatv("{0} columns; an allocation has 32, 64, 128, "
                                "256 or 512",
                                columns));
  if (tensor.relinquished)
    return misuse(warp, op, lane, 0,
                  "an allocation after the permit was relinquished");
  const Operand &operand = op.src(1);
  Location location;
  uint64_t address = (operand.isNone() ? 0 : warp.values(operand)[lane]) +
                     addressBias(warp, op);
  if (!locate(warp, op, lane, op.space, address, 4, 4, location))
    return;
  int column = tensor.allocate(static_cast<unsigned>(columns), &op);
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
  if (!warp.converge(op, lanes, allLanes) || !checkGroup(warp, op))
    return;
  unsigned lane = llvm::countr_zero(lanes);
  uint64_t address = warp.values(op.src(0))[lane] & 0xffffffffu;
  uint64_t columns = warp.values(op.src(1))[lane] & 0xffffffffu;
  if (address >> 16 || !warp.cta.tensor.release(static_cast<unsigned>(address),
                                                static_cast<unsigned>(columns)))
    return misuse(warp, op, lane, address,
                  llvm::formatv("no allocation of {0} columns begins at {1:x}",
                                columns, address));
  for (const auto &other : warp.cta.warps)
    other->wake(
        [](const Group &group) { return group.wait == Wait::TensorAlloc; });
  warp.launch.progress();
}

void relinquish(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.converge(op, lanes, allLanes) || !checkGroup(warp, op))
    return;
  warp.cta.tensor.relinquished = true;
}

void waitTensor(Warp &warp, const Op &op, LaneMask lanes) {
  // Loads and stores are done when issued.
  warp.converge(op, lanes, allLanes);
}

void fenceTensor(Warp &, const Op &, LaneMask) {}

struct AccessExtra : OpExtra {
  tc::TmemShape shape = tc::TmemShape::S32x32b;
  unsigned split = 0;
  bool pack = false;
};

/// Op: a 1 stores; numDst or numSrc - 1 registers, then the address.
void access(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.converge(op, lanes, allLanes))
    return;
  const auto &extra = *static_cast<const AccessExtra *>(op.extra);
  bool store = op.a;
  unsigned registers = store ? op.numSrc - 1u : op.numDst;
  const Operand &operand = op.src(op.numSrc - 1u);
  const uint64_t *addresses = operand.isNone() ? nullptr : warp.values(operand);
  unsigned leader = llvm::countr_zero(lanes);
  uint32_t address = static_cast<uint32_t>((addresses ? addresses[leader] : 0) +
                                           static_cast<uint64_t>(op.imm));
  LaneMask same = lanesWhere(lanes, [&](unsigned i) {
    return !addresses || addresses[i] == addresses[leader];
  });
  if (same != lanes)
    return misuse(warp, op, llvm::countr_zero(lanes & ~same), address,
                  "threads of the warp give different addresses");
  tc::TmemCell base = tc::cellAt(address);
  unsigned quarter = warp.index % 4;
  bool half = extra.shape != tc::TmemShape::S32x32b;
  if (base.lane / 32 != quarter ||
      (base.lane % 32 && !(half && base.lane % 32 == 16)))
    return misuse(warp, op, leader, address,
                  llvm::formatv("lane {0}; warp {1} reaches lanes {2} to {3}",
                                base.lane, warp.index, 32 * quarter,
                                32 * quarter + 31));
  TensorMemoryState &tensor = warp.cta.tensor;
  bool reported = false;
  for (unsigned r = 0; r < registers; ++r) {
    uint64_t *dst = store ? nullptr : warp.destination(op.dst(r));
    const uint64_t *src = store ? warp.values(op.src(r)) : nullptr;
    for (LaneMask rest = lanes; rest; rest &= rest - 1) {
      unsigned i = llvm::countr_zero(rest);
      tc::TmemCell cell = tc::tmemCell(extra.shape, i, r, extra.split);
      uint32_t value = store ? static_cast<uint32_t>(src[i]) : 0;
      for (unsigned h = 0; h < (extra.pack ? 2u : 1u); ++h) {
        tc::TmemCell at = extra.pack ? tc::packedCell(cell, h) : cell;
        unsigned lane = base.lane + at.lane, column = base.column + at.column;
        if (lane >= tc::tmemLanes || !tensor.isAllocated(column))
          return misuse(warp, op, i, address,
                        llvm::formatv("lane {0}, column {1} of tensor memory "
                                      "is not allocated",
                                      lane, column));
        if (store) {
          tensor.write(lane, column,
                       extra.pack ? value >> 16 * h & 0xffff : value);
          continue;
        }
        if (warp.launch.checkWritten && !reported &&
            !tensor.isWritten(lane, column)) {
          reported = true;
          warp.report(FindingKind::Uninitialized, op, i, address,
                      llvm::formatv("reads lane {0}, column {1} of tensor "
                                    "memory, which nothing has written",
                                    lane, column)
                          .str(),
                      false);
        }
        uint32_t word = tensor.read(lane, column);
        value = extra.pack ? value | (word & 0xffff) << 16 * h : word;
      }
      if (!store)
        dst[i] = value;
    }
  }
  uint64_t bytes = uint64_t(registers) * warpSize * 4;
  Counters &counters = warp.launch.counters;
  (store ? counters.tensorMemoryWriteBytes : counters.tensorMemoryReadBytes) +=
      bytes;
  if (store)
    warp.launch.progress();
}

} // namespace

static llvm::Error decodeAccess(Decoder &decoder,
                                const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  bool store = inst.opcode == Opcode::Tcgen05St;
  auto *extra = decoder.newExtra<AccessExtra>();
  extra->shape = mods.has(Mod::S16x64b)     ? tc::TmemShape::S16x64b
                 : mods.has(Mod::S16x128b)  ? tc::TmemShape::S16x128b
                 : mods.has(Mod::S16x256b)  ? tc::TmemShape::S16x256b
                 : mods.has(Mod::S16x32bx2) ? tc::TmemShape::S16x32bx2
                                            : tc::TmemShape::S32x32b;
  extra->pack = mods.has(Mod::Pack16b) || mods.has(Mod::Unpack16b);
  bool split = extra->shape == tc::TmemShape::S16x32bx2;
  unsigned num = mods.count ? mods.count : 1;
  if (llvm::Error error = tc::checkTmemAccess(extra->shape, num))
    return decoder.error(inst, llvm::toString(std::move(error)));
  if (operands.size() != (split ? 3u : 2u))
    return decoder.unsupported(inst);
  if (split) {
    auto value = Decoder::immediate(operands[store ? 1 : 2]);
    if (!value)
      return decoder.error(inst, "the split offset must be an immediate");
    extra->split = static_cast<unsigned>(*value);
  }
  const ptx::Operand &data = store ? operands.back() : operands[0];
  auto address =
      decodeAddress(decoder, inst, operands[store ? 0 : 1], Space::Tensor);
  if (!address)
    return address.takeError();
  llvm::SmallVector<Operand, 8> dst, src;
  auto add = [&](const ptx::Operand &element) {
    if (store)
      src.push_back(decoder.source(element, 32));
    else
      dst.push_back(decoder.destination(element, 32));
  };
  if (data.kind == ptx::OperandKind::Vector)
    for (const ptx::Operand &element : decoder.elements(data))
      add(element);
  else
    add(data);
  if ((store ? src : dst).size() != tc::tmemRegisters(extra->shape, num))
    return decoder.error(inst,
                         "the instruction moves " +
                             llvm::Twine(tc::tmemRegisters(extra->shape, num)) +
                             " registers per thread");
  src.push_back(address->base);
  Op &op = decoder.emit(inst, access, InstructionClass::Tensor, dst, src);
  op.extra = extra;
  op.imm = address->imm;
  op.a = store;
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeTensorMemory(Decoder &decoder,
                                         const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  auto emit = [&](Handler handler, llvm::ArrayRef<Operand> src) -> Op & {
    Op &op = decoder.emit(inst, handler, InstructionClass::Tensor, {}, src);
    op.b = mods.ctaGroup;
    return op;
  };
  decoder.program.usesTensorMemory = true;
  switch (inst.opcode) {
  case Opcode::Tcgen05Alloc: {
    auto address =
        decodeAddress(decoder, inst, operands[0], toSpace(mods.space()));
    if (!address)
      return address.takeError();
    Operand columns = decoder.source(operands[1], 32);
    Op &op = emit(allocate, {columns, address->base});
    op.imm = address->imm;
    op.space = address->space;
    op.c = address->flags;
    return llvm::Error::success();
  }
  case Opcode::Tcgen05Dealloc: {
    Operand address = decoder.source(operands[0], 32);
    Operand columns = decoder.source(operands[1], 32);
    emit(deallocate, {address, columns});
    return llvm::Error::success();
  }
  case Opcode::Tcgen05RelinquishAllocPermit:
    emit(relinquish, {});
    return llvm::Error::success();
  case Opcode::Tcgen05WaitLd:
  case Opcode::Tcgen05WaitSt:
    emit(waitTensor, {});
    return llvm::Error::success();
  case Opcode::Tcgen05FenceBefore:
  case Opcode::Tcgen05FenceAfter:
    emit(fenceTensor, {});
    return llvm::Error::success();
  case Opcode::Tcgen05Ld:
  case Opcode::Tcgen05St:
    return decodeAccess(decoder, inst);
  default:
    return decoder.unsupported(inst);
  }
}
