//===- Format.cpp - Floating-point formats and exact values ---------------===//

#include "kvq/Emulator/Numerics/Format.h"
#include "FormatDetail.h"
#include <array>
#include <cstring>

using namespace kvq::emu::num;

namespace {

constexpr FormatInfo formats[numFormats] = {
    {"f64", 64, 11, 52, 1023, true, Specials::IEEE, 0x7ff8000000000000ull,
     0x7fefffffffffffffull},
    {"f32", 32, 8, 23, 127, true, Specials::IEEE, 0x7fffffff, 0x7f7fffff},
    // Kept as a 32-bit word; encode() shifts the 19-bit code into place.
    {"tf32", 32, 8, 10, 127, true, Specials::IEEE, 0x7fffffff, 0x7f7fe000},
    {"f16", 16, 5, 10, 15, true, Specials::IEEE, 0x7fff, 0x7bff},
    {"bf16", 16, 8, 7, 127, true, Specials::IEEE, 0x7fff, 0x7f7f},
    {"e4m3", 8, 4, 3, 7, true, Specials::NaNOnly, 0x7f, 0x7e},
    {"e5m2", 8, 5, 2, 15, true, Specials::IEEE, 0x7f, 0x7b},
    {"e2m1", 4, 2, 1, 1, true, Specials::None, 0, 0x7},
    {"e2m3", 6, 2, 3, 1, true, Specials::None, 0, 0x1f},
    {"e3m2", 6, 3, 2, 3, true, Specials::None, 0, 0x1f},
    {"ue8m0", 8, 8, 0, 127, false, Specials::NaNOnly, 0xff, 0xfe},
    {"ue4m3", 8, 4, 3, 7, false, Specials::NaNOnly, 0x7f, 0x7e},
    {"s2f6", 8, 0, 6, 0, true, Specials::None, 0, 0x7f},
};

constexpr unsigned tf32Shift = 13;

/// Position of the leading one; -1 for zero.
int leadingBit(UInt128 v) {
  uint64_t hi = static_cast<uint64_t>(v >> 64);
  if (hi)
    return 127 - __builtin_clzll(hi);
  uint64_t lo = static_cast<uint64_t>(v);
  return lo ? 63 - __builtin_clzll(lo) : -1;
}

/// A significand cut at some bit: what is kept and what follows.
struct Cut {
  uint64_t kept;
  bool half;      ///< The first discarded bit.
  bool rest;      ///< Anything below that.
  uint32_t first; ///< The first `EncodeOptions::randomBits` discarded bits.
};

/// Cuts `value` so that the kept integer counts units of 2^unit.
Cut cut(const Real &value, int32_t unit, unsigned randomBits) {
  Cut result{0, false, value.sticky, 0};
  int64_t shift = static_cast<int64_t>(unit) - value.exponent;
  UInt128 sig = value.significand;
  if (shift <= 0) {
    result.kept = static_cast<uint64_t>(sig << -shift);
    return result;
  }
  if (shift > 128) {
    result.rest |= sig != 0;
    if (randomBits && shift - 128 < static_cast<int64_t>(randomBits))
      result.first =
          static_cast<uint32_t>(sig >> (128 - (randomBits - (shift - 128))));
    return result;
  }
  if (shift < 128)
    result.kept = static_cast<uint64_t>(sig >> shift);
  UInt128 one = 1;
  result.half = (sig >> (shift - 1)) & 1;
  result.rest |= (sig & ((one << (shift - 1)) - 1)) != 0;
  if (randomBits) {
    UInt128 low = shift == 128 ? sig : sig & ((one << shift) - 1);
    result.first = static_cast<uint32_t>(shift >= randomBits
                                             ? low >> (shift - randomBits)
                                             : low << (randomBits - shift));
  }
  return result;
}

bool roundsAway(const Cut &c, bool negative, const EncodeOptions &options) {
  switch (options.round) {
  case Round::RN:
    return c.half && (c.rest || (c.kept & 1));
  case Round::RNA:
    return c.half;
  case Round::RZ:
    return false;
  case Round::RM:
    return negative && (c.half || c.rest);
  case Round::RP:
    return !negative && (c.half || c.rest);
  case Round::RS:
    return ((static_cast<uint64_t>(c.first) + options.random) >>
            options.randomBits) != 0;
  }
  return false;
}

/// The code that an overflow gives, without its sign.
uint64_t overflowCode(const FormatInfo &f, bool negative, bool isInfinite,
                      const EncodeOptions &options) {
  uint64_t inf = f.maxFinite + 1;
  if (options.satfinite || f.specials == Specials::None)
    return f.maxFinite;
  if (f.specials == Specials::NaNOnly)
    return f.canonNaN;
  if (isInfinite)
    return inf;
  switch (options.round) {
  case Round::RZ:
    return f.maxFinite;
  case Round::RM:
    return negative ? inf : f.maxFinite;
  case Round::RP:
    return negative ? f.maxFinite : inf;
  default:
    return inf;
  }
}

uint64_t encodeS2F6(const Real &value, const EncodeOptions &options) {
  if (value.isNaN())
    return 0x7f;
  bool negative = value.negative;
  if (negative && options.relu)
    return 0;
  int64_t limit = negative ? 128 : 127;
  int64_t magnitude = limit;
  if (value.isFinite() && leadingBit(value.significand) + value.exponent < 2) {
    Cut c = cut(value, -6, options.randomBits);
    magnitude = c.kept + roundsAway(c, negative, options);
    magnitude = magnitude > limit ? limit : magnitude;
  }
  return static_cast<uint64_t>(negative ? -magnitude : magnitude) & 0xff;
}

/// UE8M0 has no zero and no subnormals: code c is 2^(c - 127).
uint64_t encodeUE8M0(const FormatInfo &f, const Real &value,
                     const EncodeOptions &options) {
  if (value.isNaN())
    return f.canonNaN;
  if (value.negative && options.relu)
    return 0;
  if (value.isInf())
    return overflowCode(f, false, true, options);
  int msb = leadingBit(value.significand);
  int32_t e = msb + value.exponent;
  if (msb < 0 || e < -127)
    return 0;
  if (e > 127)
    return overflowCode(f, false, false, options);
  Cut c = cut(value, e, options.randomBits);
  // Ties to even: an even code has an odd exponent.
  if (options.round == Round::RN)
    c.kept = e + 127;
  uint64_t code = e + 127 + roundsAway(c, false, options);
  return code > f.maxFinite ? overflowCode(f, false, false, options) : code;
}

} // namespace

