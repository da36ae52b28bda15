//===- Pipes.cpp - Which unit an instruction occupies ---------------------===//

#include "kvq/Emulator/Machine/Decoder.h"

using namespace kvq::emu;
using ptx::Opcode;
using ptx::Type;

/// 8, 6 and 4-bit floats in their packed forms.
static bool isNarrowFloat(Type type) {
  switch (type) {
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::E2M1x2:
  case Type::UE8M0x2:
  case Type::E4M3x4:
  case Type::E5M2x4:
  case Type::E2M3x4:
  case Type::E3M2x4:
  case Type::E2M1x4:
  case Type::S2F6x2:
    return true;
  default:
    return false;
  }
}

static Pipe pipeOfConversion(const ptx::Modifiers &mods) {
  Type to = mods.type(0), from = mods.type(1);
  if (to == Type::F64 || from == Type::F64)
    return Pipe::Double;
  if (isNarrowFloat(to))
    return Pipe::AluPack;
  // Between integers and floats, and roundings of a float to an integer value.
  bool rounds = mods.rounding >= ptx::Rounding::RNI &&
                mods.rounding <= ptx::Rounding::RPI;
  bool fromFloat = ptx::isFloat(from) || isNarrowFloat(from);
  if (rounds || ptx::isFloat(to) != fromFloat)
    return Pipe::Special;
  return Pipe::Alu;
}

static Pipe pipeOfFloat(const ptx::Instruction &inst) {
  Type type = inst.mods.type();
  if (type == Type::F64)
    return Pipe::Double;
  switch (inst.opcode) {
  case Opcode::Min:
  case Opcode::Max:
  case Opcode::Abs:
  case Opcode::Neg:
  case Opcode::Copysign:
    return Pipe::Alu;
  case Opcode::Add:
  case Opcode::Sub:
  case Opcode::Mul:
  case Opcode::Mad:
  case Opcode::Fma:
    return type == Type::F32 ? Pipe::Fma : Pipe::FmaWide;
  default:
    return Pipe::Special;
  }
}

static Pipe pipeOfInteger(Opcode opcode) {
  switch (opcode) {
  case Opcode::Mul:
  case Opcode::Mad:
  case Opcode::Madc:
  case Opcode::Mul24:
  case Opcode::Mad24:
  case Opcode::Dp4a:
  case Opcode::Dp2a:
    return Pipe::FmaWide;
  case Opcode::Popc:
  case Opcode::Clz:
  case Opcode::Bfind:
  case Opcode::Brev:
  case Opcode::Fns:
    return Pipe::Special;
  default:
    return Pipe::Alu;
  }
}

Pipe kvq::emu::pipeOf(const ptx::Instruction &inst, InstructionClass category) {
  switch (category) {
  case InstructionClass::Conversion:
    return pipeOfConversion(inst.mods);
  case InstructionClass::Integer:
    return pipeOfInteger(inst.opcode);
  case InstructionClass::Float:
  case InstructionClass::Double:
  case InstructionClass::SpecialFunction:
    return pipeOfFloat(inst);
  case InstructionClass::Move:
  case InstructionClass::Constant:
    return Pipe::Move;
  case InstructionClass::Control:
  case InstructionClass::Barrier:
    return Pipe::Control;
  case InstructionClass::Warp:
    return inst.opcode == Opcode::Shfl ? Pipe::Memory : Pipe::Alu;
  case InstructionClass::Global:
  case InstructionClass::Shared:
  case InstructionClass::Local:
  case InstructionClass::Atomic:
    return Pipe::Memory;
  case InstructionClass::AsyncCopy:
    switch (inst.opcode) {
    case Opcode::CpAsyncBulk:
    case Opcode::CpReduceAsyncBulk:
    case Opcode::CpAsyncBulkTensor:
    case Opcode::CpReduceAsyncBulkTensor:
    case Opcode::CpAsyncBulkPrefetch:
    case Opcode::CpAsyncBulkPrefetchTensor:
      return Pipe::BulkCopy;
    case Opcode::CpAsync:
    case Opcode::StAsync:
    case Opcode::RedAsync:
      return Pipe::Memory;
    default:
      return Pipe::Control;
    }
  case InstructionClass::Tensor:
    switch (inst.opcode) {
    case Opcode::Mma:
    case Opcode::WmmaMma:
    case Opcode::Tcgen05Mma:
    case Opcode::Tcgen05MmaWs:
    case Opcode::WgmmaMmaAsync:
      return Pipe::Tensor;
    case Opcode::Tcgen05Ld:
    case Opcode::Tcgen05St:
      return Pipe::Memory;
    default:
      return Pipe::Control;
    }
  case InstructionClass::Other:
    return Pipe::Control;
  }
  return Pipe::Control;
}
