//===- NumericsTestUtil.h - Oracles for the numerics tests ----------------===//
//
// The oracles share nothing with the code under test: LLVM's APFloat, and
// definitions of the small formats written with ldexp on integers.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TEST_UNIT_EMULATOR_NUMERICS_NUMERICSTESTUTIL_H
#define KVQ_TEST_UNIT_EMULATOR_NUMERICS_NUMERICSTESTUTIL_H

#include "kvq/Emulator/Numerics/Arith.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace kvq::emu::num::test {

inline uint32_t bits(float f) {
  uint32_t w;
  std::memcpy(&w, &f, 4);
  return w;
}
inline uint64_t bits(double f) {
  uint64_t w;
  std::memcpy(&w, &f, 8);
  return w;
}

inline const llvm::fltSemantics &semantics(Format f) {
  switch (f) {
  case Format::F64:
    return llvm::APFloat::IEEEdouble();
  case Format::F32:
    return llvm::APFloat::IEEEsingle();
  case Format::F16:
    return llvm::APFloat::IEEEhalf();
  case Format::BF16:
    return llvm::APFloat::BFloat();
  case Format::E4M3:
    return llvm::APFloat::Float8E4M3FN();
  case Format::E5M2:
    return llvm::APFloat::Float8E5M2();
  case Format::E2M1:
    return llvm::APFloat::Float4E2M1FN();
  case Format::E2M3:
    return llvm::APFloat::Float6E2M3FN();
  case Format::E3M2:
    return llvm::APFloat::Float6E3M2FN();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

inline llvm::APFloat ap(Format f, uint64_t code) {
  const llvm::fltSemantics &s = semantics(f);
  return llvm::APFloat(s, llvm::APInt(llvm::APFloat::getSizeInBits(s), code));
}
inline uint64_t apBits(const llvm::APFloat &v) {
  return v.bitcastToAPInt().getZExtValue();
}
inline llvm::RoundingMode apRound(Round r) {
  switch (r) {
  case Round::RNA:
    return llvm::RoundingMode::NearestTiesToAway;
  case Round::RZ:
    return llvm::RoundingMode::TowardZero;
  case Round::RM:
    return llvm::RoundingMode::TowardNegative;
  case Round::RP:
    return llvm::RoundingMode::TowardPositive;
  default:
    return llvm::RoundingMode::NearestTiesToEven;
  }
}

constexpr Round directed[] = {Round::RN, Round::RZ, Round::RM, Round::RP};

/// Encodings that break things: zeros, subnormal and normal limits, one and its
/// neighbours, the largest numbers, infinities, NaNs, and random ones with
/// exponents close to each other.
inline std::vector<uint64_t> interesting(Format f, unsigned random,
                                         uint64_t seed) {
  const FormatInfo &i = info(f);
  uint64_t sign = uint64_t(1) << (i.bits - 1);
  uint64_t minNormal = uint64_t(1) << i.manBits;
  uint64_t one = static_cast<uint64_t>(i.bias) << i.manBits;
  uint64_t inf = i.maxFinite + 1;
  std::vector<uint64_t> base = {0,
                                1,
                                2,
                                3,
                                minNormal / 2,
                                minNormal - 1,
                                minNormal,
                                minNormal + 1,
                                one - 1,
                                one,
                                one + 1,
                                one + minNormal / 2,
                                one + minNormal,
                                one + (uint64_t(i.manBits) << i.manBits),
                                i.maxFinite - 1,
                                i.maxFinite,
                                inf,
                                inf + 1,
                                sign - 1};
  std::vector<uint64_t> out;
  for (uint64_t v : base) {
    out.push_back(v);
    out.push_back(v | sign);
  }
  std::mt19937_64 rng(seed);
  for (unsigned n = 0; n != random; ++n) {
    uint64_t v = rng() & (sign | (sign - 1));
    if (n % 2) {
      // Near one, so that sums cancel and products stay in range.
      uint64_t man = v & (minNormal - 1);
      uint64_t exp = i.bias - 4 + rng() % 9;
      v = (v & sign) | exp << i.manBits | man;
    }
    out.push_back(v);
  }
  return out;
}

/// NaN of any payload equals the canonical one of PTX for f32, f16 and bf16.
inline bool isNaNCode(Format f, uint64_t v) {
  uint64_t sign = uint64_t(1) << (info(f).bits - 1);
  return (v & (sign - 1)) > info(f).maxFinite + 1;
}

} // namespace kvq::emu::num::test

#endif // KVQ_TEST_UNIT_EMULATOR_NUMERICS_NUMERICSTESTUTIL_H
