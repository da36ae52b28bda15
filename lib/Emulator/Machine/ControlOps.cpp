//===- ControlOps.cpp - Branches, calls and the ends of threads -----------===//

#include "kvq/Emulator/Machine/Calls.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::OperandKind;
using ptx::SymbolKind;

namespace {

struct TableExtra : OpExtra {
  std::vector<uint32_t> targets;
};

/// What the callee's own registers hold of its `.reg` parameters.
struct EntryExtra : OpExtra {
  std::vector<Operand> registers;
};

void branch(Warp &warp, const Op &op, LaneMask lanes) {
  warp.jump(lanes, static_cast<uint32_t>(op.imm));
}

void branchIndexed(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &targets = static_cast<const TableExtra *>(op.extra)->targets;
  const uint64_t *index = warp.values(op.src(0));
  LaneMask rest = lanes;
  while (rest) {
    unsigned leader = llvm::countr_zero(rest);
    uint64_t value = index[leader] & 0xffffffffu;
    if (value >= targets.size()) {
      warp.report(FindingKind::IllegalOperand, op, leader, 0,
                  llvm::formatv("branch index {0} in a table of {1}", value,
                                targets.size())
                      .str(),
                  true);
      return;
    }
    LaneMask same = lanesWhere(
        rest, [&](unsigned i) { return (index[i] & 0xffffffffu) == value; });
    rest &= ~same;
    warp.jump(same, targets[value]);
  }
}

void exitThreads(Warp &warp, const Op &, LaneMask lanes) {
  warp.exitLanes(lanes);
}

void trap(Warp &warp, const Op &op, LaneMask lanes) {
  warp.report(FindingKind::Trap, op, llvm::countr_zero(lanes), 0,
              "the kernel executes a trap", true);
}

void nothing(Warp &, const Op &, LaneMask) {}

void sleep(Warp &warp, const Op &, LaneMask) { warp.yield(); }

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Copies a value of a call between frames. `outer` is the caller's base.
void copyToCallee(Warp &warp, const CallValue &value, unsigned lane,
                  uint32_t outer, uint32_t inner, const FrameSlot &slot) {
  uint8_t *memory = warp.localMemory(lane, inner + slot.offset + slot.size);
  uint8_t *to = memory + inner + slot.offset;
  uint32_t size = std::min(value.size, slot.size);
  if (value.reg.isNone())
    memcpy(to, memory + outer + value.offset, size);
  if (warp.launch.checkWritten) {
    uint8_t *shadow = warp.localWritten(lane);
    if (value.reg.isNone())
      memcpy(shadow + inner + slot.offset, shadow + outer + value.offset, size);
    else
      memset(shadow + inner + slot.offset, 1, size);
  }
}

void callFunction(Warp &warp, const Op &op, LaneMask lanes, uint32_t callee) {
  const CallExtra &call = callOf(op);
  const ProgramFunction &target = warp.program.functions[callee];
  if (call.arguments.size() != target.parameters.size() ||
      call.results.size() != target.results.size()) {
    warp.report(FindingKind::IllegalOperand, op, llvm::countr_zero(lanes), 0,
                llvm::formatv("'{0}' takes {1} arguments and returns {2} "
                              "values; the call has {3} and {4}",
                              target.name, target.parameters.size(),
                              target.results.size(), call.arguments.size(),
                              call.results.size())
                    .str(),
                true);
    return;
  }
  // Threads that do not call go on by themselves.
  if (LaneMask others = warp.active() & ~lanes)
    warp.jump(others, warp.getPc());
  // Register arguments must be read in the caller's frame.
  uint32_t outer = warp.localBase();
  uint32_t inner =
      outer +
      ((warp.program.functionAt(warp.getPc() - 1).frameBytes + 15) & ~15u);
  forLanes(lanes, [&](unsigned lane) {
    warp.localMemory(lane, uint64_t(inner) + target.frameBytes);
    for (size_t k = 0; k < call.arguments.size(); ++k) {
      const CallValue &value = call.arguments[k];
      const FrameSlot &slot = target.parameters[k];
      copyToCallee(warp, value, lane, outer, inner, slot);
      if (!value.reg.isNone()) {
        uint64_t bits = value.reg.predicate
                            ? warp.predicate(value.reg) >> lane & 1
                            : warp.values(value.reg)[lane];
        memcpy(warp.localMemory(lane, 0) + inner + slot.offset, &bits,
               std::min<uint32_t>(8, slot.size));
        if (value.reg.bits > 64)
          memcpy(warp.localMemory(lane, 0) + inner + slot.offset + 8,
                 &warp.values(value.reg)[lane + warpSize], 8);
      }
    }
  });
  warp.call(op, lanes, callee);
}

void callDirect(Warp &warp, const Op &op, LaneMask lanes) {
  callFunction(warp, op, lanes, static_cast<uint32_t>(callOf(op).function));
}

void callIndirect(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *target = warp.values(op.src(0));
  unsigned leader = llvm::countr_zero(lanes);
  uint64_t address = target[leader];
  LaneMask same =
      lanesWhere(lanes, [&](unsigned i) { return target[i] == address; });
  uint64_t index = (address - codeAddress(0)) / 16;
  const auto &table = warp.program.functionOfModule;
  if (address < codeAddress(0) || index >= table.size() || table[index] < 0 ||
      warp.program.functions[table[index]].end == 0) {
    warp.report(
        FindingKind::IllegalOperand, op, leader, address,
        llvm::formatv("{0:x} is not the address of a function", address).str(),
        true);
    return;
  }
  // Threads that call another function come back to this instruction.
  if (LaneMask others = lanes & ~same)
    warp.jump(others, warp.getPc() - 1);
  callFunction(warp, op, same, static_cast<uint32_t>(table[index]));
}

/// Returns, and copies results to where each caller wants them.
void returnThreads(Warp &warp, const Op &, LaneMask lanes) {
  const ProgramFunction &self = warp.program.functionAt(warp.getPc() - 1);
  uint32_t inner = warp.localBase();
  forLanes(lanes, [&](unsigned lane) {
    const Activation *activation = warp.caller(lane);
    if (!activation)
      return;
    const CallExtra &call = callOf(*activation->call);
    uint32_t outer = activation->frame.local;
    for (size_t k = 0; k < call.results.size(); ++k) {
      const CallValue &value = call.results[k];
      const FrameSlot &slot = self.results[k];
      uint8_t *memory = warp.localMemory(lane, 0);
      uint32_t size = std::min(value.size, slot.size);
      const uint8_t *from = memory + inner + slot.offset;
      if (value.reg.isNone()) {
        memcpy(memory + outer + value.offset, from, size);
        if (warp.launch.checkWritten)
          memcpy(warp.localWritten(lane) + outer + value.offset,
                 warp.localWritten(lane) + inner + slot.offset, size);
        continue;
      }
      uint64_t bits = 0;
      memcpy(&bits, from, std::min<uint32_t>(8, size));
      warp.setCallerRegister(activation->frame, value.reg, lane, bits);
    }
  });
  warp.returnLanes(lanes);
}

/// Fills the registers that stand for `.reg` parameters from the frame.
void loadRegisterParameters(Warp &warp, const Op &op, LaneMask lanes) {
  const ProgramFunction &self = warp.program.functionAt(warp.getPc() - 1);
  const auto &registers = static_cast<const EntryExtra *>(op.extra)->registers;
  for (size_t k = 0; k < registers.size(); ++k) {
    const Operand &reg = registers[k];
    if (reg.isNone())
      continue;
    const FrameSlot &slot = self.parameters[k];
    LaneMask mask = 0;
    forLanes(lanes, [&](unsigned lane) {
      uint64_t bits = 0;
      memcpy(&bits, warp.localMemory(lane, 0) + warp.localBase() + slot.offset,
             std::min<uint32_t>(8, slot.size));
      if (reg.predicate)
        mask |= LaneMask(bits & 1) << lane;
      else
        warp.destination(reg)[lane] = bits;
    });
    if (reg.predicate)
      warp.setPredicate(reg, lanes, mask);
  }
}

/// Puts the registers that stand for `.reg` results into the frame.
void storeRegisterResults(Warp &warp, const Op &op, LaneMask lanes) {
  const ProgramFunction &self = warp.program.functionAt(warp.getPc() - 1);
  const auto &registers = static_cast<const EntryExtra *>(op.extra)->registers;
  for (size_t k = 0; k < registers.size(); ++k) {
    const Operand &reg = registers[k];
    if (reg.isNone())
      continue;
    const FrameSlot &slot = self.results[k];
    LaneMask mask = reg.predicate ? warp.predicate(reg) : 0;
    forLanes(lanes, [&](unsigned lane) {
      uint64_t bits = reg.predicate ? mask >> lane & 1 : warp.values(reg)[lane];
      memcpy(warp.localMemory(lane, 0) + warp.localBase() + slot.offset, &bits,
             std::min<uint32_t>(8, slot.size));
    });
  }
}

} // namespace

