//===- MmaFragments.h - Matrices in the registers of a warp ---------------===//
//
// Where an element of mma.sync lies is written here per shape from the formulas
// of the PTX document.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TEST_UNIT_EMULATOR_NUMERICS_MMAFRAGMENTS_H
#define KVQ_TEST_UNIT_EMULATOR_NUMERICS_MMAFRAGMENTS_H

#include "NumericsTestUtil.h"
#include "kvq/Emulator/Numerics/MatrixMultiply.h"
#include <functional>

namespace kvq::emu::num::test {

struct RC {
  unsigned row, col;
};
using Layout = std::function<RC(unsigned g, unsigned t, unsigned i)>;

/// The document's fragment formulas; g = laneid / 4, t = laneid % 4.
struct Layouts {
  Layout a, b, c;
};

inline Layout accumulator() {
  return [](unsigned g, unsigned t, unsigned i) {
    return RC{g + (i < 2 ? 0u : 8u), 2 * t + (i & 1)};
  };
}

/// 16-bit m16n8k8, m16n8k16; 8-bit k16, k32; 4-bit k32, k64, by name.
inline Layouts layouts(unsigned m, unsigned k, unsigned bits) {
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

inline unsigned widthOf(MmaType t, bool bytes) {
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
inline uint64_t codeOf(MmaType t, double v, bool bytes) {
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

inline void put(std::vector<uint32_t> &regs, unsigned perLane, unsigned lane,
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

inline uint64_t get(const std::vector<uint32_t> &regs, unsigned perLane,
                    unsigned lane, unsigned width, unsigned i) {
  if (width == 64)
    return regs[lane * perLane + 2 * i] |
           uint64_t(regs[lane * perLane + 2 * i + 1]) << 32;
  uint64_t mask = (uint64_t(1) << width) - 1;
  unsigned bit = i * width;
  return regs[lane * perLane + bit / 32] >> bit % 32 & mask;
}

inline MmaSpec spec(unsigned m, unsigned k, MmaType a, MmaType b, MmaType c) {
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

} // namespace kvq::emu::num::test

#endif // KVQ_TEST_UNIT_EMULATOR_NUMERICS_MMAFRAGMENTS_H
