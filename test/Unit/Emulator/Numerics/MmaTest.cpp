//===- MmaTest.cpp - mma.sync against exact sums --------------------------===//
//
// Operands are small integers (times powers of two), so that every partial sum
// is exact in any order and the expected result is an integer sum. Where an
// element lies is written here per shape from the formulas of the PTX document.
//
//===----------------------------------------------------------------------===//

#include "NumericsTestUtil.h"
#include "kvq/Emulator/Numerics/MatrixMultiply.h"
#include <functional>
#ifdef __x86_64__
#include <immintrin.h>
#endif

using namespace kvq::emu::num;
using namespace kvq::emu::num::test;

namespace {

struct RC {
  unsigned row, col;
};
using Layout = std::function<RC(unsigned g, unsigned t, unsigned i)>;

/// The document's fragment formulas; g = laneid / 4, t = laneid % 4.
struct Layouts {
  Layout a, b, c;
};

Layout accumulator() {
  return [](unsigned g, unsigned t, unsigned i) {
    return RC{g + (i < 2 ? 0u : 8u), 2 * t + (i & 1)};
  };
}

/// 16-bit m16n8k8, m16n8k16; 8-bit k16, k32; 4-bit k32, k64, by name.
Layouts layouts(unsigned m, unsigned k, unsigned bits) {
  Layouts l;
  l.c = accumulator();
  if (m == 8) {
    unsigned per = bits == 64 ? 1 : 32 / bits;
    l.a = [=](unsigned g, unsigned t, unsigned i) {
      return RC{g, t * per + i};
    };
    l.b = [=](unsigned g, unsigned t, unsigned i) {
      return RC{t * per + i, g};
    };
    return l;
  }
  if (bits == 16 && k == 8) {
    l.a = [](unsigned g, unsigned t, unsigned i) {
      return RC{i < 2 ? g : g + 8, 2 * t + (i & 1)};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) { return RC{2 * t + i, g}; };
  } else if (bits == 16) {
    l.a = [](unsigned g, unsigned t, unsigned i) {
      bool low = i < 2 || (i >= 4 && i < 6);
      return RC{low ? g : g + 8, 2 * t + (i & 1) + (i >= 4 ? 8 : 0)};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) {
      return RC{2 * t + (i & 1) + (i >= 2 ? 8 : 0), g};
    };
  } else if (bits == 8 && k == 16) {
    l.a = [](unsigned g, unsigned t, unsigned i) {
      return RC{i < 4 ? g : g + 8, 4 * t + (i & 3)};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) { return RC{4 * t + i, g}; };
  } else if (bits == 8) {
    l.a = [](unsigned g, unsigned t, unsigned i) {
      bool low = i < 4 || (i >= 8 && i < 12);
      return RC{low ? g : g + 8, 4 * t + (i & 3) + (i >= 8 ? 16 : 0)};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) {
      return RC{4 * t + (i & 3) + (i >= 4 ? 16 : 0), g};
    };
  } else if (bits == 4 && k == 32) {
    l.a = [](unsigned g, unsigned t, unsigned i) {
      return RC{i < 8 ? g : g + 8, 8 * t + (i & 7)};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) { return RC{8 * t + i, g}; };
  } else if (bits == 4) {
    l.a = [](unsigned g, unsigned t, unsigned i) {
      bool low = i < 8 || (i >= 16 && i < 24);
      return RC{low ? g : g + 8, 8 * t + (i & 7) + (i >= 16 ? 32 : 0)};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) {
      return RC{8 * t + (i & 7) + (i >= 8 ? 32 : 0), g};
    };
  } else if (bits == 32) { // tf32
    l.a = [](unsigned g, unsigned t, unsigned i) {
      return RC{i % 2 ? g + 8 : g, i < 2 ? t : t + 4};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) {
      return RC{i ? t + 4 : t, g};
    };
  } else { // f64
    l.a = [](unsigned g, unsigned t, unsigned i) {
      return i % 2 ? RC{g + 8, 2 * i - 2 + t} : RC{g, 2 * i + t};
    };
    l.b = [](unsigned g, unsigned t, unsigned i) { return RC{t + 4 * i, g}; };
  }
  return l;
}

unsigned widthOf(MmaType t, bool bytes) {
  switch (t) {
  case MmaType::F64:
    return 64;
  case MmaType::F32:
  case MmaType::TF32:
  case MmaType::S32:
    return 32;
  case MmaType::F16:
  case MmaType::BF16:
    return 16;
  case MmaType::S4:
  case MmaType::U4:
    return 4;
  case MmaType::E2M1:
    return bytes ? 8 : 4;
  default:
    return 8;
  }
}

/// The code of a value in a type, through APFloat.
uint64_t codeOf(MmaType t, double v, bool bytes) {
  auto viaAP = [&](const llvm::fltSemantics &s) {
    llvm::APFloat x(v);
    bool lost;
    x.convert(s, llvm::RoundingMode::NearestTiesToEven, &lost);
    EXPECT_FALSE(lost) << v;
    return x.bitcastToAPInt().getZExtValue();
  };
  using llvm::APFloat;
  switch (t) {
  case MmaType::F64:
    return bits(v);
  case MmaType::F32:
  case MmaType::TF32:
    return viaAP(APFloat::IEEEsingle());
  case MmaType::F16:
    return viaAP(APFloat::IEEEhalf());
  case MmaType::BF16:
    return viaAP(APFloat::BFloat());
  case MmaType::E4M3:
    return viaAP(APFloat::Float8E4M3FN());
  case MmaType::E5M2:
    return viaAP(APFloat::Float8E5M2());
  case MmaType::E2M3:
    return viaAP(APFloat::Float6E2M3FN());
  case MmaType::E3M2:
    return viaAP(APFloat::Float6E3M2FN());
  case MmaType::E2M1:
    return viaAP(APFloat::Float4E2M1FN()) << (bytes ? 2 : 0);
  default:
    return uint64_t(int64_t(v));
  }
}

void put(std::vector<uint32_t> &regs, unsigned perLane, unsigned lane,
         unsigned width, unsigned i, uint64_t code) {
  if (width == 64) {
    regs[lane * perLane + 2 * i] = uint32_t(code);
    regs[lane * perLane + 2 * i + 1] = uint32_t(code >> 32);
    return;
  }
  uint64_t mask = (uint64_t(1) << width) - 1;
  unsigned bit = i * width;
  uint32_t &word = regs[lane * perLane + bit / 32];
  word = uint32_t((word & ~(mask << bit % 32)) | (code & mask) << bit % 32);
}

uint64_t get(const std::vector<uint32_t> &regs, unsigned perLane, unsigned lane,
             unsigned width, unsigned i) {
  if (width == 64)
    return regs[lane * perLane + 2 * i] |
           uint64_t(regs[lane * perLane + 2 * i + 1]) << 32;
  uint64_t mask = (uint64_t(1) << width) - 1;
  unsigned bit = i * width;
  return regs[lane * perLane + bit / 32] >> bit % 32 & mask;
}

MmaSpec spec(unsigned m, unsigned k, MmaType a, MmaType b, MmaType c) {
  MmaSpec s;
  s.m = m;
  s.n = 8;
  s.k = k;
  s.a = a;
  s.b = b;
  s.c = s.d = c;
  return s;
}

/// Fills a warp's fragments from matrices, runs, and reads the result back.
struct Warp {
  MmaSpec s;
  std::vector<double> a, b, c, d;
  std::vector<uint32_t> ra, rb, rc, rd;
  unsigned wa, wb, wc;
  Layouts la, lb;

