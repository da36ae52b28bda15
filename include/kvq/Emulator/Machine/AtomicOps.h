//===- AtomicOps.h - What atomic operations compute -------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_ATOMICOPS_H
#define KVQ_EMULATOR_MACHINE_ATOMICOPS_H

#include "kvq/Emulator/Numerics/Arith.h"
#include "kvq/Emulator/PTX/Instruction.h"
#include <optional>

namespace kvq::emu {

enum class AtomicKind : uint8_t {
  Add,
  Min,
  Max,
  Inc,
  Dec,
  And,
  Or,
  Xor,
  Exch,
  Cas
};

/// The operation of atom, red and the reducing copies on one element.
struct AtomicOperation {
  AtomicKind kind = AtomicKind::Add;
  ptx::Type type = ptx::Type::U32;
  /// Floating-point operations; null for integers.
  num::BinaryFn function = nullptr;
  num::FpMode mode;

  /// The new value. Cas and exchange give `value`; integers have 32 or 64 bits.
  uint64_t apply(uint64_t old, uint64_t value) const;
  /// What the instruction's words say, or nothing if there is no such form.
  static std::optional<AtomicOperation> find(const ptx::Instruction &inst,
                                             ptx::Type type);
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_ATOMICOPS_H
