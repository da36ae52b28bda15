//===- MmaRoundingTest.cpp - Rounding and corners of mma.sync -------------===//

#include "MmaFragments.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

using namespace kvq::emu::num;
using namespace kvq::emu::num::test;

namespace {

/// The order and precision of the contract on data where they matter: a chain
/// in binary64 over increasing k, one rounding.
TEST(Mma, ContractOnInexactData) {
  for (MmaType acc : {MmaType::F32, MmaType::F16}) {
    MmaSpec s = spec(16, 16, MmaType::F16, MmaType::F16, acc);
    Warp w(s);
    std::mt19937 rng(29);
    auto half = [&](int spread) {
      return std::ldexp(double(1024 + rng() % 1024),
                        int(rng() % spread) - spread / 2 - 12) *
             (rng() % 2 ? -1 : 1);
    };
    for (double &v : w.a)
      v = half(12);
    for (double &v : w.b)
      v = half(12);
    for (double &v : w.c)
      v = half(20);
    w.load();
    w.run();
    for (unsigned m = 0; m != 16; ++m)
      for (unsigned n = 0; n != 8; ++n) {
        double sum = w.c[m * 8 + n];
        for (unsigned k = 0; k != 16; ++k)
          sum += w.a[m * 16 + k] * w.b[k * 8 + n];
        llvm::APFloat want(sum);
        bool lost;
        want.convert(acc == MmaType::F32 ? llvm::APFloat::IEEEsingle()
                                         : llvm::APFloat::IEEEhalf(),
                     llvm::RoundingMode::NearestTiesToEven, &lost);
        ASSERT_EQ(w.d[m * 8 + n], want.convertToDouble());
      }
  }
}

TEST(Mma, F64IsAChainOfFma) {
  MmaSpec s = spec(16, 8, MmaType::F64, MmaType::F64, MmaType::F64);
  for (Round r : directed) {
    s.round = r;
    Warp w(s);
    std::mt19937_64 rng(31);
    for (auto *v : {&w.a, &w.b, &w.c})
      for (double &x : *v)
        x = std::ldexp(double(int64_t(rng())), -60);
    w.load();
    w.run();
    for (unsigned m = 0; m != 16; ++m)
      for (unsigned n = 0; n != 8; ++n) {
        llvm::APFloat sum(w.c[m * 8 + n]);
        for (unsigned k = 0; k != 8; ++k) {
          llvm::APFloat x(w.a[m * 8 + k]);
          x.fusedMultiplyAdd(llvm::APFloat(w.b[k * 8 + n]), sum, apRound(r));
          sum = x;
        }
        ASSERT_EQ(bits(w.d[m * 8 + n]), apBits(sum));
      }
  }
}

TEST(Mma, NaNIsCanonicalAndSubnormalsCount) {
  MmaSpec s = spec(16, 8, MmaType::BF16, MmaType::BF16, MmaType::F32);
  Warp w(s);
  w.a[0] = INFINITY; // Row 0: inf * 0.
  w.a[8] = 0x1p-133; // Row 1: the least subnormal of bf16.
  w.b[1] = 0x1p+10;  // Column 1, k = 0.
  w.c[2 * 8] = 0x1p-149;
  w.load();
  w.run();
  unsigned lane0 = 0;
  EXPECT_EQ(get(w.rd, 4, lane0, 32, 0), 0x7fffffffu);
  EXPECT_EQ(w.d[8 + 1], 0x1p-123);
  EXPECT_EQ(w.d[2 * 8], 0x1p-149);
  EXPECT_EQ(w.d[1], INFINITY);
}

#ifdef __x86_64__
TEST(Mma, HostStateDoesNotMatter) {
  MmaSpec s = spec(16, 8, MmaType::BF16, MmaType::BF16, MmaType::F32);
  Warp w(s);
  std::mt19937 rng(37);
  for (auto *v : {&w.a, &w.b})
    for (double &x : *v)
      x = std::ldexp(double(128 + rng() % 128), -75 + int(rng() % 8));
  for (double &x : w.c)
    x = std::ldexp(double(rng() % 1024), -149);
  w.load();
  w.run();
  auto plain = w.rd;
  unsigned saved = _mm_getcsr();
  for (unsigned csr : {saved | 0x8040u, saved | 0x6000u}) {
    _mm_setcsr(csr);
    executeMma(s, w.ra.data(), w.rb.data(), w.rc.data(), w.rd.data());
    _mm_setcsr(saved);
    EXPECT_EQ(plain, w.rd);
  }
}
#endif

TEST(Mma, DestinationMayBeC) {
  MmaSpec s = spec(16, 16, MmaType::F16, MmaType::F16, MmaType::F16);
  Warp w(s);
  for (unsigned i = 0; i != w.a.size(); ++i)
    w.a[i] = i % 5;
  for (unsigned i = 0; i != w.b.size(); ++i)
    w.b[i] = i % 3;
  w.load();
  w.run();
  executeMma(s, w.ra.data(), w.rb.data(), w.rc.data(), w.rc.data());
  EXPECT_EQ(w.rc, w.rd);
}

TEST(Mma, IllegalForms) {
  auto rejected = [](const MmaSpec &s, const char *part) {
    std::string text = llvm::toString(checkMma(s));
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  using T = MmaType;
  rejected(spec(16, 32, T::F16, T::F16, T::F32), "k8 or k16");
  rejected(spec(16, 16, T::BF16, T::BF16, T::F16), "f32 accumulators");
  rejected(spec(16, 16, T::TF32, T::TF32, T::F32), "m16n8k8");
  rejected(spec(16, 32, T::E2M1, T::E4M3, T::F32), "kind::f8f6f4");
  rejected(spec(16, 64, T::S8, T::S8, T::S32), "m16n8k32");
  rejected(spec(16, 64, T::S4, T::S8, T::S32), "4-bit");
  MmaSpec s = spec(16, 64, T::E2M1, T::E2M1, T::F32);
  s.scaleVec = 2;
  s.scaleFormat = Format::UE4M3;
  rejected(s, "ue4m3 with 4X");
  MmaSpec f = spec(16, 16, T::F16, T::F16, T::F32);
  f.satfinite = true;
  rejected(f, "integers");
}

} // namespace
