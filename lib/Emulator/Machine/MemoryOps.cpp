//===- MemoryOps.cpp - Loads, stores and prefetches -----------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

/// The 32 address registers of an operation, or null: then the bias is the
/// address. They are the last source.
static const uint64_t *addressValues(const Warp &warp, const Op &op) {
  const Operand &operand = op.src(op.numSrc - 1u);
  return operand.isNone() ? nullptr : warp.values(operand);
}

/// Loads `count` elements of `bits` bits; narrower than a register they are
/// extended to it, with their sign if `isSigned`. Op: a: 1 strong.
static void load(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *base = addressValues(warp, op);
  uint64_t bias = addressBias(warp, op);
  unsigned element = op.bits / 8, bytes = element * op.count;
  AccessKind kind = op.a ? AccessKind::StrongRead : AccessKind::Read;
  AccessCounter counter(warp, /*write=*/false);
  uint64_t *dst[8];
  unsigned registerBits[8];
  for (unsigned k = 0; k < op.count; ++k) {
    dst[k] = warp.destination(op.dst(k));
    registerBits[k] = op.dst(k).bits;
  }
  bool extends = op.isSigned && op.bits < 64;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned i = llvm::countr_zero(rest);
    Location location;
    if (!locate(warp, op, i, op.space, (base ? base[i] : 0) + bias, bytes,
                bytes, location))
      return;
    counter.add(location, bytes);
    noteAccess(warp, op, i, location, bytes, kind);
    if (op.order != MemoryOrder::Weak && warp.launch.checkRaces)
      warp.launch.races.acquire(warp, i,
                                reinterpret_cast<uint64_t>(location.host),
                                op.order, op.scope);
    if (element == 16) {
      dst[0][i] = readBytes(location.host, 8);
      dst[0][i + warpSize] = readBytes(location.host + 8, 8);
      continue;
    }
    for (unsigned k = 0; k < op.count; ++k) {
      uint64_t value = readBytes(location.host + k * element, element);
      if (extends)
        value = lowBits(signExtend(value, op.bits), registerBits[k]);
      dst[k][i] = value;
    }
  }
}

static void store(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *base = addressValues(warp, op);
  uint64_t bias = addressBias(warp, op);
  unsigned element = op.bits / 8, bytes = element * op.count;
  AccessKind kind = op.a ? AccessKind::StrongWrite : AccessKind::Write;
  AccessCounter counter(warp, /*write=*/true);
  const uint64_t *src[8];
  for (unsigned k = 0; k < op.count; ++k)
    src[k] = warp.values(op.src(k));
  // Nobody else sees a thread's local memory.
  bool visible = false;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned i = llvm::countr_zero(rest);
    Location location;
    if (!locate(warp, op, i, op.space, (base ? base[i] : 0) + bias, bytes,
                bytes, location))
      return;
    if (location.space == Space::KernelParam) {
      warp.report(FindingKind::OutOfBounds, op, i, location.shown,
                  "a store to the kernel's parameters", true);
      return;
    }
    counter.add(location, bytes);
    visible |= location.space != Space::Local;
    if (op.order != MemoryOrder::Weak && warp.launch.checkRaces)
      warp.launch.races.release(warp, i,
                                reinterpret_cast<uint64_t>(location.host),
                                op.order, op.scope, /*readsToo=*/false);
    AccessKind how = kind;
    if (warp.launch.checkRaces && kind == AccessKind::Write && element < 16) {
      bool same = true;
      for (unsigned k = 0; k < op.count && same; ++k)
        same = readBytes(location.host + k * element, element) ==
               lowBits(src[k][i], op.bits);
      if (same)
        how = AccessKind::SameWrite;
    }
    noteAccess(warp, op, i, location, bytes, how);
    if (element == 16) {
      writeBytes(location.host, src[0][i], 8);
      writeBytes(location.host + 8, src[0][i + warpSize], 8);
      continue;
    }
    for (unsigned k = 0; k < op.count; ++k)
      writeBytes(location.host + k * element, src[k][i], element);
  }
  if (visible)
    warp.launch.progress();
}

static void nothing(Warp &, const Op &, LaneMask) {}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

Space kvq::emu::toSpace(ptx::Space space) {
  switch (space) {
  case ptx::Space::Generic:
    return Space::Generic;
  case ptx::Space::Global:
    return Space::Global;
  case ptx::Space::Shared:
    return Space::Shared;
  case ptx::Space::SharedCluster:
    return Space::SharedCluster;
  case ptx::Space::Local:
    return Space::Local;
  case ptx::Space::Const:
    return Space::Const;
  case ptx::Space::Param:
    return Space::KernelParam;
  }
  return Space::Generic;
}

MemoryOrder kvq::emu::toOrder(ptx::Order order, MemoryOrder none) {
  switch (order) {
  case ptx::Order::None:
    return none;
  case ptx::Order::Weak:
    return MemoryOrder::Weak;
  case ptx::Order::Relaxed:
  case ptx::Order::Volatile:
  case ptx::Order::MMIO:
    return MemoryOrder::Relaxed;
  case ptx::Order::Acquire:
    return MemoryOrder::Acquire;
  case ptx::Order::Release:
    return MemoryOrder::Release;
  case ptx::Order::AcqRel:
    return MemoryOrder::AcqRel;
  case ptx::Order::SC:
    return MemoryOrder::SeqCst;
  }
  return none;
}

