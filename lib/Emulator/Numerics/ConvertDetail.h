//===- ConvertDetail.h - What the parts of cvt share ------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_NUMERICS_CONVERTDETAIL_H
#define KVQ_EMULATOR_NUMERICS_CONVERTDETAIL_H

#include "kvq/Emulator/Numerics/Convert.h"

namespace kvq::emu::num::cvt {

enum class Class : uint8_t { Integer, Float, TF32, Pair, Quad };

struct TypeInfo {
  const char *name;
  Class cls;
  uint8_t bits; ///< Of the register.
  bool isSigned;
  Format format;       ///< Of an element.
  uint8_t elementBits; ///< Distance between elements of a packed type.
};

inline constexpr TypeInfo types[] = {
    {"u8", Class::Integer, 8, false, Format::F32, 8},
    {"s8", Class::Integer, 8, true, Format::F32, 8},
    {"u16", Class::Integer, 16, false, Format::F32, 16},
    {"s16", Class::Integer, 16, true, Format::F32, 16},
    {"u32", Class::Integer, 32, false, Format::F32, 32},
    {"s32", Class::Integer, 32, true, Format::F32, 32},
    {"u64", Class::Integer, 64, false, Format::F32, 64},
    {"s64", Class::Integer, 64, true, Format::F32, 64},
    {"f16", Class::Float, 16, true, Format::F16, 16},
    {"bf16", Class::Float, 16, true, Format::BF16, 16},
    {"f32", Class::Float, 32, true, Format::F32, 32},
    {"f64", Class::Float, 64, true, Format::F64, 64},
    {"tf32", Class::TF32, 32, true, Format::TF32, 32},
    {"f16x2", Class::Pair, 32, true, Format::F16, 16},
    {"bf16x2", Class::Pair, 32, true, Format::BF16, 16},
    {"e4m3x2", Class::Pair, 16, true, Format::E4M3, 8},
    {"e5m2x2", Class::Pair, 16, true, Format::E5M2, 8},
    {"e2m1x2", Class::Pair, 8, true, Format::E2M1, 4},
    {"e2m3x2", Class::Pair, 16, true, Format::E2M3, 8},
    {"e3m2x2", Class::Pair, 16, true, Format::E3M2, 8},
    {"ue8m0x2", Class::Pair, 16, false, Format::UE8M0, 8},
    {"s2f6x2", Class::Pair, 16, true, Format::S2F6, 8},
    {"e4m3x4", Class::Quad, 32, true, Format::E4M3, 8},
    {"e5m2x4", Class::Quad, 32, true, Format::E5M2, 8},
    {"e2m1x4", Class::Quad, 16, true, Format::E2M1, 4},
    {"e2m3x4", Class::Quad, 32, true, Format::E2M3, 8},
    {"e3m2x4", Class::Quad, 32, true, Format::E3M2, 8},
};

inline const TypeInfo &typeInfo(CvtType t) {
  return types[static_cast<unsigned>(t)];
}

constexpr uint64_t lowMask(unsigned bits) {
  return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

/// The rounding direction that a modifier names, integer ones included.
inline Round direction(CvtRound r) {
  switch (r) {
  case CvtRound::RNA:
    return Round::RNA;
  case CvtRound::RZ:
  case CvtRound::RZI:
    return Round::RZ;
  case CvtRound::RM:
  case CvtRound::RMI:
    return Round::RM;
  case CvtRound::RP:
  case CvtRound::RPI:
    return Round::RP;
  case CvtRound::RS:
    return Round::RS;
  default:
    return Round::RN;
  }
}

inline bool isIntegerRound(CvtRound r) {
  return r == CvtRound::RNI || r == CvtRound::RZI || r == CvtRound::RMI ||
         r == CvtRound::RPI;
}

inline EncodeOptions encodeOptions(const CvtSpec &s) {
  EncodeOptions o;
  o.round = direction(s.round);
  o.satfinite = s.satfinite;
  o.relu = s.relu;
  o.sat = s.sat;
  return o;
}

/// f32, f32 -> pair. The first operand is the upper element.
uint64_t pairFromF32(const CvtSpec &s, const uint64_t *in);
/// f16x2 or bf16x2 -> a pair of narrow elements, halves kept in place.
uint64_t pairFromHalves(const CvtSpec &s, const uint64_t *in);
/// A pair of narrow elements -> f16x2 or bf16x2.
uint64_t halvesFromPair(const CvtSpec &s, const uint64_t *in);
/// f32 a, b, e, f and random bits -> four narrow elements, a uppermost.
uint64_t quadFromF32(const CvtSpec &s, const uint64_t *in);

} // namespace kvq::emu::num::cvt

#endif // KVQ_EMULATOR_NUMERICS_CONVERTDETAIL_H
