//===- WgmmaTest.cpp - Warpgroup products against exact sums --------------===//

#include "kvq/Emulator/TensorCore/Wgmma.h"
#include "kvq/Emulator/Numerics/Format.h"
#include "gtest/gtest.h"
#include <random>
#include <set>
#include <vector>

using namespace kvq::emu;
using namespace kvq::emu::tc;
using num::MmaType;

namespace {

struct Case {
  MmaType a, b, d;
  unsigned n, k;
};
const Case cases[] = {
    {MmaType::F16, MmaType::F16, MmaType::F32, 8, 16},
    {MmaType::F16, MmaType::F16, MmaType::F16, 64, 16},
    {MmaType::BF16, MmaType::BF16, MmaType::F32, 24, 16},
    {MmaType::TF32, MmaType::TF32, MmaType::F32, 16, 8},
    {MmaType::E4M3, MmaType::E5M2, MmaType::F32, 128, 32},
    {MmaType::E5M2, MmaType::E4M3, MmaType::F16, 40, 32},
    {MmaType::S8, MmaType::U8, MmaType::S32, 48, 32},
    {MmaType::U8, MmaType::S8, MmaType::S32, 256, 32},
    {MmaType::B1, MmaType::B1, MmaType::S32, 32, 256},
};

WgmmaSpec specOf(const Case &c) {
  WgmmaSpec s;
  s.a = c.a;
  s.b = c.b;
  s.d = c.d;
  s.n = c.n;
  s.k = c.k;
  return s;
}

num::Format format(MmaType t) {
  switch (t) {
  case MmaType::F16:
    return num::Format::F16;
  case MmaType::BF16:
    return num::Format::BF16;
  case MmaType::TF32:
  case MmaType::F32:
    return num::Format::F32;
  case MmaType::E4M3:
    return num::Format::E4M3;
  default:
    return num::Format::E5M2;
  }
}

uint32_t code(MmaType t, int v) {
  if (t == MmaType::S8 || t == MmaType::U8 || t == MmaType::S32 ||
      t == MmaType::B1)
    return uint32_t(v);
  return uint32_t(num::encode(format(t), num::fromDouble(v)));
}

TEST(Wgmma, FragmentsCoverTheirMatrices) {
  for (const Case &c : cases) {
    WgmmaSpec s = specOf(c);
    ASSERT_FALSE(bool(checkWgmma(s)));
    std::set<std::pair<unsigned, unsigned>> seenD, seenA;
    for (unsigned t = 0; t != 128; ++t) {
      for (unsigned i = 0; i != s.n / 2u; ++i) {
        num::MatrixCoord at = wgmmaCoordD(s, t, i);
        EXPECT_LT(at.row, 64);
        EXPECT_LT(at.col, s.n);
        seenD.insert({at.row, at.col});
      }
      for (unsigned i = 0; i != s.k / 2u; ++i) {
        num::MatrixCoord at = wgmmaCoordA(s, t, i);
        EXPECT_LT(at.row, 64);
        EXPECT_LT(at.col, s.k);
        seenA.insert({at.row, at.col});
      }
    }
    EXPECT_EQ(seenD.size(), 64u * s.n);
    EXPECT_EQ(seenA.size(), 64u * s.k);
  }
  // Thread 69 is lane 5 of warp 2: group 1, thread 1.
  WgmmaSpec s = specOf(cases[1]);
  num::MatrixCoord d = wgmmaCoordD(s, 69, 7);
  EXPECT_EQ(d.row, 32 + 1 + 8);
  EXPECT_EQ(d.col, 8 + 2 + 1);
  num::MatrixCoord a = wgmmaCoordA(s, 69, 5);
  EXPECT_EQ(a.row, 32 + 1);
  EXPECT_EQ(a.col, 8 + 2 + 1);
  a = wgmmaCoordA(specOf(cases[4]), 69, 6);
  EXPECT_EQ(a.row, 32 + 1 + 8);
  EXPECT_EQ(a.col, 4 + 2);
}

TEST(Wgmma, ExactSums) {
  std::mt19937 rng(3);
  for (const Case &c : cases)
    for (bool accumulate : {false, true}) {
      WgmmaSpec s = specOf(c);
      bool integer = s.d == MmaType::S32;
      s.negateA = accumulate && !integer;
      std::vector<int> a(64 * s.k), b(s.k * s.n), d(64 * s.n);
      for (auto *v : {&a, &b})
        for (int &x : *v)
          x = rng() % (s.a == MmaType::B1 ? 2 : 5);
      for (int &x : d)
        x = rng() % 100;
      unsigned width = 256 / s.k, regsD = wgmmaRegistersD(s);
      std::vector<uint32_t> ra(128 * 4), rd(128 * regsD);
      for (unsigned t = 0; t != 128; ++t) {
        for (unsigned i = 0; i != s.k / 2u; ++i) {
          num::MatrixCoord at = wgmmaCoordA(s, t, i);
          unsigned bit = i * width;
          ra[4 * t + bit / 32] |= code(s.a, a[at.row * s.k + at.col])
                                  << bit % 32;
        }
        for (unsigned i = 0; i != s.n / 2u; ++i) {
          num::MatrixCoord at = wgmmaCoordD(s, t, i);
          uint32_t v = code(s.d, d[at.row * s.n + at.col]);
          if (s.d == MmaType::F16)
            rd[regsD * t + i / 2] |= v << 16 * (i % 2);
          else
            rd[regsD * t + i] = v;
        }
      }
      std::vector<double> da(64 * s.k), db(b.begin(), b.end());
      decodeWgmmaA(s, ra.data(), da.data());
      EXPECT_EQ(da, std::vector<double>(a.begin(), a.end()));
      executeWgmma(s, da.data(), db.data(), accumulate, rd.data());
      for (unsigned t = 0; t != 128; ++t)
        for (unsigned i = 0; i != s.n / 2u; ++i) {
          num::MatrixCoord at = wgmmaCoordD(s, t, i);
          int sum = 0;
          for (unsigned k = 0; k != s.k; ++k)
            sum += a[at.row * s.k + k] * b[k * s.n + at.col];
          sum = (s.negateA ? -sum : sum) +
                (accumulate ? d[at.row * s.n + at.col] : 0);
          uint32_t got = s.d == MmaType::F16
                             ? rd[regsD * t + i / 2] >> 16 * (i % 2) & 0xffff
                             : rd[regsD * t + i];
          ASSERT_EQ(got, code(s.d, sum));
        }
    }
}

TEST(Wgmma, IllegalForms) {
  auto rejected = [](WgmmaSpec s, const char *part) {
    std::string text = llvm::toString(checkWgmma(s));
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  WgmmaSpec s = specOf(cases[0]);
  s.k = 32;
  rejected(s, "32 bytes");
  s = specOf(cases[0]);
  s.n = 12;
  rejected(s, "no such N");
  s = specOf(cases[6]);
  s.n = 40;
  rejected(s, "no such N");
  s = specOf(cases[8]);
  s.b = MmaType::S8;
  rejected(s, "A and B");
  s = specOf(cases[8]);
  s.satfinite = true;
  rejected(s, "8-bit integers");
  s = specOf(cases[8]);
  s.negateB = true;
  rejected(s, "negated");
  s = specOf(cases[2]);
  s.d = MmaType::F16;
  rejected(s, "type of D");
  s = specOf(cases[4]);
  s.transposeB = true;
  rejected(s, "transposed");
  s = specOf(cases[0]);
  s.b = MmaType::BF16;
  rejected(s, "A and B");
}

} // namespace
