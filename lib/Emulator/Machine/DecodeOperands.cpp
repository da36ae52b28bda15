//===- DecodeOperands.cpp - Operands of PTX as operands of the machine ----===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;

Operand Decoder::temporary(unsigned bits) {
  ProgramFunction &self = program.functions[currentIndex];
  Operand operand;
  operand.bits = static_cast<uint8_t>(bits);
  if (bits == 1) {
    operand.predicate = true;
    operand.index = static_cast<int32_t>(self.predicates++);
  } else {
    operand.bank = Bank::Register;
    operand.index = static_cast<int32_t>(self.registers * warpSize);
    self.registers += bits > 64 ? 2 : 1;
  }
  return operand;
}

Operand Decoder::carryFlag() {
  if (carry.isNone())
    carry = temporary(1);
  return carry;
}

Operand Decoder::constant(uint64_t value) {
  auto [it, isNew] = constantIndex.try_emplace(
      value, static_cast<uint32_t>(program.constants.size()));
  if (isNew)
    program.constants.insert(program.constants.end(), warpSize, value);
  Operand operand;
  operand.bank = Bank::Constant;
  operand.bits = 64;
  operand.index = static_cast<int32_t>(it->second);
  return operand;
}

std::optional<uint64_t> Decoder::immediate(const ptx::Operand &operand) {
  if (operand.kind == ptx::OperandKind::Immediate)
    return operand.bits;
  if (operand.kind == ptx::OperandKind::Special &&
      operand.special == ptx::SpecialRegister::WarpSize)
    return warpSize;
  return std::nullopt;
}

static bool isClock(ptx::SpecialRegister reg) {
  using SR = ptx::SpecialRegister;
  return reg == SR::Clock || reg == SR::ClockHi || reg == SR::Clock64 ||
         reg == SR::GlobalTimer || reg == SR::GlobalTimerLo ||
         reg == SR::GlobalTimerHi;
}

static void readClock(Warp &warp, const Op &op, LaneMask lanes) {
  warp.refreshClocks();
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) { d[i] = a[i]; });
}

/// An address with its bias. Op: as addressBias says.
static void addressOf(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  uint64_t address = addressBias(warp, op);
  forLanes(lanes, [&](unsigned i) { d[i] = address; });
}

/// A register's value with Op::imm added, in the register's width.
static void addOffset(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) {
    d[i] = lowBits(a[i] + static_cast<uint64_t>(op.imm), op.dst().bits);
  });
}

bool Decoder::emitAddress(const ptx::Operand &operand, const Operand &dst) {
  int64_t imm = operand.offset;
  uint8_t flags = 0;
  switch (operand.symbol) {
  case ptx::SymbolKind::ModuleVariable:
    if (module.variables[operand.index].space != ptx::Space::Shared)
      return false;
    imm += sharedOffset(operand.index);
    flags = 1;
    break;
  case ptx::SymbolKind::Parameter:
    if (current->isKernel)
      return false;
    [[fallthrough]];
  case ptx::SymbolKind::Local:
  case ptx::SymbolKind::CallParam:
  case ptx::SymbolKind::Result:
    imm += frameOffset(operand);
    flags = 2;
    break;
  default:
    return false;
  }
  Op &op = emit(*currentInst, addressOf, InstructionClass::Move, dst, {});
  op.imm = imm;
  op.c = flags;
  return true;
}

void Decoder::complain(const llvm::Twine &message) {
  if (mistake.empty())
    mistake = message.str();
}

Operand Decoder::registerOf(const ptx::Operand &operand, unsigned bits) {
  Operand result = registers[operand.index];
  result.negated = operand.negated;
  const std::string &name = current->registers[operand.index].name;
  if (bits && result.predicate != (bits == 1))
    complain(llvm::formatv("'{0}' is {1} predicate register", name,
                           result.predicate ? "a" : "no"));
  else if (result.bits < bits)
    complain(llvm::formatv("register '{0}' has {1} bits where {2} are needed",
                           name, result.bits, bits));
  return result;
}

Operand Decoder::source(const ptx::Operand &operand, unsigned bits) {
  constexpr unsigned anyBits = 64;
  using Kind = ptx::OperandKind;
  switch (operand.kind) {
  case Kind::Register:
    return registerOf(operand, bits);
  case Kind::Sum: {
    Operand base = registers[operand.index], sum = temporary(base.bits);
    emit(*currentInst, addOffset, InstructionClass::Move, sum, base).imm =
        operand.offset;
    return sum;
  }
  case Kind::Immediate:
    return constant(lowBits(operand.bits, bits ? bits : anyBits));
  case Kind::Special: {
    Operand special;
    special.bank = Bank::Special;
    special.bits = 64;
    special.index =
        static_cast<int32_t>(operand.special) * static_cast<int32_t>(warpSize);
    if (!isClock(operand.special))
      return special;
    Operand value = temporary(64);
    emit(*currentInst, readClock, InstructionClass::Move, value, special);
    return value;
  }
  case Kind::Symbol:
  case Kind::Address: {
    Operand value = temporary(64);
    if (emitAddress(operand, value))
      return value;
    uint64_t offset = static_cast<uint64_t>(operand.offset);
    switch (operand.symbol) {
    case ptx::SymbolKind::ModuleVariable:
      return constant(globals.lookup(operand.index) + offset);
    case ptx::SymbolKind::Function:
      return constant(codeAddress(operand.index));
    case ptx::SymbolKind::Parameter:
      if (current->isKernel)
        return constant(current->parameters[operand.index].offset + offset);
      break;
    case ptx::SymbolKind::Local:
    case ptx::SymbolKind::CallParam:
    case ptx::SymbolKind::Result:
      break;
    case ptx::SymbolKind::None:
      return constant(lowBits(offset, bits ? bits : anyBits));
    }
    break;
  }
  default:
    break;
  }
  complain("an operand that is read must be one register or value");
  return Operand();
}

Operand Decoder::predicateSource(const ptx::Operand &operand) {
  if (operand.kind == ptx::OperandKind::Immediate)
    return constant(operand.bits != 0);
  return source(operand, 1);
}

Operand Decoder::destination(const ptx::Operand &operand, unsigned bits) {
  if (operand.kind == ptx::OperandKind::Register)
    return registerOf(operand, bits);
  if (operand.kind != ptx::OperandKind::Sink)
    complain("an operand that is written must be a register or '_'");
  return temporary(bits);
}
