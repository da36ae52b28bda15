//===- Convert.cpp - The cvt instruction ----------------------------------===//

#include "kvq/Emulator/Numerics/Convert.h"
#include "ArithDetail.h"
#include "ConvertDetail.h"
#include "FormatDetail.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace kvq::emu::num;
using namespace kvq::emu::num::cvt;

namespace {

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

int64_t signExtend(uint64_t v, unsigned bits) {
  return static_cast<int64_t>(v << (64 - bits)) >> (64 - bits);
}

uint64_t intToInt(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  uint64_t v = src.isSigned ? static_cast<uint64_t>(signExtend(in[0], src.bits))
                            : in[0] & lowMask(src.bits);
  bool negative = src.isSigned && static_cast<int64_t>(v) < 0;
  if (s.sat) {
    if (!dst.isSigned) {
      if (negative)
        return 0;
      return v > lowMask(dst.bits) ? lowMask(dst.bits) : v;
    }
    int64_t max = static_cast<int64_t>(lowMask(dst.bits - 1));
    if (!negative)
      return v > static_cast<uint64_t>(max) ? max : v;
    return static_cast<uint64_t>(static_cast<int64_t>(v) < -max - 1
                                     ? -max - 1
                                     : static_cast<int64_t>(v));
  }
  if (dst.isSigned)
    return static_cast<uint64_t>(signExtend(v, dst.bits));
  return v & lowMask(dst.bits);
}

uint64_t intToFloat(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  uint64_t v = src.isSigned ? static_cast<uint64_t>(signExtend(in[0], src.bits))
                            : in[0] & lowMask(src.bits);
  bool negative = src.isSigned && static_cast<int64_t>(v) < 0;
  if (s.dst == CvtType::F32 && s.round == CvtRound::RN && !s.sat &&
      hostIsDefault())
    return bitsOf(src.isSigned ? static_cast<float>(static_cast<int64_t>(v))
                               : static_cast<float>(v));
  return encode(dst.format, fromInteger(negative ? 0 - v : v, negative),
                encodeOptions(s));
}

/// Clamps a rounded magnitude to an integer type.
uint64_t clampInteger(const TypeInfo &dst, uint64_t magnitude, bool negative,
                      bool overflow) {
  if (!dst.isSigned) {
    if (negative)
      return 0;
    uint64_t max = lowMask(dst.bits);
    return overflow || magnitude > max ? max : magnitude;
  }
  uint64_t max = lowMask(dst.bits - 1) + (negative ? 1 : 0);
  if (overflow || magnitude > max)
    magnitude = max;
  return negative ? 0 - magnitude : magnitude;
}

Real sourceReal(const CvtSpec &s, Format f, uint64_t bits) {
  if (s.ftz && f == Format::F32 && isSubnormalBits(f, bits))
    return Real::zero(signBit(f, bits));
  return decode(f, bits);
}

uint64_t floatToInt(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  uint64_t bits = in[0] & lowMask(src.bits);
  if (isNaNBits(src.format, bits)) {
    if (src.bits != 64 && dst.bits != 64)
      return 0;
    uint64_t v = uint64_t(1) << (dst.bits - 1);
    return dst.isSigned ? static_cast<uint64_t>(signExtend(v, dst.bits)) : v;
  }
  if (src.bits != 64 && !s.ftz) {
    // The widened value is a normal binary64, truncation is exact, and so is
    // the fraction: no host flag matters.
    double x = toDouble(src.format, bits);
    if (x > -0x1p62 && x < 0x1p62) {
      int64_t t = static_cast<int64_t>(x);
      double fraction = x - static_cast<double>(t);
      switch (direction(s.round)) {
      case Round::RM:
        t -= fraction < 0;
        break;
      case Round::RP:
        t += fraction > 0;
        break;
      case Round::RN:
        if (fraction > 0.5 || (fraction == 0.5 && (t & 1)))
          ++t;
        else if (fraction < -0.5 || (fraction == -0.5 && (t & 1)))
          --t;
        break;
      default:
        break;
      }
      bool negative = t < 0;
      return clampInteger(dst, negative ? 0 - static_cast<uint64_t>(t) : t,
                          negative, false);
    }
  }
  Real r = sourceReal(s, src.format, bits);
  bool overflow;
  uint64_t magnitude = roundToInteger(r, direction(s.round), overflow);
  return clampInteger(dst, magnitude, r.negative, overflow);
}

uint64_t floatToFloat(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  uint64_t bits = in[0] & lowMask(src.bits);
  Format from = src.format, to = dst.format;
  if (isNaNBits(from, bits)) {
    if (s.sat)
      return 0;
    // f64 keeps its payload, as in the arithmetic.
    return from == to && to == Format::F64 ? nanResult(to, {bits})
                                           : info(to).canonNaN;
  }
  bool modified = s.ftz || s.sat || s.satfinite || s.relu;
  if (!modified && !isIntegerRound(s.round)) {
    if (from == to)
      return bits;
    if (s.round == CvtRound::RN || to == Format::F64 || to == Format::F32) {
      double x = toDouble(from, bits);
      if (to == Format::F64)
        return bitsOf(x);
      if (from != Format::F64 && to == Format::F32)
        return roundToF32(x);
      if (s.round == CvtRound::RN) {
        if (to == Format::F32)
          return roundToF32(x);
        if (to == Format::F16)
          return roundToF16(x);
        return narrowFromF64<8, 7>(bitsOf(x), 0x7fff);
      }
    }
  }
  Real r = sourceReal(s, from, bits);
  if (isIntegerRound(s.round) && r.isFinite() && !r.isZero()) {
    bool overflow;
    uint64_t magnitude = roundToInteger(r, direction(s.round), overflow);
    // From 2^64 on every value is an integer.
    if (!overflow)
      r = Real::make(r.negative, magnitude, 0);
  }
  EncodeOptions o = encodeOptions(s);
  o.ftz = s.ftz && to == Format::F32;
  return encode(to, r, o);
}

/// f32 -> f16, bf16 or tf32 with .relu, .satfinite or .rna.
uint64_t narrowScalar(const CvtSpec &s, const uint64_t *in) {
  return encode(typeInfo(s.dst).format, decode(Format::F32, in[0] & 0xffffffff),
                encodeOptions(s));
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

llvm::Error bad(const CvtSpec &s, const llvm::Twine &why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::Twine("cvt.") + typeInfo(s.dst).name +
                                     "." + typeInfo(s.src).name + ": " + why);
}

bool isNarrowPair(CvtType t) {
  return t >= CvtType::E4M3x2 && t <= CvtType::E3M2x2;
}

llvm::Expected<CvtFn> findScalar(const CvtSpec &s) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  bool fromInt = src.cls == Class::Integer, toInt = dst.cls == Class::Integer;
  bool integerRound = isIntegerRound(s.round);
  bool none = s.round == CvtRound::None;
  if (s.scaled)
    return bad(s, ".scaled needs s2f6x2");
  if (s.round == CvtRound::RS || s.round == CvtRound::RNA)
    return bad(s, ".rs takes f16x2, bf16x2 or x4 types, .rna takes tf32");
  if (s.ftz && s.src != CvtType::F32 && s.dst != CvtType::F32)
    return bad(s, ".ftz needs an f32 operand");
  bool narrowing = s.src == CvtType::F32 &&
                   (s.dst == CvtType::F16 || s.dst == CvtType::BF16);
  if ((s.relu || s.satfinite) && !narrowing)
    return bad(s, ".relu and .satfinite need f32 to f16 or bf16");
  if (fromInt && toInt) {
    if (!none)
      return bad(s, "rounding is illegal between integers");
    return intToInt;
  }
  if (fromInt) {
    if (none || integerRound)
      return bad(s, "needs one of .rn, .rz, .rm, .rp");
    return intToFloat;
  }
  if (toInt) {
    if (!integerRound)
      return bad(s, "needs one of .rni, .rzi, .rmi, .rpi");
    return floatToInt;
  }
  if (s.relu || s.satfinite) {
    if (s.round != CvtRound::RN && s.round != CvtRound::RZ)
      return bad(s, "needs .rn or .rz");
    if (s.sat || s.ftz)
      return bad(s, ".sat and .ftz exclude .relu and .satfinite");
    return narrowScalar;
  }
  if (integerRound) {
    if (src.bits != dst.bits || src.format != dst.format)
      return bad(s, "integer rounding needs equal types");
    return floatToFloat;
  }
  const FormatInfo &from = info(src.format), &to = info(dst.format);
  if (none && (to.manBits < from.manBits || to.expBits < from.expBits))
    return bad(s, "needs one of .rn, .rz, .rm, .rp");
  return floatToFloat;
}

} // namespace

