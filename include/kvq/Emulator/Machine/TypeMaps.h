//===- TypeMaps.h - PTX types as the numerics name them ---------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_TYPEMAPS_H
#define KVQ_EMULATOR_MACHINE_TYPEMAPS_H

#include "kvq/Emulator/Numerics/Arith.h"
#include "kvq/Emulator/PTX/Instruction.h"
#include <optional>

namespace kvq::emu {

inline std::optional<num::FType> toFType(ptx::Type type) {
  switch (type) {
  case ptx::Type::F16:
    return num::FType::F16;
  case ptx::Type::F16x2:
    return num::FType::F16x2;
  case ptx::Type::BF16:
    return num::FType::BF16;
  case ptx::Type::BF16x2:
    return num::FType::BF16x2;
  case ptx::Type::F32:
    return num::FType::F32;
  case ptx::Type::F32x2:
    return num::FType::F32x2;
  case ptx::Type::F64:
    return num::FType::F64;
  default:
    return std::nullopt;
  }
}

/// The rounding of arithmetic; nearest even where none is given.
inline num::Round toRound(ptx::Rounding rounding) {
  switch (rounding) {
  case ptx::Rounding::RZ:
    return num::Round::RZ;
  case ptx::Rounding::RM:
    return num::Round::RM;
  case ptx::Rounding::RP:
    return num::Round::RP;
  default:
    return num::Round::RN;
  }
}

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_TYPEMAPS_H