MemoryScope kvq::emu::toScope(ptx::Scope scope, MemoryScope none) {
  switch (scope) {
  case ptx::Scope::None:
    return none;
  case ptx::Scope::CTA:
    return MemoryScope::Cta;
  case ptx::Scope::Cluster:
    return MemoryScope::Cluster;
  case ptx::Scope::GPU:
    return MemoryScope::Gpu;
  case ptx::Scope::Sys:
    return MemoryScope::Sys;
  }
  return none;
}

llvm::Expected<AddressOperand>
kvq::emu::decodeAddress(Decoder &decoder, const ptx::Instruction &inst,
                        const ptx::Operand &operand, Space space) {
  AddressOperand result;
  result.space = space;
  if (!operand.isAddress())
    return decoder.error(inst, "an address in brackets is needed");
  result.imm = operand.offset;
  bool kernel = decoder.function().isKernel;
  if (operand.isRegisterBase) {
    ptx::Operand base;
    base.kind = ptx::OperandKind::Register;
    base.index = operand.index;
    result.base = decoder.source(base, 32);
    if (space == Space::KernelParam && !kernel)
      result.space = Space::Local;
    return result;
  }
  switch (operand.symbol) {
  case ptx::SymbolKind::None:
    return result;
  case ptx::SymbolKind::ModuleVariable: {
    const ptx::Variable &variable = decoder.module.variables[operand.index];
    if (variable.space == ptx::Space::Shared) {
      if (space != Space::Shared && space != Space::SharedCluster)
        return decoder.error(inst, "'" + variable.name +
                                       "' lies in shared memory and the "
                                       "instruction accesses another space");
      result.imm += decoder.sharedOffset(operand.index);
      result.flags = 1;
      return result;
    }
    result.imm += static_cast<int64_t>(decoder.globals.lookup(operand.index));
    return result;
  }
  case ptx::SymbolKind::Parameter:
    if (kernel) {
      result.space = Space::KernelParam;
      result.imm += static_cast<int64_t>(
          decoder.function().parameters[operand.index].offset);
      return result;
    }
    [[fallthrough]];
  case ptx::SymbolKind::Local:
  case ptx::SymbolKind::CallParam:
  case ptx::SymbolKind::Result:
    result.space = Space::Local;
    result.imm += decoder.frameOffset(operand);
    result.flags = 2;
    return result;
  case ptx::SymbolKind::Function:
    break;
  }
  return decoder.error(inst, "a function is no address of data");
}

static InstructionClass categoryOf(Space space) {
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster:
    return InstructionClass::Shared;
  case Space::Local:
  case Space::FrameParam:
    return InstructionClass::Local;
  case Space::Const:
  case Space::KernelParam:
    return InstructionClass::Constant;
  default:
    return InstructionClass::Global;
  }
}

llvm::Error kvq::emu::decodeMemory(Decoder &decoder,
                                   const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  if (inst.opcode != Opcode::Ld && inst.opcode != Opcode::Ldu &&
      inst.opcode != Opcode::St) {
    // Hints with no effect on values.
    decoder.emit(inst, nothing, InstructionClass::Global, {}, {});
    return llvm::Error::success();
  }
  bool isStore = inst.opcode == Opcode::St;
  unsigned bits = ptx::getBits(mods.type());
  if (operands.size() < 2 ||
      (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128))
    return decoder.unsupported(inst);
  llvm::Expected<AddressOperand> address = decodeAddress(
      decoder, inst, operands[isStore ? 0 : 1], toSpace(mods.space()));
  if (!address)
    return address.takeError();
  const ptx::Operand &data = operands[isStore ? 1 : 0];
  llvm::SmallVector<ptx::Operand, 8> elements;
  if (data.kind == ptx::OperandKind::Vector) {
    auto list = decoder.elements(data);
    elements.append(list.begin(), list.end());
  } else {
    elements.push_back(data);
  }
  if (elements.size() != mods.vector || elements.size() > 8 ||
      elements.size() * bits > 256)
    return decoder.error(inst, "the vector has " +
                                   llvm::Twine(elements.size()) +
                                   " elements, and the instruction moves " +
                                   llvm::Twine(mods.vector));
  llvm::SmallVector<Operand, 8> dst, src;
  for (const ptx::Operand &element : elements) {
    if (!isStore) {
      dst.push_back(decoder.destination(element, bits));
    } else if (bits == 128 && !element.isRegister()) {
      return decoder.error(inst, "128-bit operands must be registers");
    } else {
      src.push_back(decoder.source(element, bits));
    }
  }
  src.push_back(address->base);
  Op &op = decoder.emit(inst, isStore ? store : load,
                        categoryOf(address->space), dst, src);
  op.imm = address->imm;
  op.space = address->space;
  op.c = address->flags;
  op.bits = static_cast<uint8_t>(bits);
  op.count = static_cast<uint8_t>(elements.size());
  op.isSigned = ptx::isSignedInteger(mods.type());
  op.order = toOrder(mods.order, MemoryOrder::Weak);
  op.scope = toScope(mods.scope, MemoryScope::Gpu);
  op.a = op.order != MemoryOrder::Weak;
  return llvm::Error::success();
}
