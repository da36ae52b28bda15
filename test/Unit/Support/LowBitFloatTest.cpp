//===- LowBitFloatTest.cpp - Codecs against exact rationals ---------------===//
//
// The oracle holds numbers as integers in units of 2^-150, in which every
// finite binary32 number, every number of the small formats and every midpoint
// of two of those is an integer.
//
//===----------------------------------------------------------------------===//

#include "kvq/Support/LowBitFloat.h"
#include "FloatEnvironment.h"
#include "kvq/Support/StrictFloat.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <vector>

using namespace kvq;
using llvm::APFloat;
using llvm::APInt;

namespace {

constexpr unsigned Width = 300;

APInt units(uint64_t factor, int exponent) {
  return APInt(Width, factor) << unsigned(exponent + 150);
}

/// |value| in units of 2^-150, by the definition of binary32.
APInt unitsOfFloat(float value) {
  uint32_t bits = strict::toBits(value);
  int exponent = (bits >> 23) & 0xFF;
  uint32_t fraction = bits & 0x7FFFFF;
  return exponent ? units(fraction + (1u << 23), exponent - 150)
                  : units(fraction, -149);
}

/// Magnitudes by the definition in the OCP specifications:
/// 2^(e - bias) * (1 + m / 2^manBits), or 2^(1 - bias) * m / 2^manBits.
struct SmallFormat {
  unsigned manBits;
  int bias;
  unsigned numMagnitudes;

  APInt getMagnitude(unsigned code) const {
    unsigned exponent = code >> manBits;
    unsigned fraction = code & ((1u << manBits) - 1);
    return exponent ? units((1u << manBits) + fraction,
                            int(exponent) - bias - int(manBits))
                    : units(fraction, 1 - bias - int(manBits));
  }

