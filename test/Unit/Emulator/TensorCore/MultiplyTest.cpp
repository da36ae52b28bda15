//===- MultiplyTest.cpp - The arithmetic of tcgen05.mma -------------------===//

#include "kvq/Emulator/TensorCore/Multiply.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>
#include <vector>

using namespace kvq::emu;
using namespace kvq::emu::tc;

namespace {

TEST(Multiply, ExactSumsWithSignsAndScales) {
  std::mt19937 rng(1);
  for (bool negateA : {false, true})
    for (bool negateB : {false, true})
      for (bool accumulate : {false, true}) {
        InstructionDescriptor i;
        i.kind = MmaKind::MXF4NVF4;
        i.a = i.b = MmaType::E2M1;
        i.k = 64;
        i.negateA = negateA;
        i.negateB = negateB;
        // Sizes that are no multiples of the blocks inside.
        unsigned M = 6, N = 12, K = 64;
        std::vector<double> a(M * K), b(K * N), acc(M * N), sa(M * 4),
            sb(N * 4);
        for (auto *v : {&a, &b})
          for (double &x : *v)
            x = int(rng() % 13) - 6;
        for (double &x : acc)
          x = int(rng() % 1000);
        for (auto *v : {&sa, &sb})
          for (double &x : *v)
            x = 1 + rng() % 15 / 8.0;
        auto a0 = a, b0 = b, want = acc;
        for (unsigned m = 0; m != M; ++m)
          for (unsigned n = 0; n != N; ++n) {
            double sum = 0;
            for (unsigned k = 0; k != K; ++k)
              sum += a0[m * K + k] * sa[m * 4 + k / 16] * b0[k * N + n] *
                     sb[n * 4 + k / 16];
            if (negateA != negateB)
              sum = -sum;
            want[m * N + n] = sum + (accumulate ? want[m * N + n] / 8 : 0);
          }
        applyScales(a.data(), M, K, K, 1, sa.data(), 4);
        applyScales(b.data(), N, K, 1, N, sb.data(), 4);
        multiply(i, M, N, a.data(), b.data(), acc.data(), accumulate, 3);
        EXPECT_EQ(acc, want);
      }
}

/// What was in D does not matter without accumulation, NaN included.
TEST(Multiply, IgnoresTheAccumulator) {
  InstructionDescriptor i;
  i.k = 16;
  std::vector<double> a(4 * 16, 1), b(16 * 8, 2), acc(4 * 8, NAN);
  multiply(i, 4, 8, a.data(), b.data(), acc.data(), false);
  for (double v : acc)
    EXPECT_EQ(v, 32);
}

TEST(Multiply, Cells) {
  EXPECT_EQ(encodeAccumulator(MmaType::F32, 1.5, false), 0x3fc00000u);
  EXPECT_EQ(encodeAccumulator(MmaType::F32, 1 + 0x1p-24, false), 0x3f800000u);
  EXPECT_EQ(encodeAccumulator(MmaType::F32, NAN, false), 0x7fffffffu);
  EXPECT_EQ(encodeAccumulator(MmaType::F16, 1.5, false), 0x00003e00u);
  EXPECT_EQ(encodeAccumulator(MmaType::F16, 1e9, false), 0x00007c00u);
  EXPECT_EQ(encodeAccumulator(MmaType::S32, -5, false), 0xfffffffbu);
  EXPECT_EQ(encodeAccumulator(MmaType::S32, 2147483650.0, false), 0x80000002u);
  EXPECT_EQ(encodeAccumulator(MmaType::S32, 2147483650.0, true), 0x7fffffffu);
  EXPECT_EQ(encodeAccumulator(MmaType::S32, -2147483650.0, true), 0x80000000u);
  EXPECT_EQ(decodeAccumulator(MmaType::F16, 0xabcd3e00), 1.5);
  EXPECT_EQ(decodeAccumulator(MmaType::F32, 0x3fc00000), 1.5);
  EXPECT_EQ(decodeAccumulator(MmaType::S32, 0xfffffffb), -5);
}

} // namespace
