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

/// Replaces the value of `bytes` (2, 4 or 8) at `at` by update(old), zero
/// extended, with no other worker's atomic operation between. Returns the old
/// value.
template <typename Update>
uint64_t updateAtomically(uint8_t *at, unsigned bytes, Update &&update) {
  auto exchange = [&](auto *place) {
    auto old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    for (;;) {
      auto value = static_cast<decltype(old)>(update(uint64_t(old)));
      if (value == old ||
          __atomic_compare_exchange_n(place, &old, value, /*weak=*/true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return uint64_t(old);
    }
  };
  switch (bytes) {
  case 1:
    return exchange(at);
  case 2:
    return exchange(reinterpret_cast<uint16_t *>(at));
  case 4:
    return exchange(reinterpret_cast<uint32_t *>(at));
  default:
    return exchange(reinterpret_cast<uint64_t *>(at));
  }
}

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_ATOMICOPS_H