const FormatInfo &kvq::emu::num::info(Format format) {
  return formats[static_cast<unsigned>(format)];
}

uint64_t kvq::emu::num::encodeIEEE(const FormatInfo &f, const Real &value,
                                   const EncodeOptions &options) {
  unsigned width = 1 + f.expBits + f.manBits;
  uint64_t signBit = f.isSigned ? uint64_t(1) << (width - 1) : 0;
  bool negative = value.negative;
  if (value.isNaN())
    return f.specials == Specials::None ? f.maxFinite : f.canonNaN;
  uint64_t sign = negative ? signBit : 0;
  if (negative && (options.relu || !f.isSigned))
    return 0;
  if (value.isInf())
    return overflowCode(f, negative, true, options) | sign;

  int msb = leadingBit(value.significand);
  if (msb < 0 && !value.sticky)
    return sign;
  int32_t minExp = 1 - f.bias;
  int32_t e = msb + value.exponent;
  if (e > f.bias + 1)
    return overflowCode(f, negative, false, options) | sign;
  bool normal = e >= minExp;
  int32_t unit = (normal ? e : minExp) - f.manBits;
  Cut c = cut(value, unit, options.randomBits);
  uint64_t kept = c.kept + roundsAway(c, negative, options);
  // A carry out of the mantissa runs into the exponent field, as it should.
  uint64_t code = kept;
  if (normal)
    code += static_cast<uint64_t>(e + f.bias - 1) << f.manBits;
  if (code > f.maxFinite)
    code = overflowCode(f, negative, false, options);
  else if (options.ftz && code < (uint64_t(1) << f.manBits))
    code = 0;
  return code | sign;
}

uint64_t kvq::emu::num::encode(Format format, const Real &value,
                               const EncodeOptions &options) {
  if (options.sat) {
    // Clamping first is the same as clamping last: 0 and 1 are codes of every
    // format that has .sat.
    if (value.isNaN() || value.negative)
      return 0;
    int msb = leadingBit(value.significand);
    if (value.isInf() || (msb >= 0 && msb + value.exponent >= 0)) {
      EncodeOptions plain;
      return encode(format, Real::make(false, 1, 0), plain);
    }
  }
  const FormatInfo &f = info(format);
  switch (format) {
  case Format::S2F6:
    return encodeS2F6(value, options);
  case Format::UE8M0:
    return encodeUE8M0(f, value, options);
  case Format::TF32: {
    if (value.isNaN())
      return f.canonNaN;
    FormatInfo narrow = f;
    narrow.maxFinite >>= tf32Shift;
    narrow.canonNaN >>= tf32Shift;
    return encodeIEEE(narrow, value, options) << tf32Shift;
  }
  default:
    return encodeIEEE(f, value, options);
  }
}

