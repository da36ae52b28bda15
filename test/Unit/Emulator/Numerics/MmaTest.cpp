//===- MmaTest.cpp - mma.sync against exact sums --------------------------===//
//
// Operands are small integers (times powers of two), so that every partial sum
// is exact in any order and the expected result is an integer sum.
//
//===----------------------------------------------------------------------===//

#include "MmaFragments.h"

using namespace kvq::emu::num;
using namespace kvq::emu::num::test;

namespace {

TEST(Mma, ExactDataInEveryShape) {
  using T = MmaType;
  std::vector<MmaSpec> all = {spec(16, 8, T::F16, T::F16, T::F32),
                              spec(16, 16, T::F16, T::F16, T::F32),
                              spec(16, 8, T::F16, T::F16, T::F16),
                              spec(16, 16, T::F16, T::F16, T::F16),
                              spec(16, 8, T::BF16, T::BF16, T::F32),
                              spec(16, 16, T::BF16, T::BF16, T::F32),
                              spec(16, 4, T::TF32, T::TF32, T::F32),
                              spec(16, 8, T::TF32, T::TF32, T::F32),
                              spec(8, 4, T::F64, T::F64, T::F64),
                              spec(16, 4, T::F64, T::F64, T::F64),
                              spec(16, 8, T::F64, T::F64, T::F64),
                              spec(16, 16, T::F64, T::F64, T::F64),
                              spec(16, 16, T::E4M3, T::E5M2, T::F32),
                              spec(16, 32, T::E4M3, T::E4M3, T::F32),
                              spec(16, 32, T::E5M2, T::E4M3, T::F16),
                              spec(8, 16, T::S8, T::U8, T::S32),
                              spec(16, 16, T::U8, T::U8, T::S32),
                              spec(16, 32, T::S8, T::S8, T::S32),
                              spec(8, 32, T::S4, T::U4, T::S32),
                              spec(16, 32, T::U4, T::S4, T::S32),
                              spec(16, 64, T::S4, T::S4, T::S32)};
  for (T x : {T::E4M3, T::E5M2, T::E2M3, T::E3M2, T::E2M1})
    for (T y : {T::E4M3, T::E2M3, T::E2M1}) {
      MmaSpec s = spec(16, 32, x, y, T::F32);
      s.byteContainers = true;
      all.push_back(s);
    }
  std::mt19937 rng(3);
  for (const MmaSpec &s : all)
    for (unsigned round = 0; round != 4; ++round) {
      Warp w(s);
      auto value = [&](T t) -> double {
        switch (t) {
        case T::U8:
          return rng() % 256;
        case T::S8:
          return int(rng() % 256) - 128;
        case T::U4:
          return rng() % 16;
        case T::S4:
          return int(rng() % 16) - 8;
        case T::S32:
        case T::F64:
          return int(rng() % 20001) - 10000;
        case T::E2M1: {
          // 6, 4, 3, 2, 1.5, ... : every code.
          static const double all[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
          return all[rng() % 8] * (rng() % 2 ? -1 : 1);
        }
        default:
          return int(rng() % 9) - 4;
        }
      };
      for (double &v : w.a)
        v = value(s.a);
      for (double &v : w.b)
        v = value(s.b);
      for (double &v : w.c)
        v = value(s.c);
      w.load();
      w.run();
      for (unsigned m = 0; m != s.m; ++m)
        for (unsigned n = 0; n != s.n; ++n)
          ASSERT_EQ(w.d[m * s.n + n], w.exact(m, n))
              << s.m << " " << s.k << " " << int(s.a) << " " << int(s.b);
    }
}

/// Four products by quad pairs: lanes 4q..4q+3 and 16+4q..16+4q+3.
TEST(Mma, QuadPairs) {
  for (bool aCol : {false, true})
    for (bool bRow : {false, true})
      for (MmaType acc : {MmaType::F16, MmaType::F32}) {
        MmaSpec s = spec(8, 4, MmaType::F16, MmaType::F16, acc);
        s.aCol = aCol;
        s.bRow = bRow;
        ASSERT_FALSE(bool(checkMma(s)));
        ASSERT_EQ(mmaRegisters(s, MmaOperand::A), 2u);
        ASSERT_EQ(mmaRegisters(s, MmaOperand::C),
                  acc == MmaType::F16 ? 4u : 8u);
        std::mt19937 rng(17);
        double a[4][8][4], b[4][4][8], c[4][8][8];
        for (auto &x : a)
          for (auto &y : x)
            for (double &v : y)
              v = int(rng() % 9) - 4;
        for (auto &x : b)
          for (auto &y : x)
            for (double &v : y)
              v = int(rng() % 9) - 4;
        for (auto &x : c)
          for (auto &y : x)
            for (double &v : y)
              v = int(rng() % 99) - 49;
        unsigned regsC = mmaRegisters(s, MmaOperand::C);
        unsigned wc = acc == MmaType::F16 ? 16 : 32;
        std::vector<uint32_t> ra(64), rb(64), rc(32 * regsC), rd(32 * regsC);
        auto cAt = [&](unsigned lane, unsigned i) {
          unsigned up = lane < 16 ? 0 : 4;
          if (acc == MmaType::F16)
            return RC{lane % 4 + up, i};
          return RC{(lane & 1) + (i & 2) + up, (i & 4) + (lane & 2) + (i & 1)};
        };
        for (unsigned lane = 0; lane != 32; ++lane) {
          unsigned q = lane / 4 % 4, up = lane < 16 ? 0 : 4, t = lane % 4;
          for (unsigned i = 0; i != 4; ++i) {
            put(ra, 2, lane, 16, i,
                codeOf(MmaType::F16, aCol ? a[q][i + up][t] : a[q][t + up][i],
                       false));
            put(rb, 2, lane, 16, i,
                codeOf(MmaType::F16, bRow ? b[q][t][i + up] : b[q][i][t + up],
                       false));
          }
          for (unsigned i = 0; i != 8; ++i) {
            RC at = cAt(lane, i);
            put(rc, regsC, lane, wc, i,
                codeOf(acc, c[q][at.row][at.col], false));
          }
        }
        executeMma(s, ra.data(), rb.data(), rc.data(), rd.data());
        for (unsigned lane = 0; lane != 32; ++lane)
          for (unsigned i = 0; i != 8; ++i) {
            unsigned q = lane / 4 % 4;
            RC at = cAt(lane, i);
            double want = c[q][at.row][at.col];
            for (unsigned k = 0; k != 4; ++k)
              want += a[q][at.row][k] * b[q][k][at.col];
            EXPECT_EQ(get(rd, regsC, lane, wc, i), codeOf(acc, want, false));
          }
      }
}

TEST(Mma, IntegerOverflow) {
  MmaSpec s = spec(16, 32, MmaType::S8, MmaType::S8, MmaType::S32);
  for (bool sat : {false, true}) {
    s.satfinite = sat;
    Warp w(s);
    for (unsigned i = 0; i != w.a.size(); ++i)
      w.a[i] = 100;
    for (unsigned i = 0; i != w.b.size(); ++i)
      w.b[i] = i % 8 % 2 ? 100 : -100;
    for (unsigned i = 0; i != w.c.size(); ++i)
      w.c[i] = i % 2 ? 2147483000.0 : -2147483000.0;
    w.load();
    w.run();
    for (unsigned i = 0; i != w.d.size(); ++i) {
      int64_t sum = int64_t(w.exact(i / 8, i % 8));
      EXPECT_EQ(w.d[i], sat ? (sum > 0 ? 2147483647.0 : -2147483648.0)
                            : double(int32_t(uint32_t(sum))));
    }
  }
}

TEST(Mma, SingleBits) {
  for (auto [m, k] :
       {std::pair(8u, 128u), std::pair(16u, 128u), std::pair(16u, 256u)})
    for (bool bitAnd : {false, true}) {
      MmaSpec s = spec(m, k, MmaType::B1, MmaType::B1, MmaType::S32);
      s.bitAnd = bitAnd;
      ASSERT_FALSE(bool(checkMma(s)));
      unsigned na = mmaRegisters(s, MmaOperand::A),
               nb = mmaRegisters(s, MmaOperand::B),
               nc = mmaRegisters(s, MmaOperand::C);
      std::mt19937 rng(k + m);
      std::vector<uint32_t> a(32 * na), b(32 * nb), c(32 * nc), d(32 * nc);
      for (auto *v : {&a, &b, &c})
        for (uint32_t &x : *v)
          x = rng();
      std::vector<std::vector<int>> A(m, std::vector<int>(k)),
          B(k, std::vector<int>(8));
      for (unsigned lane = 0; lane != 32; ++lane) {
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i != 32 * na; ++i) {
          unsigned reg = i / 32;
          unsigned row = m == 16 && reg % 2 ? g + 8 : g;
          unsigned col = t * 32 + i % 32 + (m == 16 && reg >= 2 ? 128 : 0);
          A[row][col] = a[lane * na + reg] >> (i % 32) & 1;
        }
        for (unsigned i = 0; i != 32 * nb; ++i)
          B[t * 32 + i % 32 + (i >= 32 ? 128 : 0)][g] =
              b[lane * nb + i / 32] >> (i % 32) & 1;
      }
      executeMma(s, a.data(), b.data(), c.data(), d.data());
      for (unsigned lane = 0; lane != 32; ++lane)
        for (unsigned i = 0; i != nc; ++i) {
          RC at = accumulator()(lane / 4, lane % 4, i);
          uint32_t want = c[lane * nc + i];
          for (unsigned x = 0; x != k; ++x)
            want += bitAnd ? A[at.row][x] & B[x][at.col]
                           : A[at.row][x] ^ B[x][at.col];
          EXPECT_EQ(d[lane * nc + i], want);
        }
    }
}

TEST(Mma, BlockScales) {
  struct {
    unsigned k, vec;
    Format scale;
    MmaType a, b;
  } cases[] = {
      {64, 2, Format::UE8M0, MmaType::E2M1, MmaType::E2M1},
      {64, 4, Format::UE8M0, MmaType::E2M1, MmaType::E2M1},
      {64, 4, Format::UE4M3, MmaType::E2M1, MmaType::E2M1},
      {32, 1, Format::UE8M0, MmaType::E4M3, MmaType::E2M1},
      {32, 1, Format::UE8M0, MmaType::E3M2, MmaType::E5M2},
  };
  for (auto &t : cases)
    for (unsigned aThread : {0u, 1u})
      for (unsigned bThread : {0u, 3u}) {
        MmaSpec s = spec(16, t.k, t.a, t.b, MmaType::F32);
        s.scaleVec = t.vec;
        s.scaleFormat = t.scale;
        s.byteContainers = t.k == 32;
        Warp w(s);
        std::mt19937 rng(t.vec + aThread);
        const double small[] = {0, .5, 1, 1.5, 2, 3};
        for (double &v : w.a)
          v = small[rng() % 6] * (rng() % 2 ? -1 : 1);
        for (double &v : w.b)
          v = small[rng() % 6] * (rng() % 2 ? -1 : 1);
        for (double &v : w.c)
          v = int(rng() % 100);
        w.load();
        unsigned byte = t.vec == 1 ? 3 : t.vec == 2 ? 2 : 0;
        std::vector<uint32_t> sa(32), sb(32);
        for (auto *v : {&sa, &sb})
          for (uint32_t &x : *v) {
            x = 0;
            for (unsigned j = 0; j != 4; ++j)
              // Powers of two near one, or 1 to 3.75 with mantissa bits.
              x |= (t.scale == Format::UE8M0 ? 124 + rng() % 7
                                             : 0x38 + rng() % 16)
                   << (8 * j);
          }
        MmaScales scales;
        scales.aData = sa.data();
        scales.bData = sb.data();
        scales.aByte = scales.bByte = byte;
        scales.aThread = aThread;
        scales.bThread = bThread;
        w.run(&scales);
        auto scaleOf = [&](uint32_t word, unsigned chunk) {
          unsigned code = word >> (8 * (byte + chunk)) & 0xff;
          return t.scale == Format::UE8M0
                     ? std::ldexp(1.0, int(code) - 127)
                     : ap(Format::E4M3, code).convertToDouble();
        };
        for (unsigned m = 0; m != 16; ++m)
          for (unsigned n = 0; n != 8; ++n) {
            double want = w.c[m * 8 + n];
            for (unsigned k = 0; k != t.k; ++k) {
              unsigned chunk = k / (t.k / t.vec);
              // Lane pair 2 aThread of quad m % 8: rows m and m + 8.
              double x = scaleOf(sa[m % 8 * 4 + 2 * aThread + m / 8], chunk);
              double y = scaleOf(sb[n * 4 + bThread], chunk);
              want += w.a[m * t.k + k] * x * (w.b[k * 8 + n] * y);
            }
            ASSERT_EQ(w.d[m * 8 + n], double(float(want)))
                << t.k << " " << t.vec << " " << m << " " << n;
          }
      }
}

} // namespace
