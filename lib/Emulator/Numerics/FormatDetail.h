//===- FormatDetail.h - Parts of encode and decode shared inside ----------===//

#ifndef KVQ_LIB_EMULATOR_NUMERICS_FORMATDETAIL_H
#define KVQ_LIB_EMULATOR_NUMERICS_FORMATDETAIL_H

#include "kvq/Emulator/Numerics/Format.h"

namespace kvq::emu::num {

/// encode() for a format that is described, not named: sign, exponent,
/// mantissa.
uint64_t encodeIEEE(const FormatInfo &format, const Real &value,
                    const EncodeOptions &options);

/// Rounds the magnitude of a finite value to an integer, in the direction that
/// `round` has for the signed value. Sets `overflow` from 2^64 on and for
/// infinities.
uint64_t roundToInteger(const Real &value, Round round, bool &overflow);

/// RN of the binary64 with these bits to a narrower format with a bias of
/// 2^(expBits-1) - 1, on integers only. Codes above `maxFinite`, infinities
/// included, become `overflow`; NaN becomes `canonNaN`, both without a sign
/// for NaN and with it for `overflow`.
inline uint64_t narrowRN(uint64_t bits, unsigned expBits, unsigned manBits,
                         uint64_t maxFinite, uint64_t overflow,
                         uint64_t canonNaN) {
  int bias = (1 << (expBits - 1)) - 1;
  uint64_t sign = (bits >> 63) << (expBits + manBits);
  uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  if (magnitude > uint64_t(0x7ff) << 52)
    return canonNaN;
  int e = static_cast<int>(magnitude >> 52) - 1023;
  if (e > bias + 1)
    return overflow | sign;
  // Subnormal binary64 values are below half of any narrower subnormal.
  if (e < -bias - static_cast<int>(manBits))
    return sign;
  uint64_t sig = (magnitude & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
  unsigned shift = 52 - manBits;
  uint64_t base = 0;
  if (e >= 1 - bias)
    base = static_cast<uint64_t>(e + bias - 1) << manBits;
  else
    shift += static_cast<unsigned>(1 - bias - e);
  uint64_t half = uint64_t(1) << (shift - 1);
  uint64_t kept = sig >> shift;
  uint64_t rest = sig & ((half << 1) - 1);
  kept += rest > half || (rest == half && (kept & 1));
  uint64_t code = base + kept;
  return (code > maxFinite ? overflow : code) | sign;
}

/// narrowRN() to a format of IEEE shape.
template <unsigned ExpBits, unsigned ManBits>
inline uint64_t narrowFromF64(uint64_t bits, uint64_t canonNaN) {
  constexpr uint64_t inf = ((uint64_t(1) << ExpBits) - 1) << ManBits;
  return narrowRN(bits, ExpBits, ManBits, inf - 1, inf, canonNaN);
}

/// The values of all 256 bytes in a format of at most 8 bits.
const double *smallTable(Format format);

/// Bits of the binary64 that equals a code of a narrower IEEE format. NaNs keep
/// their payload in the top bits.
inline uint64_t widenToF64(uint64_t bits, unsigned expBits, unsigned manBits,
                           int bias) {
  uint64_t man = bits & ((uint64_t(1) << manBits) - 1);
  uint64_t expMask = (uint64_t(1) << expBits) - 1;
  uint64_t exp = (bits >> manBits) & expMask;
  uint64_t sign = (bits >> (manBits + expBits)) & 1;
  uint64_t out;
  if (exp == expMask) {
    out = (uint64_t(0x7ff) << 52) | (man << (52 - manBits));
  } else if (exp) {
    out = ((exp + 1023 - bias) << 52) | (man << (52 - manBits));
  } else if (man == 0) {
    out = 0;
  } else {
    unsigned msb = 63 - __builtin_clzll(man);
    out = (static_cast<uint64_t>(1023 + 1 - bias - static_cast<int>(manBits) +
                                 static_cast<int>(msb))
           << 52) |
          ((man << (52 - msb)) & ((uint64_t(1) << 52) - 1));
  }
  return out | (sign << 63);
}

} // namespace kvq::emu::num

#endif // KVQ_LIB_EMULATOR_NUMERICS_FORMATDETAIL_H