Real kvq::emu::num::decode(Format format, uint64_t bits) {
  const FormatInfo &f = info(format);
  unsigned manBits = f.manBits;
  switch (format) {
  case Format::UE8M0:
    bits &= 0xff;
    if (bits == 0xff)
      return Real::nan();
    return Real::make(false, 1, static_cast<int32_t>(bits) - 127);
  case Format::S2F6: {
    int32_t v = static_cast<int8_t>(bits);
    return Real::make(v < 0, v < 0 ? -v : v, -6);
  }
  case Format::TF32:
    bits = static_cast<uint32_t>(bits) >> tf32Shift;
    break;
  default:
    break;
  }
  uint64_t man = bits & ((uint64_t(1) << manBits) - 1);
  uint64_t expMask = (uint64_t(1) << f.expBits) - 1;
  uint64_t exp = (bits >> manBits) & expMask;
  bool negative = f.isSigned && ((bits >> (manBits + f.expBits)) & 1);
  if (f.specials == Specials::IEEE && exp == expMask)
    return man ? Real::nan() : Real::infinity(negative);
  if (f.specials == Specials::NaNOnly && exp == expMask &&
      man == (uint64_t(1) << manBits) - 1)
    return Real::nan();
  if (exp)
    man |= uint64_t(1) << manBits;
  else
    exp = 1;
  return Real::make(negative, man,
                    static_cast<int32_t>(exp) - f.bias -
                        static_cast<int32_t>(manBits));
}

/// Exact for values that binary64 holds; built from bits, as arithmetic would
/// obey DAZ.
static double realToDouble(const Real &r) {
  uint64_t bits = encode(Format::F64, r);
  double d;
  std::memcpy(&d, &bits, sizeof d);
  return d;
}

namespace {
struct SmallTables {
  std::array<std::array<double, 256>, numFormats> values;
  SmallTables() {
    for (unsigned f = 0; f != numFormats; ++f)
      if (formats[f].bits <= 8)
        for (unsigned c = 0; c != 256; ++c)
          values[f][c] = realToDouble(decode(static_cast<Format>(f), c));
  }
};
} // namespace

const double *kvq::emu::num::smallTable(Format format) {
  static const SmallTables tables;
  return tables.values[static_cast<unsigned>(format)].data();
}

double kvq::emu::num::toDouble(Format format, uint64_t bits) {
  if (info(format).bits <= 8)
    return smallTable(format)[bits & 0xff];
  uint64_t out;
  switch (format) {
  case Format::F64:
    out = bits;
    break;
  case Format::TF32:
    bits &= ~uint64_t(0x1fff);
    [[fallthrough]];
  case Format::F32:
    out = widenToF64(bits, 8, 23, 127);
    break;
  case Format::F16:
    out = widenToF64(bits, 5, 10, 15);
    break;
  default:
    out = widenToF64(bits, 8, 7, 127);
    break;
  }
  double d;
  std::memcpy(&d, &out, sizeof d);
  return d;
}

Real kvq::emu::num::fromDouble(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return decode(Format::F64, bits);
}

uint64_t kvq::emu::num::roundToInteger(const Real &value, Round round,
                                       bool &overflow) {
  overflow = value.isInf();
  if (overflow || value.isZero())
    return 0;
  int msb = leadingBit(value.significand);
  if (msb + value.exponent > 63) {
    overflow = true;
    return 0;
  }
  EncodeOptions options;
  options.round = round;
  Cut c = cut(value, 0, 0);
  bool up = roundsAway(c, value.negative, options);
  overflow = up && c.kept == ~uint64_t(0);
  return c.kept + up;
}

Real kvq::emu::num::fromInteger(uint64_t magnitude, bool negative) {
  return Real::make(negative && magnitude, magnitude, 0);
}

//===----------------------------------------------------------------------===//
// Exact arithmetic
//===----------------------------------------------------------------------===//

