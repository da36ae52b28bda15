//===- FormatTest.cpp - Decoding and encoding of every format -------------===//

#include "NumericsTestUtil.h"
#include <algorithm>

using namespace kvq::emu::num;
using namespace kvq::emu::num::test;

namespace {

/// The value of a code by the definition of its format, NaN and infinity as a
/// double's. Written apart from the code under test.
double defined(Format f, unsigned code) {
  auto general = [&](unsigned e, unsigned m, int bias) {
    unsigned exp = (code >> m) & ((1u << e) - 1), man = code & ((1u << m) - 1);
    double sign = (code >> (e + m)) & 1 ? -1 : 1;
    double v = exp ? std::ldexp(1.0 + man / double(1u << m), int(exp) - bias)
                   : std::ldexp(man / double(1u << m), 1 - bias);
    return sign * v;
  };
  switch (f) {
  case Format::E4M3:
    return (code & 0x7f) == 0x7f ? NAN : general(4, 3, 7);
  case Format::UE4M3:
    return (code & 0x7f) == 0x7f ? NAN : std::fabs(general(4, 3, 7));
  case Format::E5M2:
    if ((code & 0x7c) == 0x7c)
      return code & 3 ? NAN : code & 0x80 ? -INFINITY : INFINITY;
    return general(5, 2, 15);
  case Format::E2M1:
    return general(2, 1, 1);
  case Format::E2M3:
    return general(2, 3, 1);
  case Format::E3M2:
    return general(3, 2, 3);
  case Format::UE8M0:
    return code == 0xff ? NAN : std::ldexp(1.0, int(code) - 127);
  case Format::S2F6:
    return int8_t(code) / 64.0;
  case Format::F16:
    if ((code & 0x7c00) == 0x7c00)
      return code & 0x3ff ? NAN : code & 0x8000 ? -INFINITY : INFINITY;
    return general(5, 10, 15);
  case Format::BF16:
    if ((code & 0x7f80) == 0x7f80)
      return code & 0x7f ? NAN : code & 0x8000 ? -INFINITY : INFINITY;
    return general(8, 7, 127);
  default:
    return 0;
  }
}

constexpr Format smallFormats[] = {
    Format::E4M3,  Format::E5M2,  Format::E2M1, Format::E2M3, Format::E3M2,
    Format::UE8M0, Format::UE4M3, Format::S2F6, Format::F16,  Format::BF16};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || bits(a) == bits(b);
}

double valueOf(const Real &r) {
  if (r.isNaN())
    return NAN;
  double v = r.isInf()
                 ? INFINITY
                 : std::ldexp(double(uint64_t(r.significand)), r.exponent);
  return r.negative ? -v : v;
}

TEST(Format, EveryCodeDecodes) {
  for (Format f : smallFormats)
    for (unsigned c = 0; c != 1u << info(f).bits; ++c) {
      EXPECT_TRUE(same(defined(f, c), toDouble(f, c)))
          << info(f).name << " " << c << " " << toDouble(f, c);
      EXPECT_TRUE(same(defined(f, c), valueOf(decode(f, c))))
          << info(f).name << " " << c;
    }
}

TEST(Format, EveryCodeSurvivesEncoding) {
  for (Format f : smallFormats)
    for (unsigned c = 0; c != 1u << info(f).bits; ++c) {
      double v = defined(f, c);
      if (std::isnan(v))
        EXPECT_EQ(encode(f, decode(f, c)), info(f).canonNaN) << info(f).name;
      else if (f == Format::UE4M3)
        EXPECT_EQ(encode(f, fromDouble(v)), c & 0x7f);
      else
        EXPECT_EQ(encode(f, fromDouble(v)), c) << info(f).name;
    }
}

