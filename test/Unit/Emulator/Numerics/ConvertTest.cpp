//===- ConvertTest.cpp - cvt against APFloat and by hand ------------------===//

#include "kvq/Emulator/Numerics/Convert.h"
#include "NumericsTestUtil.h"

using namespace kvq::emu::num;
using namespace kvq::emu::num::test;
using llvm::APFloat;
using llvm::APSInt;

namespace {

/// Runs a cvt on exactly as many operands as it takes.
uint64_t cvt(const CvtSpec &s, std::vector<uint64_t> operands) {
  EXPECT_EQ(cvtOperands(s), operands.size());
  auto fn = findCvt(s);
  if (!fn) {
    ADD_FAILURE() << llvm::toString(fn.takeError());
    return ~uint64_t(0);
  }
  return (*fn)(s, operands.data());
}

CvtSpec spec(CvtType dst, CvtType src, CvtRound r = CvtRound::None) {
  CvtSpec s;
  s.dst = dst;
  s.src = src;
  s.round = r;
  return s;
}

struct Int {
  CvtType type;
  unsigned bits;
  bool isSigned;
};
constexpr Int ints[] = {{CvtType::U8, 8, false},   {CvtType::S8, 8, true},
                        {CvtType::U16, 16, false}, {CvtType::S16, 16, true},
                        {CvtType::U32, 32, false}, {CvtType::S32, 32, true},
                        {CvtType::U64, 64, false}, {CvtType::S64, 64, true}};
struct Float {
  CvtType type;
  Format format;
};
constexpr Float floats[] = {{CvtType::F16, Format::F16},
                            {CvtType::BF16, Format::BF16},
                            {CvtType::F32, Format::F32},
                            {CvtType::F64, Format::F64}};
struct Mode {
  CvtRound floating, integer;
  Round round;
};
constexpr Mode modes[] = {{CvtRound::RN, CvtRound::RNI, Round::RN},
                          {CvtRound::RZ, CvtRound::RZI, Round::RZ},
                          {CvtRound::RM, CvtRound::RMI, Round::RM},
                          {CvtRound::RP, CvtRound::RPI, Round::RP}};

std::vector<uint64_t> integers(unsigned bits, uint64_t seed) {
  std::vector<uint64_t> out = {0, 1, 2, 3, 255, 256, 65535, 65520, 65519};
  for (unsigned b = 0; b != bits; ++b)
    for (int d : {-1, 0, 1})
      out.push_back((uint64_t(1) << b) + d);
  std::mt19937_64 rng(seed);
  for (unsigned n = 0; n != 200; ++n)
    out.push_back(rng() >> (rng() % bits));
  size_t n = out.size();
  for (size_t i = 0; i != n; ++i)
    out.push_back(0 - out[i]);
  return out;
}

TEST(Convert, IntegerToFloat) {
  for (Int i : ints)
    for (Float f : floats)
      for (Mode m : modes) {
        CvtSpec s = spec(f.type, i.type, m.floating);
        for (uint64_t v : integers(i.bits, 4)) {
          llvm::APInt a = llvm::APInt(64, v).trunc(i.bits);
          APFloat want(semantics(f.format));
          want.convertFromAPInt(a, i.isSigned, apRound(m.round));
          ASSERT_EQ(cvt(s, {v}), apBits(want))
              << i.bits << i.isSigned << info(f.format).name << v;
        }
      }
}

TEST(Convert, FloatToInteger) {
  for (Float f : floats)
    for (Int i : ints)
      for (Mode m : modes) {
        CvtSpec s = spec(i.type, f.type, m.integer);
        auto values = interesting(f.format, 600, 6);
        // Halves and integers near the limits of the type.
        for (double base : {0.0, std::ldexp(1.0, int(i.bits) - 1),
                            std::ldexp(1.0, int(i.bits))})
          for (double d : {-1.5, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 1.5, 2.5})
            for (double sign : {-1.0, 1.0}) {
              APFloat v(sign * (base + d));
              bool lost;
              v.convert(semantics(f.format), apRound(Round::RN), &lost);
              values.push_back(apBits(v));
            }
        for (uint64_t v : values) {
          uint64_t got = cvt(s, {v});
          if (isNaNCode(f.format, v)) {
            bool zero = f.format != Format::F64 && i.bits != 64;
            llvm::APInt want = zero ? llvm::APInt(i.bits, 0)
                                    : llvm::APInt::getSignedMinValue(i.bits);
            ASSERT_EQ(got, i.isSigned ? uint64_t(want.getSExtValue())
                                      : want.getZExtValue());
            continue;
          }
          APSInt want(i.bits, !i.isSigned);
          bool exact;
          ap(f.format, v).convertToInteger(want, apRound(m.round), &exact);
          ASSERT_EQ(got, i.isSigned ? uint64_t(want.getSExtValue())
                                    : want.getZExtValue())
              << info(f.format).name << std::hex << " " << v << " to " << i.bits
              << i.isSigned << " mode " << int(m.round);
        }
      }
  CvtSpec ftz = spec(CvtType::S32, CvtType::F32, CvtRound::RPI);
  EXPECT_EQ(cvt(ftz, {1}), 1u);
  ftz.ftz = true;
  EXPECT_EQ(cvt(ftz, {1}), 0u);
}

TEST(Convert, FloatToFloat) {
  for (Float from : floats)
    for (Float to : floats)
      for (Mode m : modes) {
        CvtSpec s = spec(to.type, from.type, m.floating);
        auto values = interesting(from.format, 3000, 9);
        for (uint64_t v : values) {
          APFloat want = ap(from.format, v);
          bool lost;
          want.convert(semantics(to.format), apRound(m.round), &lost);
          uint64_t got = cvt(s, {v});
          if (want.isNaN()) {
            ASSERT_TRUE(isNaNCode(to.format, got));
            continue;
          }
          ASSERT_EQ(got, apBits(want))
              << info(from.format).name << " " << info(to.format).name
              << std::hex << " " << v << " mode " << int(m.round);
        }
      }
}

TEST(Convert, AllHalvesWidenAndNarrow) {
  CvtSpec up = spec(CvtType::F32, CvtType::F16),
          down = spec(CvtType::F16, CvtType::F32, CvtRound::RN),
          upB = spec(CvtType::F32, CvtType::BF16),
          downB = spec(CvtType::BF16, CvtType::F32, CvtRound::RN);
  for (unsigned c = 0; c != 65536; ++c) {
    APFloat h = ap(Format::F16, c);
    bool lost;
    h.convert(APFloat::IEEEsingle(), apRound(Round::RN), &lost);
    if (h.isNaN()) {
      EXPECT_EQ(cvt(up, {c}), 0x7fffffffu);
      EXPECT_EQ(cvt(down, {apBits(h)}), 0x7fffu);
    } else {
      EXPECT_EQ(cvt(up, {c}), apBits(h));
      EXPECT_EQ(cvt(down, {apBits(h)}), c);
    }
    if (isNaNCode(Format::BF16, c)) {
      EXPECT_EQ(cvt(upB, {c}), 0x7fffffffu);
      EXPECT_EQ(cvt(downB, {uint64_t(c) << 16}), 0x7fffu);
    } else {
      EXPECT_EQ(cvt(upB, {c}), uint64_t(c) << 16);
      EXPECT_EQ(cvt(downB, {uint64_t(c) << 16}), c);
    }
  }
}

TEST(Convert, RoundToIntegral) {
  for (Float f : floats)
    for (Mode m : modes) {
      CvtSpec s = spec(f.type, f.type, m.integer);
      for (uint64_t v : interesting(f.format, 2000, 12)) {
        APFloat want = ap(f.format, v);
        want.roundToIntegral(apRound(m.round));
        uint64_t got = cvt(s, {v});
        if (want.isNaN())
          ASSERT_TRUE(isNaNCode(f.format, got));
        else
          ASSERT_EQ(got, apBits(want)) << info(f.format).name << v;
      }
    }
}

TEST(Convert, IntegerToInteger) {
  for (Int from : ints)
    for (Int to : ints)
      for (bool sat : {false, true}) {
        CvtSpec s = spec(to.type, from.type);
        s.sat = sat;
        for (uint64_t v : integers(from.bits, 14)) {
          APSInt a(llvm::APInt(64, v).trunc(from.bits), !from.isSigned);
          APSInt wide = a.extend(130);
          wide.setIsSigned(true);
          if (!from.isSigned)
            wide = APSInt(a.zext(130), false);
          APSInt want(wide.trunc(to.bits), !to.isSigned);
          if (sat) {
            APSInt max = APSInt(APSInt::getMaxValue(to.bits, !to.isSigned));
            APSInt min = APSInt(APSInt::getMinValue(to.bits, !to.isSigned));
            APSInt maxW(to.isSigned ? max.sext(130) : max.zext(130), false);
            APSInt minW(to.isSigned ? min.sext(130) : min.zext(130), false);
            if (wide > maxW)
              want = max;
            else if (wide < minW)
              want = min;
          }
          ASSERT_EQ(cvt(s, {v}), to.isSigned ? uint64_t(want.getSExtValue())
                                             : want.getZExtValue())
              << from.bits << from.isSigned << " " << to.bits << to.isSigned
              << " " << sat << " " << v;
        }
      }
}

TEST(Convert, SaturatedFloats) {
  CvtSpec s = spec(CvtType::F32, CvtType::F32);
  s.sat = true;
  EXPECT_EQ(cvt(s, {bits(2.0f)}), bits(1.0f));
  EXPECT_EQ(cvt(s, {bits(-2.0f)}), 0u);
  EXPECT_EQ(cvt(s, {bits(NAN)}), 0u);
  EXPECT_EQ(cvt(s, {bits(0.5f)}), bits(0.5f));
  CvtSpec ftz = spec(CvtType::F32, CvtType::F64, CvtRound::RN);
  ftz.ftz = true;
  EXPECT_EQ(cvt(ftz, {bits(-0x1p-130)}), 0x80000000u);
  EXPECT_EQ(cvt(ftz, {bits(-0x1p-126)}), 0x80800000u);
}

TEST(Convert, HalvesFromF32) {
  CvtSpec s = spec(CvtType::F16x2, CvtType::F32, CvtRound::RN);
  // The first operand is the upper half.
  EXPECT_EQ(cvt(s, {bits(1.0f), bits(2.0f)}), 0x3c004000u);
  EXPECT_EQ(cvt(s, {bits(1e6f), bits(NAN)}), 0x7c007fffu);
  s.satfinite = true;
  EXPECT_EQ(cvt(s, {bits(1e6f), bits(NAN)}), 0x7bff7fffu);
  s.relu = true;
  EXPECT_EQ(cvt(s, {bits(-1.0f), bits(-NAN)}), 0x00007fffu);
  CvtSpec b = spec(CvtType::BF16x2, CvtType::F32, CvtRound::RZ);
  EXPECT_EQ(cvt(b, {0x3f80ffff, 0xbf80ffff}), 0x3f80bf80u);
  b.round = CvtRound::RN;
  EXPECT_EQ(cvt(b, {0x3f808000, 0x3f818000}), 0x3f803f82u);
}

TEST(Convert, NarrowPairsFromF32) {
  CvtSpec s = spec(CvtType::E4M3x2, CvtType::F32, CvtRound::RN);
  s.satfinite = true;
  EXPECT_EQ(cvt(s, {bits(1.0f), bits(-2.0f)}), 0x38c0u);
  EXPECT_EQ(cvt(s, {bits(1e9f), bits(NAN)}), 0x7e7fu);
  s.dst = CvtType::E5M2x2;
  EXPECT_EQ(cvt(s, {bits(1.0f), bits(-1e9f)}), 0x3cfbu);
  s.dst = CvtType::E2M1x2;
  EXPECT_EQ(cvt(s, {bits(2.5f), bits(-5.0f)}), 0x4eu); // 2 and -4.
  EXPECT_EQ(cvt(s, {bits(NAN), bits(0.25f)}), 0x70u);
  s.dst = CvtType::E2M3x2;
  EXPECT_EQ(cvt(s, {bits(7.5f), bits(-1.0f)}), 0x1f28u);
  s.dst = CvtType::E3M2x2;
  EXPECT_EQ(cvt(s, {bits(28.0f), bits(-1.0f)}), 0x1f2cu);
  s.relu = true;
  EXPECT_EQ(cvt(s, {bits(NAN), bits(-1.0f)}), 0x1f00u);
  CvtSpec u = spec(CvtType::UE8M0x2, CvtType::F32, CvtRound::RP);
  u.satfinite = true;
  EXPECT_EQ(cvt(u, {bits(1.5f), bits(1.0f)}), 0x807fu);
  u.round = CvtRound::RZ;
  EXPECT_EQ(cvt(u, {bits(1.5f), bits(NAN)}), 0x7fffu);
}

/// Every code of every narrow format up to f16x2, and back down from it.
TEST(Convert, NarrowPairsThroughHalves) {
  struct {
    CvtType type;
    Format format;
    unsigned spacing;
  } kinds[] = {{CvtType::E4M3x2, Format::E4M3, 8},
               {CvtType::E5M2x2, Format::E5M2, 8},
               {CvtType::E2M1x2, Format::E2M1, 4},
               {CvtType::E2M3x2, Format::E2M3, 8},
               {CvtType::E3M2x2, Format::E3M2, 8}};
  for (auto &k : kinds) {
    CvtSpec up = spec(CvtType::F16x2, k.type, CvtRound::RN);
    CvtSpec down = spec(k.type, CvtType::F16x2, CvtRound::RN);
    down.satfinite = true;
    unsigned n = 1u << info(k.format).bits;
    for (unsigned c = 0; c != n; ++c) {
      unsigned other = (c * 37 + 5) % n;
      auto half = [&](unsigned code) -> uint64_t {
        APFloat v = ap(k.format, code);
        bool lost;
        v.convert(APFloat::IEEEhalf(), apRound(Round::RN), &lost);
        return v.isNaN() ? 0x7fff : apBits(v);
      };
      uint64_t packed = uint64_t(c) << k.spacing | other;
      uint64_t halves = half(c) << 16 | half(other);
      EXPECT_EQ(cvt(up, {packed}), halves) << info(k.format).name << c;
      auto back = [&](unsigned code) -> uint64_t {
        APFloat v = ap(k.format, code);
        if (v.isNaN())
          return 0x7f;
        // .satfinite turns infinities into the largest number.
        return v.isInfinity() ? code - 1 : code;
      };
      EXPECT_EQ(cvt(down, {halves}), back(c) << k.spacing | back(other))
          << info(k.format).name << c;
    }
    CvtSpec fromB = spec(k.type, CvtType::BF16x2, CvtRound::RN);
    fromB.satfinite = true;
    uint64_t one = encode(k.format, fromDouble(1));
    EXPECT_EQ(cvt(fromB, {0x3f800000}), one << k.spacing);
  }
  CvtSpec up = spec(CvtType::BF16x2, CvtType::UE8M0x2, CvtRound::RN);
  for (unsigned c = 0; c != 256; ++c) {
    // 2^-127 is subnormal in bf16.
    uint64_t want = c == 0 ? 0x0040 : c == 255 ? 0x7fff : c << 7;
    EXPECT_EQ(cvt(up, {c << 8 | 0x7f}), want << 16 | 0x3f80);
    if (c == 255)
      continue;
    CvtSpec down = spec(CvtType::UE8M0x2, CvtType::BF16x2, CvtRound::RZ);
    EXPECT_EQ(cvt(down, {want << 16 | 0x3f80}), c << 8 | 0x7f);
  }
}

TEST(Convert, TF32Forms) {
  CvtSpec s = spec(CvtType::TF32, CvtType::F32, CvtRound::RNA);
  EXPECT_EQ(cvt(s, {0x3f801000}), 0x3f802000u);
  s.round = CvtRound::RN;
  EXPECT_EQ(cvt(s, {0x3f801000}), 0x3f800000u);
  EXPECT_EQ(cvt(s, {0x3f803000}), 0x3f804000u);
  s.round = CvtRound::RZ;
  EXPECT_EQ(cvt(s, {0x3f803fff}), 0x3f802000u);
  s.satfinite = true;
  s.round = CvtRound::RN;
  EXPECT_EQ(cvt(s, {0x7f7fffff}), 0x7f7fe000u);
  s.relu = true;
  EXPECT_EQ(cvt(s, {bits(-1.0f)}), 0u);
}

TEST(Convert, Stochastic) {
  CvtSpec h = spec(CvtType::F16x2, CvtType::F32, CvtRound::RS);
  // 13 discarded bits of 0x1000: carries from 0x1000 random bits on.
  uint64_t v = 0x3f801000;
  EXPECT_EQ(cvt(h, {v, v, 0x0fff1000}), 0x3c003c01u);
  EXPECT_EQ(cvt(h, {v, v, 0x1000efff}), 0x3c013c00u); // Upper 3 bits ignored.
  CvtSpec b = spec(CvtType::BF16x2, CvtType::F32, CvtRound::RS);
  EXPECT_EQ(cvt(b, {0x3f800001, 0x3f800001, 0xffff0000}), 0x3f813f80u);
  CvtSpec q = spec(CvtType::E4M3x4, CvtType::F32, CvtRound::RS);
  q.satfinite = true;
  uint64_t x = bits(1.0625f); // Half of a unit above 1.
  EXPECT_EQ(cvt(q, {x, x, x, x, 0x80007fff}), 0x39393838u);
  q.dst = CvtType::E2M1x4;
  uint64_t y = bits(1.25f); // Half of a unit above 1.
  // a, b take the upper bytes (0x80, 0x00), e, f the lower ones (0x7f, 0xff).
  EXPECT_EQ(cvt(q, {y, y, y, y, 0x807f00ff}), 0x3322u);
  EXPECT_EQ(cvt(q, {y, y, y, y, 0x00800000}), 0x2233u);
  EXPECT_EQ(cvt(q, {y, y, y, y, 0x7f00ff80}), 0x2222u);
  EXPECT_EQ(cvt(q, {bits(NAN), bits(-1e9f), y, y, 0}), 0x7f22u);
}

TEST(Convert, FixedPoint) {
  CvtSpec s = spec(CvtType::S2F6x2, CvtType::F32, CvtRound::RN);
  s.satfinite = true;
  EXPECT_EQ(cvt(s, {bits(1.0f), bits(-0.5f)}), 0x40e0u);
  EXPECT_EQ(cvt(s, {bits(5.0f), bits(-5.0f)}), 0x7f80u);
  s.scaled = true;
  // Divided by 4 and by 1/2.
  EXPECT_EQ(cvt(s, {bits(4.0f), bits(0.25f), 0x817e}), 0x4020u);
  CvtSpec up = spec(CvtType::BF16x2, CvtType::S2F6x2, CvtRound::RN);
  EXPECT_EQ(cvt(up, {0x40e0}), 0x3f80bf00u);
  up.scaled = true;
  EXPECT_EQ(cvt(up, {0x40e0, 0x817e}), 0x4080be80u);
}

TEST(Convert, IllegalForms) {
  auto rejected = [](CvtSpec s, llvm::StringRef part) {
    auto fn = findCvt(s);
    if (fn) {
      ADD_FAILURE() << "accepted; expected: " << part.str();
      return;
    }
    std::string text = llvm::toString(fn.takeError());
    EXPECT_NE(text.find(part.str()), std::string::npos) << text;
  };
  rejected(spec(CvtType::F16, CvtType::F32), "cvt.f16.f32: needs one of .rn");
  rejected(spec(CvtType::S32, CvtType::F32), "needs one of .rni");
  rejected(spec(CvtType::F32, CvtType::S32), "needs one of .rn");
  rejected(spec(CvtType::S32, CvtType::S64, CvtRound::RN), "illegal");
  rejected(spec(CvtType::E4M3x2, CvtType::F32, CvtRound::RN), ".satfinite");
  rejected(spec(CvtType::E4M3x2, CvtType::S32, CvtRound::RN), "no such");
  rejected(spec(CvtType::UE8M0x2, CvtType::F32, CvtRound::RN), ".rz or .rp");
  rejected(spec(CvtType::UE8M0x2, CvtType::F16x2, CvtRound::RZ), "bf16x2");
  rejected(spec(CvtType::E2M1x4, CvtType::F32, CvtRound::RN), ".rs");
  rejected(spec(CvtType::F32, CvtType::F16, CvtRound::RNI), "equal types");
  rejected(spec(CvtType::TF32, CvtType::F64, CvtRound::RN), "f32");
  rejected(spec(CvtType::F32, CvtType::E4M3x2, CvtRound::RN), "no such");
}

} // namespace