  /// The nearest code of a magnitude; the even one of two; the largest one
  /// above the range.
  unsigned encode(const APInt &magnitude) const {
    unsigned best = 0;
    APInt bestDistance = magnitude;
    for (unsigned code = 1; code != numMagnitudes; ++code) {
      APInt candidate = getMagnitude(code);
      APInt distance = candidate.ugt(magnitude) ? candidate - magnitude
                                                : magnitude - candidate;
      if (distance.ult(bestDistance) ||
          (distance == bestDistance && code % 2 == 0)) {
        best = code;
        bestDistance = distance;
      }
    }
    return best;
  }
};

constexpr SmallFormat E2M1{1, 1, 8};
constexpr SmallFormat E4M3{3, 7, 0x7F};
constexpr SmallFormat F16{10, 15, 0x7C00};
constexpr SmallFormat BF16{7, 127, 0x7F80};

/// The binary32 number of an exact magnitude.
float floatOfUnits(const APInt &magnitude) {
  unsigned top = magnitude.getActiveBits();
  if (!top)
    return 0;
  unsigned shift = top > 24 ? top - 24 : 0;
  float result =
      std::ldexp(float(magnitude.lshr(shift).getZExtValue()), int(shift) - 150);
  EXPECT_EQ(unitsOfFloat(result), magnitude);
  return result;
}

/// Every value, every midpoint and the binary32 neighbours of both, beside the
/// ends of the range of binary32.
std::vector<float> getProbes(const SmallFormat &format) {
  std::vector<float> probes = {0x1p-149f, 0x1p-126f, 0x1.fffffcp-127f,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::infinity()};
  auto add = [&](float value) {
    probes.push_back(value);
    probes.push_back(std::nextafter(value, 1e38f));
    probes.push_back(value > 0 ? std::nextafter(value, 0.0f) : value);
  };
  for (unsigned code = 0; code != format.numMagnitudes; ++code) {
    APInt value = format.getMagnitude(code);
    add(floatOfUnits(value));
    if (code + 1 != format.numMagnitudes)
      add(floatOfUnits((value + format.getMagnitude(code + 1)).lshr(1)));
  }
  // Beyond the top: where the next value and its midpoint would be.
  for (float factor : {17.0f / 16, 9.0f / 8, 1.25f, 2.0f})
    add(floatOfUnits(format.getMagnitude(format.numMagnitudes - 1)) * factor);
  return probes;
}

TEST(LowBitFloat, DecodesEveryE2M1Code) {
  for (unsigned byte = 0; byte != 256; ++byte) {
    float value = decodeE2M1(byte);
    EXPECT_EQ(unitsOfFloat(value), E2M1.getMagnitude(byte & 7)) << byte;
    EXPECT_EQ(std::signbit(value), (byte & 8) != 0) << byte;
  }
}

TEST(LowBitFloat, DecodesEveryE4M3Byte) {
  for (unsigned byte = 0; byte != 256; ++byte) {
    float value = decodeE4M3(byte);
    EXPECT_EQ(std::signbit(value), (byte & 0x80) != 0) << byte;
    if ((byte & 0x7F) == 0x7F)
      EXPECT_TRUE(std::isnan(value)) << byte;
    else
      EXPECT_EQ(unitsOfFloat(value), E4M3.getMagnitude(byte & 0x7F)) << byte;
  }
  EXPECT_EQ(decodeE4M3(0x01), 0.001953125f);
  EXPECT_EQ(decodeE4M3(0x7E), 448.0f);
}

TEST(LowBitFloat, DecodesEveryE8M0Byte) {
  for (unsigned byte = 0; byte != 255; ++byte)
    EXPECT_EQ(unitsOfFloat(decodeE8M0(byte)), units(1, int(byte) - 127));
  EXPECT_TRUE(std::isnan(decodeE8M0(255)));
}

TEST(LowBitFloat, EncodesWhatItDecodes) {
  for (unsigned code = 0; code != 16; ++code)
    EXPECT_EQ(encodeE2M1(decodeE2M1(code)), code);
  for (unsigned byte = 0; byte != 256; ++byte)
    EXPECT_EQ(encodeE4M3(decodeE4M3(byte)), byte);
}

TEST(LowBitFloat, RoundsE2M1ToNearestEven) {
  for (float probe : getProbes(E2M1)) {
    unsigned expected =
        std::isinf(probe) ? 7 : E2M1.encode(unitsOfFloat(probe));
    EXPECT_EQ(encodeE2M1(probe), expected) << probe;
    EXPECT_EQ(encodeE2M1(-probe), expected | 8) << -probe;
  }
  EXPECT_EQ(encodeE2M1(2.5f), 4);
  EXPECT_EQ(encodeE2M1(5.0f), 6);
  EXPECT_EQ(encodeE2M1(0.25f), 0);
}

TEST(LowBitFloat, RoundsE4M3ToNearestEven) {
  for (float probe : getProbes(E4M3)) {
    unsigned expected =
        std::isinf(probe) ? 0x7E : E4M3.encode(unitsOfFloat(probe));
    EXPECT_EQ(encodeE4M3(probe), expected) << probe;
    EXPECT_EQ(encodeE4M3(-probe), expected | 0x80) << -probe;
  }
  for (float large : {448.0f, 464.0f, 480.0f, 1e6f, 3e38f})
    EXPECT_EQ(encodeE4M3(large), 0x7E) << large;
}

TEST(LowBitFloat, KeepsTheSignOfZeroAndNaN) {
  for (uint32_t sign : {0u, 1u})
    for (uint32_t payload : {0x00400000u, 0x00000001u, 0x007FFFFFu}) {
      float nan = strict::fromBits(sign << 31 | 0x7F800000u | payload);
      float zero = strict::fromBits(sign << 31);
      EXPECT_EQ(encodeE2M1(nan), sign << 3);
      EXPECT_EQ(encodeE2M1(zero), sign << 3);
      EXPECT_EQ(encodeE4M3(nan), sign << 7 | 0x7F);
      EXPECT_EQ(encodeE4M3(zero), sign << 7);
      EXPECT_EQ(encodeF16(nan), sign << 15 | 0x7E00 | payload >> 13);
      EXPECT_EQ(encodeF16(zero), sign << 15);
      EXPECT_EQ(encodeBF16(nan), sign << 15 | 0x7FC0 | payload >> 16);
      EXPECT_EQ(encodeBF16(zero), sign << 15);
    }
}

TEST(LowBitFloat, SharedExponentIsTheFloorOfTheLogarithm) {
  // The definition, with a search instead of the exponent field.
  auto expected = [](float magnitude, int maxExponent) {
    APInt value = unitsOfFloat(magnitude);
    if (value.isZero())
      return 0;
    int logarithm = -150;
    while (!units(1, logarithm + 1).ugt(value))
      ++logarithm;
    return std::min(254, std::max(0, logarithm - maxExponent + 127));
  };
  for (int exponent = -149; exponent != 128; ++exponent) {
    float power = std::ldexp(1.0f, exponent);
    for (float value : {power, std::nextafter(power, 0.0f), power * 1.5f,
                        std::nextafter(power, 1e38f)})
      for (int maxExponent : {2, 8})
        EXPECT_EQ(encodeSharedExponent(value, maxExponent),
                  expected(value, maxExponent))
            << value;
  }
  EXPECT_EQ(encodeSharedExponent(0.0f, 2), 0);
  EXPECT_EQ(encodeSharedExponent(INFINITY, 2), 253);
  EXPECT_EQ(encodeSharedExponent(INFINITY, 8), 247);
  EXPECT_EQ(encodeSharedExponent(INFINITY, 0), 254);
}

/// Checks a 16-bit format at every one of its values and midpoints.
void checkSixteenBits(const SmallFormat &format, uint16_t (*encode)(float),
                      float (*decode)(uint16_t)) {
  uint16_t infinity = format.numMagnitudes;
  for (unsigned code = 0; code != format.numMagnitudes; ++code) {
    APInt magnitude = format.getMagnitude(code);
    float value = decode(code);
    ASSERT_EQ(unitsOfFloat(value), magnitude) << code;
    ASSERT_EQ(strict::toBits(decode(code | 0x8000)),
              strict::toBits(value) | strict::SignBit);
    ASSERT_EQ(encode(value), code);
    ASSERT_EQ(encode(-value), code | 0x8000);
    // The value above the last one has the code of infinity.
    APInt sum = magnitude + format.getMagnitude(code + 1);
    uint16_t even = code + code % 2;
    float middle = floatOfUnits(sum.lshr(1));
    ASSERT_EQ(encode(middle), even) << code;
    ASSERT_EQ(encode(-middle), even | 0x8000) << code;
    ASSERT_EQ(encode(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(encode(std::nextafter(middle, INFINITY)), code + 1);
  }
  EXPECT_EQ(encode(INFINITY), infinity);
  EXPECT_EQ(encode(-INFINITY), infinity | 0x8000);
  EXPECT_EQ(encode(std::numeric_limits<float>::max()), infinity);
  EXPECT_TRUE(std::isinf(decode(infinity)));
  for (unsigned code = infinity + 1; code != 0x8000; ++code) {
    ASSERT_TRUE(std::isnan(decode(code)));
    ASSERT_TRUE(std::signbit(decode(code | 0x8000)));
  }
}

TEST(LowBitFloat, F16AtEveryValueAndMidpoint) {
  checkSixteenBits(F16, encodeF16, decodeF16);
}

TEST(LowBitFloat, BF16AtEveryValueAndMidpoint) {
  checkSixteenBits(BF16, encodeBF16, decodeBF16);
}

TEST(LowBitFloat, AgreesWithAPFloatAllOverBinary32) {
  auto convert = [](float value, const llvm::fltSemantics &semantics) {
    APFloat result(value);
    bool losesInfo;
    result.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return result.bitcastToAPInt().getZExtValue();
  };
  auto clamp = [](float value, float limit) {
    return std::max(-limit, std::min(limit, value));
  };
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 9973) {
    float value = strict::fromBits(bits);
    if (std::isnan(value))
      continue;
    ASSERT_EQ(encodeE2M1(value),
              convert(clamp(value, 6), APFloat::Float4E2M1FN()))
        << value;
    ASSERT_EQ(encodeE4M3(value),
              convert(clamp(value, 448), APFloat::Float8E4M3FN()))
        << value;
    ASSERT_EQ(encodeF16(value), convert(value, APFloat::IEEEhalf())) << value;
    ASSERT_EQ(encodeBF16(value), convert(value, APFloat::BFloat())) << value;
  }
}

TEST(LowBitFloat, DoesNotDependOnModesOfTheProcessor) {
  std::vector<float> probes = getProbes(E4M3);
  for (int exponent = -149; exponent != 128; ++exponent)
    probes.push_back(std::ldexp(1.0f, exponent));
  auto encodeAll = [&] {
    std::vector<unsigned> result;
    for (float probe : probes) {
      result.push_back(encodeE2M1(probe));
      result.push_back(encodeE4M3(probe));
      result.push_back(encodeF16(probe));
      result.push_back(encodeBF16(probe));
      result.push_back(encodeSharedExponent(probe, 2));
      result.push_back(strict::toBits(decodeBF16(encodeBF16(probe))));
      result.push_back(strict::toBits(decodeF16(encodeF16(probe))));
    }
    return result;
  };
  std::vector<unsigned> expected = encodeAll();
  for (int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    test::ScopedFloatEnvironment environment(/*flush=*/true, mode);
    ASSERT_TRUE(test::flushesSubnormals());
    EXPECT_EQ(encodeAll(), expected) << mode;
  }
}

} // namespace
