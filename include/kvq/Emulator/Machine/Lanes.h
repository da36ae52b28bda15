//===- Lanes.h - Handlers for elementwise operations ------------*- C++ -*-===//
//
// Turns a function of one thread's values into a handler for a warp. Results
// are zero-extended to 64 bits; functions return them so.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_LANES_H
#define KVQ_EMULATOR_MACHINE_LANES_H

#include "kvq/Emulator/Machine/Warp.h"
#include <type_traits>

namespace kvq::emu {

/// Zero-extends the bits of an integer.
template <typename T>
constexpr uint64_t bitsOf(T value) {
  return static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
}

/// The low `bits` bits of a value.
constexpr uint64_t lowBits(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

/// Sign-extends from `bits` to 64.
constexpr uint64_t signExtend(uint64_t value, unsigned bits) {
  return bits >= 64
             ? value
             : static_cast<uint64_t>(
                   static_cast<int64_t>(value << (64 - bits)) >> (64 - bits));
}

template <uint64_t (*F)(uint64_t)>
void unaryLanes(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) { d[i] = F(a[i]); });
}

template <uint64_t (*F)(uint64_t, uint64_t)>
void binaryLanes(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  forLanes(lanes, [&](unsigned i) { d[i] = F(a[i], b[i]); });
}

template <uint64_t (*F)(uint64_t, uint64_t, uint64_t)>
void ternaryLanes(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2));
  forLanes(lanes, [&](unsigned i) { d[i] = F(a[i], b[i], c[i]); });
}

/// Functions that also look at the operation: its small numbers.
template <uint64_t (*F)(const Op &, uint64_t)>
void unaryLanesOp(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) { d[i] = F(op, a[i]); });
}

template <uint64_t (*F)(const Op &, uint64_t, uint64_t, uint64_t)>
void ternaryLanesOp(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2));
  forLanes(lanes, [&](unsigned i) { d[i] = F(op, a[i], b[i], c[i]); });
}

/// A mask of the lanes where `test(lane)` holds.
template <typename Test>
LaneMask lanesWhere(LaneMask lanes, Test &&test) {
  LaneMask result = 0;
  forLanes(lanes,
           [&](unsigned i) { result |= LaneMask(test(i) ? 1 : 0) << i; });
  return result;
}

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_LANES_H