static llvm::Expected<CallValue> decodeCallValue(Decoder &decoder,
                                                 const ptx::Instruction &inst,
                                                 const ptx::Operand &operand,
                                                 bool isResult) {
  CallValue value;
  if ((operand.kind == OperandKind::Symbol ||
       operand.kind == OperandKind::Address) &&
      operand.symbol == SymbolKind::CallParam) {
    value.offset = decoder.frameOffset(operand);
    value.size =
        static_cast<uint32_t>(decoder.function().variables[operand.index].size);
    return value;
  }
  if (operand.symbol == SymbolKind::Parameter ||
      operand.symbol == SymbolKind::Result) {
    value.offset = decoder.frameOffset(operand);
    const auto &list = operand.symbol == SymbolKind::Parameter
                           ? decoder.function().parameters
                           : decoder.function().results;
    if (operand.symbol == SymbolKind::Parameter && decoder.function().isKernel)
      return decoder.error(inst, "a kernel parameter cannot be passed as such");
    value.size = static_cast<uint32_t>(list[operand.index].size);
    return value;
  }
  value.reg =
      isResult ? decoder.destination(operand, 0) : decoder.source(operand, 0);
  value.size = std::max(1u, value.reg.bits / 8u);
  if (value.reg.isNone())
    return decoder.unsupported(inst);
  return value;
}