  explicit Warp(const MmaSpec &spec) : s(spec) {
    a.resize(s.m * s.k);
    b.resize(s.k * s.n);
    c.resize(s.m * s.n);
    d.resize(s.m * s.n);
    wa = widthOf(s.a, s.byteContainers);
    wb = widthOf(s.b, s.byteContainers);
    wc = widthOf(s.c, false);
    la = layouts(s.m, s.k, wa);
    lb = layouts(s.m, s.k, wb);
  }

  void load() {
    auto fill = [&](MmaOperand o, unsigned width, MmaType type,
                    const std::vector<double> &values, unsigned columns,
                    const Layout &layout, std::vector<uint32_t> &regs) {
      unsigned perLane = mmaRegisters(s, o);
      regs.assign(32 * perLane, 0);
      for (unsigned lane = 0; lane != 32; ++lane)
        for (unsigned i = 0; i != perLane * 32 / width; ++i) {
          RC at = layout(lane / 4, lane % 4, i);
          put(regs, perLane, lane, width, i,
              codeOf(type, values[at.row * columns + at.col],
                     s.byteContainers));
          MatrixCoord mine = mmaCoord(s, o, lane, i);
          EXPECT_EQ(mine.row, at.row);
          EXPECT_EQ(mine.col, at.col);
        }
    };
    fill(MmaOperand::A, wa, s.a, a, s.k, la.a, ra);
    fill(MmaOperand::B, wb, s.b, b, s.n, lb.b, rb);
    fill(MmaOperand::C, wc, s.c, c, s.n, la.c, rc);
  }

  void run(const MmaScales *scales = nullptr) {
    if (llvm::Error e = checkMma(s)) {
      ADD_FAILURE() << llvm::toString(std::move(e));
      return;
    }
    unsigned perLane = mmaRegisters(s, MmaOperand::D);
    rd.assign(32 * perLane, 0xdeadbeef);
    executeMma(s, ra.data(), rb.data(), rc.data(), rd.data(), scales);
    for (unsigned lane = 0; lane != 32; ++lane)
      for (unsigned i = 0; i != perLane * 32 / wc; ++i) {
        RC at = la.c(lane / 4, lane % 4, i);
        uint64_t code = get(rd, perLane, lane, wc, i);
        double v;
        if (s.d == MmaType::S32)
          v = int32_t(code);
        else if (s.d == MmaType::F64)
          std::memcpy(&v, &code, 8);
        else
          v = ap(s.d == MmaType::F16 ? Format::F16 : Format::F32, code)
                  .convertToDouble();
        d[at.row * s.n + at.col] = v;
      }
  }

  /// The exact product; entries are integers below 2^53.
  double exact(unsigned m, unsigned n) const {
    double sum = c[m * s.n + n];
    for (unsigned k = 0; k != s.k; ++k)
      sum += a[m * s.k + k] * b[k * s.n + n];
    return sum;
  }
};

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