Real kvq::emu::num::mulExact(const Real &a, const Real &b) {
  bool negative = a.negative != b.negative;
  if (a.isNaN() || b.isNaN())
    return Real::nan();
  if (a.isInf() || b.isInf())
    return a.isZero() || b.isZero() ? Real::nan() : Real::infinity(negative);
  return Real::make(negative, a.significand * b.significand,
                    a.exponent + b.exponent);
}

Real kvq::emu::num::addExact(const Real &a, const Real &b, Round round) {
  if (a.isNaN() || b.isNaN())
    return Real::nan();
  if (a.isInf() || b.isInf()) {
    if (a.isInf() && b.isInf() && a.negative != b.negative)
      return Real::nan();
    return a.isInf() ? a : b;
  }
  if (a.isZero() || b.isZero()) {
    if (!a.isZero())
      return a;
    if (!b.isZero())
      return b;
    bool negative = a.negative == b.negative ? a.negative : round == Round::RM;
    return Real::zero(negative);
  }
  // The larger operand goes to the top with two bits to spare, the smaller one
  // is aligned to it; what falls off matters only as "something below", since
  // bits are lost only when the exponents differ so much that the difference
  // cancels at most one bit.
  constexpr int top = 125;
  int msbA = leadingBit(a.significand), msbB = leadingBit(b.significand);
  bool swap = msbA + a.exponent < msbB + b.exponent;
  const Real &x = swap ? b : a, &y = swap ? a : b;
  int msbX = swap ? msbB : msbA;
  UInt128 sx = x.significand << (top - msbX);
  int32_t exponent = x.exponent - (top - msbX);
  int64_t shift = static_cast<int64_t>(exponent) - y.exponent;
  UInt128 sy;
  bool sticky = false;
  if (shift <= 0) {
    sy = y.significand << -shift;
  } else if (shift < 128) {
    sy = y.significand >> shift;
    sticky = (y.significand & ((UInt128(1) << shift) - 1)) != 0;
  } else {
    sy = 0;
    sticky = true;
  }
  Real result;
  result.exponent = exponent;
  result.sticky = sticky;
  if (x.negative == y.negative) {
    result.negative = x.negative;
    result.significand = sx + sy;
    return result;
  }
  if (sx == sy && !sticky)
    return Real::zero(round == Round::RM);
  if (sx >= sy) {
    result.negative = x.negative;
    result.significand = sx - sy - (sticky ? 1 : 0);
  } else {
    // Equal leading bits, so nothing was shifted out.
    result.negative = y.negative;
    result.significand = sy - sx;
  }
  return result;
}

Real kvq::emu::num::fmaExact(const Real &a, const Real &b, const Real &c,
                             Round round) {
  return addExact(mulExact(a, b), c, round);
}

Real kvq::emu::num::divExact(const Real &a, const Real &b) {
  bool negative = a.negative != b.negative;
  if (a.isNaN() || b.isNaN() || (a.isInf() && b.isInf()) ||
      (a.isZero() && b.isZero()))
    return Real::nan();
  if (a.isInf() || b.isZero())
    return Real::infinity(negative);
  if (b.isInf() || a.isZero())
    return Real::zero(negative);
  int shift = 127 - leadingBit(a.significand);
  UInt128 n = a.significand << shift;
  Real result =
      Real::make(negative, n / b.significand, a.exponent - shift - b.exponent);
  result.sticky = result.significand * b.significand != n;
  return result;
}

Real kvq::emu::num::sqrtExact(const Real &a) {
  if (a.isNaN() || a.isZero())
    return a;
  if (a.negative)
    return Real::nan();
  if (a.isInf())
    return a;
  // The leading one goes to bit 126 or 127, the exponent becomes even.
  int msb = leadingBit(a.significand);
  int shift = 126 - msb;
  if ((a.exponent - shift) & 1)
    ++shift;
  // A quotient may fill all 128 bits: then its last one becomes sticky.
  bool lost = shift < 0 && (a.significand & 1);
  UInt128 rest = shift < 0 ? a.significand >> 1 : a.significand << shift;
  UInt128 root = 0;
  // Digit by digit: 64 steps, no dependence on the host's square root.
  for (int bit = 126; bit >= 0; bit -= 2) {
    UInt128 trial = root + (UInt128(1) << bit);
    root >>= 1;
    if (rest >= trial) {
      rest -= trial;
      root += UInt128(1) << bit;
    }
  }
  Real result = Real::make(false, root, (a.exponent - shift) / 2);
  result.sticky = rest != 0 || lost || a.sticky;
  return result;
}