static llvm::Error decodeCall(Decoder &decoder, const ptx::Instruction &inst) {
  if (inst.operands.size() < 3)
    return decoder.unsupported(inst);
  auto *extra = decoder.newExtra<CallExtra>();
  auto decodeList = [&](const ptx::Operand &list, bool isResult,
                        std::vector<CallValue> &values) -> llvm::Error {
    for (const ptx::Operand &element : decoder.elements(list)) {
      llvm::Expected<CallValue> value =
          decodeCallValue(decoder, inst, element, isResult);
      if (!value)
        return value.takeError();
      values.push_back(*value);
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = decodeList(inst.operands[0], true, extra->results))
    return error;
  if (llvm::Error error = decodeList(inst.operands[2], false, extra->arguments))
    return error;
  const ptx::Operand &callee = inst.operands[1];
  if (callee.isRegister()) {
    Operand target = decoder.source(callee, 64);
    Op &op =
        decoder.emit(inst, callIndirect, InstructionClass::Control, {}, target);
    op.extra = extra;
    return llvm::Error::success();
  }
  if (callee.symbol != SymbolKind::Function)
    return decoder.unsupported(inst);
  const ptx::Function &function = decoder.module.functions[callee.index];
  Handler handler = callDirect;
  if (function.isDeclaration) {
    handler = findSystemCall(decoder, function.name, *extra);
    if (!handler)
      return decoder.error(inst, "'" + function.name +
                                     "' has no body in this module; of the "
                                     "system's functions vprintf, "
                                     "__assertfail, malloc and free are "
                                     "supported");
  }
  Op &op = decoder.emit(inst, handler, InstructionClass::Control, {}, {});
  op.extra = extra;
  extra->function = static_cast<int32_t>(decoder.functionIndex(callee.index));
  return llvm::Error::success();
}

/// The `.reg` ones among parameters or results; null if there are none.
static EntryExtra *findRegisters(Decoder &decoder,
                                 const std::vector<ptx::Parameter> &list) {
  bool any = llvm::any_of(list, [](const ptx::Parameter &parameter) {
    return parameter.isRegister;
  });
  if (decoder.function().isKernel || !any)
    return nullptr;
  auto *extra = decoder.newExtra<EntryExtra>();
  for (const ptx::Parameter &parameter : list) {
    Operand &reg = extra->registers.emplace_back();
    if (!parameter.isRegister)
      continue;
    ptx::Operand operand;
    operand.kind = OperandKind::Register;
    operand.index = parameter.registerIndex;
    reg = decoder.source(operand, 0);
  }
  return extra;
}

void kvq::emu::emitFunctionEntry(Decoder &decoder,
                                 const ptx::Instruction &place) {
  if (auto *extra = findRegisters(decoder, decoder.function().parameters))
    decoder.emit(place, loadRegisterParameters, InstructionClass::Move, {}, {})
        .extra = extra;
}

static void emitRegisterResults(Decoder &decoder,
                                const ptx::Instruction &inst) {
  if (auto *extra = findRegisters(decoder, decoder.function().results))
    decoder.emit(inst, storeRegisterResults, InstructionClass::Move, {}, {})
        .extra = extra;
}

llvm::Error kvq::emu::decodeControl(Decoder &decoder,
                                    const ptx::Instruction &inst) {
  const auto &operands = inst.operands;
  auto simple = [&](Handler handler) {
    decoder.emit(inst, handler, InstructionClass::Control, {}, {});
    return llvm::Error::success();
  };
  switch (inst.opcode) {
  case Opcode::Bra: {
    if (operands.size() != 1 || operands[0].kind != OperandKind::Label)
      return decoder.unsupported(inst);
    Op &op = decoder.emit(inst, branch, InstructionClass::Control, {}, {});
    decoder.patchTarget(op, operands[0].index);
    return llvm::Error::success();
  }
  case Opcode::BrxIdx: {
    if (operands.size() != 2 || operands[1].kind != OperandKind::BranchTable)
      return decoder.unsupported(inst);
    auto *extra = decoder.newExtra<TableExtra>();
    extra->targets = decoder.function().branchTables[operands[1].index];
    Operand index = decoder.source(operands[0], 32);
    Op &op =
        decoder.emit(inst, branchIndexed, InstructionClass::Control, {}, index);
    op.extra = extra;
    decoder.patchTable(&extra->targets);
    return llvm::Error::success();
  }
  case Opcode::Call:
    return decodeCall(decoder, inst);
  case Opcode::Ret:
    emitRegisterResults(decoder, inst);
    return simple(returnThreads);
  case Opcode::Exit:
    return simple(exitThreads);
  case Opcode::Trap:
  case Opcode::Brkpt:
    return simple(trap);
  case Opcode::Nanosleep:
    return simple(sleep);
  case Opcode::Pmevent:
  case Opcode::Setmaxnreg:
  case Opcode::Griddepcontrol:
    // One grid runs at a time: what it depends on is complete.
    return simple(nothing);
  default:
    return decoder.unsupported(inst);
  }
}