/// Finite magnitudes of a format in increasing order with their codes.
std::vector<std::pair<double, unsigned>> magnitudes(Format f) {
  std::vector<std::pair<double, unsigned>> out;
  for (unsigned c = 0; c != 1u << info(f).bits; ++c) {
    double v = defined(f, c);
    if (std::isfinite(v) && !std::signbit(v) &&
        !(f == Format::UE4M3 && c > 127))
      out.push_back({v, c});
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Rounds between neighbours: at the lower value, a quarter, just below, at and
/// just above the tie, three quarters; both signs, every direction.
TEST(Format, EveryGapRounds) {
  for (Format f : {Format::E4M3, Format::E5M2, Format::E2M1, Format::E2M3,
                   Format::E3M2, Format::F16, Format::BF16}) {
    auto values = magnitudes(f);
    uint64_t sign = uint64_t(1) << (info(f).bits - 1);
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      double lo = values[i].first, hi = values[i + 1].first;
      uint64_t lowCode = values[i].second, highCode = values[i + 1].second;
      double tie = lo + (hi - lo) / 2;
      struct {
        double v;
        bool nearestUp, awayUp;
      } points[] = {
          {lo + (hi - lo) / 4, false, false},
          {std::nextafter(tie, 0.0), false, false},
          {tie, (lowCode & 1) != 0, true},
          {std::nextafter(tie, 1e300), true, true},
          {lo + (hi - lo) * 3 / 4, true, true},
          {std::nextafter(lo, 1e300), false, false},
          {std::nextafter(hi, 0.0), true, true},
      };
      for (auto &p : points)
        for (bool negative : {false, true}) {
          double v = negative ? -p.v : p.v;
          uint64_t s = negative ? sign : 0;
          auto check = [&](Round r, bool up) {
            EncodeOptions o;
            o.round = r;
            EXPECT_EQ(encode(f, fromDouble(v), o),
                      (up ? highCode : lowCode) | s)
                << info(f).name << " " << v << " mode " << int(r);
          };
          check(Round::RN, p.nearestUp);
          check(Round::RNA, p.awayUp);
          check(Round::RZ, false);
          check(Round::RM, negative);
          check(Round::RP, !negative);
        }
    }
  }
}

TEST(Format, Overflow) {
  EncodeOptions plain, sat;
  sat.satfinite = true;
  // Above the middle of the gap to the next power of two that is missing.
  EXPECT_EQ(encode(Format::E4M3, fromDouble(464), plain), 0x7eu); // Tie: even.
  EXPECT_EQ(encode(Format::E4M3, fromDouble(465), plain), 0x7fu);
  EXPECT_EQ(encode(Format::E4M3, fromDouble(465), sat), 0x7eu);
  EXPECT_EQ(encode(Format::E4M3, fromDouble(-INFINITY), sat), 0xfeu);
  EXPECT_EQ(encode(Format::E4M3, Real::nan(), sat), 0x7fu);
  EXPECT_EQ(encode(Format::E5M2, fromDouble(61439), plain), 0x7bu);
  EXPECT_EQ(encode(Format::E5M2, fromDouble(61440), plain), 0x7cu);
  EXPECT_EQ(encode(Format::E5M2, fromDouble(1e30), sat), 0x7bu);
  EXPECT_EQ(encode(Format::E5M2, fromDouble(INFINITY), sat), 0x7bu);
  EXPECT_EQ(encode(Format::E2M1, fromDouble(1e30), plain), 7u);
  EXPECT_EQ(encode(Format::E2M1, fromDouble(-1e30), plain), 15u);
  EXPECT_EQ(encode(Format::E2M1, Real::nan(), sat), 7u);
  EXPECT_EQ(encode(Format::E2M3, Real::nan(), sat), 0x1fu);
  EXPECT_EQ(encode(Format::E3M2, Real::nan(), sat), 0x1fu);
  EXPECT_EQ(encode(Format::S2F6, Real::nan(), sat), 0x7fu);
  EXPECT_EQ(encode(Format::F16, fromDouble(65519), plain), 0x7bffu);
  EXPECT_EQ(encode(Format::F16, fromDouble(65520), plain), 0x7c00u);
  EXPECT_EQ(encode(Format::F16, fromDouble(65520), sat), 0x7bffu);
  EXPECT_EQ(encode(Format::F16, Real::nan(), sat), 0x7fffu);
  EXPECT_EQ(encode(Format::BF16, fromDouble(INFINITY), sat), 0x7f7fu);
  for (Round r : directed) {
    EncodeOptions o;
    o.round = r;
    bool away = r == Round::RN;
    EXPECT_EQ(encode(Format::F16, fromDouble(1e9), o),
              away || r == Round::RP ? 0x7c00u : 0x7bffu);
    EXPECT_EQ(encode(Format::F16, fromDouble(-1e9), o),
              away || r == Round::RM ? 0xfc00u : 0xfbffu);
  }
}

TEST(Format, ScaleExponents) {
  auto code = [](double v, Round r, bool sat) {
    EncodeOptions o;
    o.round = r;
    o.satfinite = sat;
    return encode(Format::UE8M0, fromDouble(v), o);
  };
  for (int e = -127; e != 128; ++e) {
    double p = std::ldexp(1.0, e);
    unsigned c = e + 127;
    EXPECT_EQ(code(p, Round::RZ, true), c);
    EXPECT_EQ(code(p, Round::RP, true), c);
    EXPECT_EQ(code(-p, Round::RZ, true), c); // No sign: the magnitude.
    EXPECT_EQ(code(std::nextafter(p, INFINITY), Round::RZ, true), c);
    EXPECT_EQ(code(std::nextafter(p, INFINITY), Round::RP, true),
              std::min(c + 1, 254u));
    if (e > -127) {
      EXPECT_EQ(code(std::nextafter(p, 0), Round::RZ, true), c - 1);
      EXPECT_EQ(code(std::nextafter(p, 0), Round::RP, true), c);
    }
  }
  EXPECT_EQ(code(0, Round::RZ, true), 0u);
  EXPECT_EQ(code(0x1p-149, Round::RP, true), 0u);
  EXPECT_EQ(code(INFINITY, Round::RP, true), 254u);
  EXPECT_EQ(code(INFINITY, Round::RP, false), 255u);
  EXPECT_EQ(code(0x1.8p127, Round::RP, false), 255u);
  EXPECT_EQ(code(NAN, Round::RZ, true), 255u);
}

TEST(Format, TF32) {
  EncodeOptions rna, rz;
  rna.round = Round::RNA;
  rz.round = Round::RZ;
  std::mt19937_64 rng(7);
  for (unsigned n = 0; n != 20000; ++n) {
    uint32_t a = rng();
    if (isNaNCode(Format::F32, a))
      continue;
    Real v = decode(Format::F32, a);
    EXPECT_EQ(encode(Format::TF32, v, rz), a & 0xffffe000u);
    // To nearest, ties away: add half a unit to the magnitude.
    uint32_t want = (a & 0x7fffffff) >= 0x7f7ff000
                        ? (a & 0x80000000) | 0x7f800000
                        : (a + 0x1000) & 0xffffe000;
    EXPECT_EQ(encode(Format::TF32, v, rna), want);
    uint32_t even = (a + 0xfff + ((a >> 13) & 1)) & 0xffffe000u;
    EXPECT_EQ(encode(Format::TF32, v), even) << std::hex << a;
    EXPECT_EQ(toDouble(Format::TF32, a), toDouble(Format::F32, a & 0xffffe000));
  }
  EXPECT_EQ(encode(Format::TF32, Real::nan()), 0x7fffffffu);
}

TEST(Format, StochasticRoundingIsAnAddition) {
  // f32 to f16: 13 bits are discarded, 13 random bits are added to them.
  std::mt19937_64 rng(11);
  for (unsigned n = 0; n != 20000; ++n) {
    uint32_t exp = 127 - 14 + rng() % 29;
    uint32_t a = (rng() & 0x807fffff) | exp << 23;
    EncodeOptions o;
    o.round = Round::RS;
    o.random = rng() & 0x1fff;
    o.randomBits = 13;
    uint32_t sum = (a & 0x7fffffff) + o.random;
    uint32_t want = (a >> 16 & 0x8000) | (((sum >> 13) - ((127 - 15) << 10)));
    EXPECT_EQ(encode(Format::F16, decode(Format::F32, a), o), want);
  }
}

TEST(Format, ReluSatAndFlush) {
  EncodeOptions relu, sat, ftz;
  relu.relu = true;
  sat.sat = true;
  ftz.ftz = true;
  EXPECT_EQ(encode(Format::F16, fromDouble(-3), relu), 0u);
  EXPECT_EQ(encode(Format::F16, fromDouble(-0.0), relu), 0u);
  EXPECT_EQ(encode(Format::F16, fromDouble(3), relu), 0x4200u);
  EXPECT_EQ(encode(Format::F16, Real::nan(), relu), 0x7fffu);
  EXPECT_EQ(encode(Format::F32, fromDouble(-3), sat), 0u);
  EXPECT_EQ(encode(Format::F32, fromDouble(3), sat), 0x3f800000u);
  EXPECT_EQ(encode(Format::F32, fromDouble(0.25), sat), 0x3e800000u);
  EXPECT_EQ(encode(Format::F32, Real::nan(), sat), 0u);
  EXPECT_EQ(encode(Format::F32, fromDouble(-0x1p-130), ftz), 0x80000000u);
  EXPECT_EQ(encode(Format::F32, fromDouble(-0x1p-126), ftz), 0x80800000u);
}

} // namespace