unsigned kvq::emu::num::cvtTypeBits(CvtType type) {
  return typeInfo(type).bits;
}

unsigned kvq::emu::num::cvtOperands(const CvtSpec &s) {
  unsigned n = 1;
  if (s.src == CvtType::F32) {
    if (typeInfo(s.dst).cls == Class::Pair)
      n = 2;
    else if (typeInfo(s.dst).cls == Class::Quad)
      n = 4;
  }
  return n + (s.round == CvtRound::RS) + s.scaled;
}

llvm::Expected<CvtFn> kvq::emu::num::findCvt(const CvtSpec &s) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  bool isRN = s.round == CvtRound::RN, isRZ = s.round == CvtRound::RZ;
  auto isScalar = [](const TypeInfo &t) {
    return t.cls == Class::Integer || t.cls == Class::Float;
  };
  if (isScalar(src) && isScalar(dst))
    return findScalar(s);
  if (s.ftz || s.sat)
    return bad(s, ".ftz and .sat need scalar types");
  if (s.scaled && s.dst != CvtType::S2F6x2 && s.src != CvtType::S2F6x2)
    return bad(s, ".scaled needs s2f6x2");

  if (dst.cls == Class::TF32) {
    if (s.src != CvtType::F32)
      return bad(s, "tf32 comes from f32");
    if (!isRN && !isRZ && (s.round != CvtRound::RNA || s.relu))
      return bad(s, "needs .rn, .rz, or .rna without .relu");
    return narrowScalar;
  }
  if (dst.cls == Class::Quad) {
    if (s.src != CvtType::F32 || s.round != CvtRound::RS || !s.satfinite)
      return bad(s, "needs .rs.satfinite and f32 sources");
    return quadFromF32;
  }
  if (dst.cls != Class::Pair)
    return bad(s, "no such conversion");

  if (s.dst == CvtType::F16x2 || s.dst == CvtType::BF16x2) {
    if (s.src == CvtType::F32) {
      if (!isRN && !isRZ && s.round != CvtRound::RS)
        return bad(s, "needs .rn, .rz or .rs");
      return pairFromF32;
    }
    bool fromNarrow = isNarrowPair(s.src);
    bool legal = s.dst == CvtType::F16x2
                     ? fromNarrow
                     : s.src == CvtType::UE8M0x2 || s.src == CvtType::S2F6x2 ||
                           // PTX 9.2.
                           fromNarrow;
    if (!legal)
      return bad(s, "no such conversion");
    if (!isRN)
      return bad(s, "needs .rn");
    if (s.satfinite && s.src != CvtType::S2F6x2)
      return bad(s, ".satfinite needs a source that can overflow");
    if (s.relu && s.src == CvtType::UE8M0x2)
      return bad(s, ".relu needs a signed source");
    return halvesFromPair;
  }

  bool fromF32 = s.src == CvtType::F32;
  bool fromHalves = s.src == CvtType::F16x2 || s.src == CvtType::BF16x2;
  if (!fromF32 && !fromHalves)
    return bad(s, "no such conversion");
  if (s.dst == CvtType::UE8M0x2) {
    if (s.src == CvtType::F16x2)
      return bad(s, "ue8m0x2 comes from f32 or bf16x2");
    if (!isRZ && s.round != CvtRound::RP)
      return bad(s, "needs .rz or .rp");
    return fromF32 ? pairFromF32 : pairFromHalves;
  }
  if (s.dst == CvtType::S2F6x2 && s.src == CvtType::F16x2)
    return bad(s, "s2f6x2 comes from f32 or bf16x2");
  if (!isRN || !s.satfinite)
    return bad(s, "needs .rn.satfinite");
  return fromF32 ? pairFromF32 : pairFromHalves;
}
