//===- ArithDetail.h - Bit-level helpers of the arithmetic ----------------===//

#ifndef KVQ_LIB_EMULATOR_NUMERICS_ARITHDETAIL_H
#define KVQ_LIB_EMULATOR_NUMERICS_ARITHDETAIL_H

#include "kvq/Emulator/Numerics/Arith.h"
#include <cstring>
#include <initializer_list>
#if defined(__x86_64__) || defined(__SSE2__)
#include <immintrin.h>
#define KVQ_EMU_HAS_MXCSR 1
#endif

namespace kvq::emu::num {

/// HostFPScopes alive on this thread. Reading MXCSR costs as much as several
/// instructions, so that inside a scope it is not read.
#if defined(__GNUC__) || defined(__clang__)
extern thread_local unsigned hostScopes
    __attribute__((tls_model("initial-exec")));
#else
extern thread_local unsigned hostScopes;
#endif

/// True if host floating point rounds to nearest, keeps subnormals and does not
/// trap. Where this cannot be asked, arithmetic is soft.
inline bool hostIsDefault() {
#ifdef KVQ_EMU_HAS_MXCSR
  if (hostScopes != 0)
    return true;
  // Sticky exception flags (bits 0-5) do not matter.
  return (_mm_getcsr() & 0xffc0) == 0x1f80;
#else
  return false;
#endif
}

inline float asFloat(uint64_t bits) {
  uint32_t w = static_cast<uint32_t>(bits);
  float f;
  std::memcpy(&f, &w, sizeof f);
  return f;
}
inline double asDouble(uint64_t bits) {
  double d;
  std::memcpy(&d, &bits, sizeof d);
  return d;
}
inline uint32_t bitsOf(float f) {
  uint32_t w;
  std::memcpy(&w, &f, sizeof w);
  return w;
}
inline uint64_t bitsOf(double d) {
  uint64_t w;
  std::memcpy(&w, &d, sizeof w);
  return w;
}

/// f16 to binary64. The binary64 is never subnormal, so that no host flag
/// matters.
inline double f16ToDouble(uint64_t h) {
  uint64_t exp = h & 0x7c00, man = h & 0x3ff;
  uint64_t sign = (h & 0x8000) << 48;
  uint64_t magnitude;
  if (exp == 0)
    magnitude =
        bitsOf(static_cast<double>(static_cast<int64_t>(man)) * 0x1p-24);
  else
    magnitude = ((h & 0x7fff) << 42) +
                (uint64_t(exp == 0x7c00 ? 2047 - 31 : 1023 - 15) << 52);
  return asDouble(magnitude | sign);
}

/// bf16 to binary64, with the host in its default state.
inline double bf16ToDouble(uint64_t h) { return asFloat(h << 16); }

/// x + y in binary64, rounded to odd: an inexact sum gets an odd last bit next
/// to the exact value, so that rounding it again to at most 51 bits is the same
/// as rounding the exact sum. With the host in its default state; no overflow.
inline double addToOdd(double x, double y) {
  double s = x + y;
  double t = s - x;
  double error = (x - (s - t)) + (y - t);
  if (error == 0 || error != error)
    return s;
  uint64_t w = bitsOf(s);
  if (!(w & 1))
    w += (error > 0) == (s > 0) ? 1 : -1;
  return asDouble(w);
}

/// Mantissa bits of the four arithmetic formats.
constexpr unsigned mantissaBits(Format f) {
  return f == Format::F64    ? 52
         : f == Format::F32  ? 23
         : f == Format::F16  ? 10
         : f == Format::BF16 ? 7
                             : 0;
}
constexpr uint64_t signMask(Format f) {
  return f == Format::F64   ? uint64_t(1) << 63
         : f == Format::F32 ? uint64_t(1) << 31
                            : uint64_t(1) << 15;
}
/// The code of +infinity.
constexpr uint64_t infBits(Format f) {
  return signMask(f) - (uint64_t(1) << mantissaBits(f));
}
constexpr bool isNaNBits(Format f, uint64_t v) {
  return (v & (signMask(f) - 1)) > infBits(f);
}
constexpr bool isSubnormalBits(Format f, uint64_t v) {
  return (v & infBits(f)) == 0 &&
         (v & ((uint64_t(1) << mantissaBits(f)) - 1)) != 0;
}
constexpr bool signBit(Format f, uint64_t v) { return v & signMask(f); }

/// The NaN that an operation on these operands returns.
uint64_t nanResult(Format f, std::initializer_list<uint64_t> operands);

/// decode() with .ftz applied to the operand.
Real decodeFlushed(Format f, uint64_t bits, const FpMode &mode);

/// encode() with the instruction's modifiers and NaN rule.
uint64_t encodeResult(Format f, const Real &value, const FpMode &mode,
                      std::initializer_list<uint64_t> operands);

/// RN of a double to f16, on integers only.
uint16_t roundToF16(double value);
/// RN of a double to f32, on integers only. NaN becomes 0x7fffffff.
uint32_t roundToF32(double value);

/// The functions of Math.cpp.
UnaryFn findMath(FOp op, FType type, const FpMode &mode);
BinaryFn findMath2(FOp op, FType type);

/// Sign-magnitude code as an integer that orders like the value, with
/// -0 < +0.
template <Format F>
int64_t orderKey(uint64_t v) {
  int64_t magnitude = static_cast<int64_t>(v & ~signMask(F));
  return (v & signMask(F)) ? -magnitude - 1 : magnitude;
}

} // namespace kvq::emu::num

#endif // KVQ_LIB_EMULATOR_NUMERICS_ARITHDETAIL_H
