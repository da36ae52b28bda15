//===- StrictFloat.h - f32 arithmetic that no mode changes ----------------===//
//
// Arithmetic of IEEE binary32 with subnormal inputs and results kept, rounding
// to nearest even, whatever the control word of the calling thread says (flush
// to zero, denormals are zero, rounding direction). A library that is loaded
// into a Python process or called from an OpenMP worker cannot know that word.
//
// Each operation is done in binary64 and rounded once more with integers.
// Every binary32 number is a normal binary64 number, and so are all products
// and quotients of two, hence no flush can occur. Products are exact there. For
// sums and quotients the double rounding is harmless: one that binary64 does
// not represent is at least 2^-50 (relative) away from any midpoint of two
// binary32 numbers, subnormal ones included, which is more than binary64 is
// wrong by in any rounding direction. (Figueroa, "When is double rounding
// innocuous?", 1995, has the bound on the precisions.)
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_SUPPORT_STRICTFLOAT_H
#define KVQ_SUPPORT_STRICTFLOAT_H

#include "llvm/ADT/bit.h"
#include <cstdint>

namespace kvq {
namespace strict {

inline constexpr uint32_t SignBit = 0x80000000u;
inline constexpr uint32_t InfinityBits = 0x7F800000u;

/// The bits of `value`, and the value of bits.
inline uint32_t toBits(float value) { return llvm::bit_cast<uint32_t>(value); }
inline float fromBits(uint32_t bits) { return llvm::bit_cast<float>(bits); }

/// The bits of |value|. They order as the magnitudes do; NaN is above infinity.
inline uint32_t magnitudeBits(float value) { return toBits(value) & ~SignBit; }

inline bool isNaN(float value) { return magnitudeBits(value) > InfinityBits; }
inline bool isInfinite(float value) {
  return magnitudeBits(value) == InfinityBits;
}

/// Shifts `value` right by `shift` (1 to 63) bits, rounding to nearest even.
inline uint64_t shiftRoundEven(uint64_t value, unsigned shift) {
  uint64_t quotient = value >> shift;
  uint64_t rest = value & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/// Converts to binary64, exactly.
inline double widen(float value) {
  uint32_t magnitude = magnitudeBits(value);
  if (magnitude >= 0x00800000u)
    return static_cast<double>(value);
  // A conversion instruction would read a subnormal as zero under DAZ.
  double result = static_cast<double>(magnitude) * 0x1p-149;
  return toBits(value) & SignBit ? -result : result;
}

/// Rounds to binary32, to nearest even. NaN stays NaN with its sign.
inline float narrow(double value) {
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  uint32_t sign = static_cast<uint32_t>(bits >> 32) & SignBit;
  uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  uint64_t exponent = magnitude >> 52;
  uint64_t fraction = magnitude & ((uint64_t(1) << 52) - 1);
  if (exponent == 0x7FF) {
    uint32_t payload = static_cast<uint32_t>(fraction >> 29);
    return fromBits(sign | InfinityBits |
                    (fraction ? 0x00400000u | payload : 0));
  }
  uint64_t result;
  if (exponent >= 1023 - 126) {
    // Rebias the exponent; a carry out of the fraction increments it.
    result = shiftRoundEven(magnitude - (uint64_t(1023 - 127) << 52), 29);
    if (result > InfinityBits)
      result = InfinityBits;
  } else {
    uint64_t shift = 29 + (1023 - 126) - exponent;
    uint64_t significand = (uint64_t(1) << 52) | fraction;
    result = shift > 54 ? 0 : shiftRoundEven(significand, shift);
  }
  return fromBits(sign | static_cast<uint32_t>(result));
}

inline float add(float a, float b) { return narrow(widen(a) + widen(b)); }
inline float subtract(float a, float b) { return narrow(widen(a) - widen(b)); }
inline float multiply(float a, float b) { return narrow(widen(a) * widen(b)); }
inline float divide(float a, float b) { return narrow(widen(a) / widen(b)); }

} // namespace strict
} // namespace kvq

#endif // KVQ_SUPPORT_STRICTFLOAT_H
