//===- StrictFloatTest.cpp - Mode-independent arithmetic against APFloat --===//

#include "kvq/Support/StrictFloat.h"
#include "FloatEnvironment.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <random>
#include <vector>

using namespace kvq;
using llvm::APFloat;

namespace {

uint32_t bitsOf(const APFloat &value) {
  return value.bitcastToAPInt().getZExtValue();
}

/// Compares by bits, except that any NaN equals any other: IEEE 754 leaves the
/// sign of the NaN of an invalid operation open.
bool same(float found, const APFloat &expected) {
  return expected.isNaN() ? strict::isNaN(found)
                          : strict::toBits(found) == bitsOf(expected);
}

/// Pairs of all kinds: special values, results that are subnormal, overflow or
/// lie close to a midpoint.
std::vector<std::pair<float, float>> getPairs() {
  std::vector<uint32_t> special = {
      0,          1,          2,          0x007FFFFF, 0x00800000, 0x00800001,
      0x3F800000, 0x3F800001, 0x3F7FFFFF, 0x7F7FFFFF, 0x7F800000, 0x7FC00000,
      0x40C00000, 0x7EAAAAAA, 0x00000006, 0x34000000, 0x33800000, 0x33800001};
  std::vector<std::pair<float, float>> pairs;
  for (uint32_t a : special)
    for (uint32_t b : special)
      for (uint32_t signs = 0; signs != 4; ++signs)
        pairs.emplace_back(strict::fromBits(a | signs << 31),
                           strict::fromBits(b | (signs >> 1) << 31));
  std::mt19937 random(20240607);
  auto withExponent = [&](uint32_t bits, uint32_t exponent) {
    return strict::fromBits((bits & 0x807FFFFFu) | (exponent & 0xFF) << 23);
  };
  for (int i = 0; i != 300000; ++i) {
    uint32_t a = random(), b = random();
    pairs.emplace_back(strict::fromBits(a), strict::fromBits(b));
    uint32_t exponent = (a >> 23) & 0xFF;
    // Sums of numbers of like exponent, and quotients near the ends.
    pairs.emplace_back(strict::fromBits(a),
                       withExponent(b, exponent + i % 64 - 32));
    pairs.emplace_back(withExponent(a, i % 40), withExponent(b, 120 + i % 30));
    pairs.emplace_back(withExponent(a, 60 + i % 40), withExponent(b, i % 70));
  }
  return pairs;
}

void check(const std::vector<std::pair<float, float>> &pairs) {
  for (auto [a, b] : pairs) {
    APFloat exactA(strict::fromBits(strict::toBits(a))), exactB(b);
    APFloat sum = exactA, difference = exactA, product = exactA,
            quotient = exactA;
    sum.add(exactB, APFloat::rmNearestTiesToEven);
    difference.subtract(exactB, APFloat::rmNearestTiesToEven);
    product.multiply(exactB, APFloat::rmNearestTiesToEven);
    quotient.divide(exactB, APFloat::rmNearestTiesToEven);
    ASSERT_TRUE(same(strict::multiply(a, b), product)) << a << " * " << b;
    ASSERT_TRUE(same(strict::divide(a, b), quotient)) << a << " / " << b;
    ASSERT_TRUE(same(strict::add(a, b), sum)) << a << " + " << b;
    ASSERT_TRUE(same(strict::subtract(a, b), difference)) << a << " - " << b;
  }
}

TEST(StrictFloat, AgreesWithAPFloat) { check(getPairs()); }

TEST(StrictFloat, DoesNotDependOnFlushToZero) {
  std::vector<std::pair<float, float>> pairs = getPairs();
  test::ScopedFloatEnvironment environment(/*flush=*/true, FE_TONEAREST);
  ASSERT_TRUE(test::flushesSubnormals());
  check(pairs);
}

TEST(StrictFloat, DoesNotDependOnTheRoundingDirection) {
  std::vector<std::pair<float, float>> pairs = getPairs();
  // The sign of an exact zero sum is the one thing IEEE 754 ties to the mode.
  std::vector<std::pair<float, float>> nonzero;
  for (auto [a, b] : pairs)
    if (strict::magnitudeBits(a) != strict::magnitudeBits(b))
      nonzero.emplace_back(a, b);
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    test::ScopedFloatEnvironment environment(/*flush=*/true, mode);
    check(nonzero);
  }
}

TEST(StrictFloat, NarrowsMidpointsToEven) {
  // Between two subnormals, at the edge to the normal range, and at the top.
  EXPECT_EQ(strict::toBits(strict::narrow(0x1p-150)), 0u);
  EXPECT_EQ(strict::toBits(strict::narrow(0x1.0000000000001p-150)), 1u);
  EXPECT_EQ(strict::toBits(strict::narrow(0x1.8p-149)), 2u);
  EXPECT_EQ(strict::toBits(strict::narrow(0x1.8p-150)), 1u);
  EXPECT_EQ(strict::toBits(strict::narrow(0x1.ffffffp-127)), 0x00800000u);
  EXPECT_EQ(strict::toBits(strict::narrow(0x1.ffffffp+127)), 0x7F800000u);
  EXPECT_EQ(strict::toBits(strict::narrow(0x1.fffffefffffffp+127)),
            0x7F7FFFFFu);
  EXPECT_EQ(strict::toBits(strict::narrow(-0x1p-1074)), strict::SignBit);
  EXPECT_EQ(strict::toBits(strict::narrow(-1e300)), 0xFF800000u);
}

TEST(StrictFloat, WidensSubnormalsExactly) {
  for (uint32_t bits : {1u, 2u, 3u, 0x007FFFFFu, 0x00400000u})
    EXPECT_EQ(strict::widen(strict::fromBits(bits | strict::SignBit)),
              -double(bits) * 0x1p-149);
}

} // namespace
