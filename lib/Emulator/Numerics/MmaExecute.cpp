//===- MmaExecute.cpp - Execution of mma.sync and wmma.mma ----------------===//

#include "ArithDetail.h"
#include "MmaDetail.h"
#include "kvq/Emulator/Numerics/MatrixMultiply.h"
#include <array>
#include <memory>

using namespace kvq::emu::num;

namespace {

constexpr unsigned warpSize = 32;

Format formatOf(MmaType t) {
  switch (t) {
  case MmaType::F64:
    return Format::F64;
  case MmaType::TF32:
    return Format::TF32;
  case MmaType::F16:
    return Format::F16;
  case MmaType::BF16:
    return Format::BF16;
  case MmaType::E4M3:
    return Format::E4M3;
  case MmaType::E5M2:
    return Format::E5M2;
  case MmaType::E2M3:
    return Format::E2M3;
  case MmaType::E3M2:
    return Format::E3M2;
  case MmaType::E2M1:
    return Format::E2M1;
  default:
    return Format::F32;
  }
}

/// Element `index` of a lane's fragment, of at most 16 bits.
uint32_t element(const uint32_t *regs, unsigned bits, unsigned index) {
  unsigned perReg = 32 / bits;
  return (regs[index / perReg] >> (bits * (index % perReg))) &
         ((1u << bits) - 1);
}

void setHalf(uint32_t *regs, unsigned index, uint16_t value) {
  uint32_t &word = regs[index / 2];
  unsigned shift = 16 * (index % 2);
  word = (word & ~(0xffffu << shift)) | static_cast<uint32_t>(value) << shift;
}

/// Where every element of the operands lies. A kernel repeats few kinds of mma
/// many times, so the last ones are kept per thread.
struct Placement {
  MmaSpec spec;
  unsigned bitsA, bitsB, bitsC, bitsD;
  unsigned regsA, regsB, regsC, regsD;
  unsigned countA, countB, countC, countD;
  std::array<uint16_t, 2048> a; ///< lane * count + i -> row * k + col.
  std::array<uint16_t, 1024> b; ///< lane * count + i -> row * n + col.
  std::array<uint16_t, 256> c, d;
};

bool samePlacement(const MmaSpec &x, const MmaSpec &y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.wmma == y.wmma &&
         x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d &&
         x.aCol == y.aCol && x.bRow == y.bRow &&
         x.byteContainers == y.byteContainers;
}

void place(Placement &p, const MmaSpec &s) {
  p.spec = s;
  auto fill = [&](MmaOperand o, MmaType t, unsigned &bits, unsigned &regs,
                  unsigned &count, uint16_t *table, unsigned columns) {
    bits = containerBits(s, t);
    regs = mmaRegisters(s, o);
    count = regs * 32 / bits;
    for (unsigned lane = 0; lane != warpSize; ++lane)
      for (unsigned i = 0; i != count; ++i) {
        MatrixCoord at = mmaCoord(s, o, lane, i);
        table[lane * count + i] =
            static_cast<uint16_t>(at.row * columns + at.col);
      }
  };
  fill(MmaOperand::A, s.a, p.bitsA, p.regsA, p.countA, p.a.data(), s.k);
  fill(MmaOperand::B, s.b, p.bitsB, p.regsB, p.countB, p.b.data(), s.n);
  fill(MmaOperand::C, s.c, p.bitsC, p.regsC, p.countC, p.c.data(), s.n);
  fill(MmaOperand::D, s.d, p.bitsD, p.regsD, p.countD, p.d.data(), s.n);
}

const Placement &placement(const MmaSpec &s) {
  constexpr unsigned ways = 4;
  // On the heap: a library that is loaded late has little static storage for
  // each thread.
  static thread_local std::unique_ptr<Placement[]> cache;
  static thread_local unsigned used = 0, next = 0;
  if (!cache)
    cache = std::make_unique<Placement[]>(ways);
  for (unsigned i = 0; i != used; ++i)
    if (samePlacement(cache[i].spec, s))
      return cache[i];
  unsigned slot = next;
  next = (next + 1) % ways;
  used = used < ways ? used + 1 : used;
  place(cache[slot], s);
  return cache[slot];
}

/// Lanes [first, first + 4) and, for a quad pair, [first + 16, first + 20).
bool inProduct(bool quads, unsigned lane, unsigned quadPair) {
  return !quads || (lane / 4) % 4 == quadPair;
}

void decodeFragment(const Placement &p, bool isA, MmaType type,
                    const uint32_t *regs, unsigned quadPair, double *out) {
  bool quads = isQuadPair(p.spec);
  unsigned bits = isA ? p.bitsA : p.bitsB;
  unsigned words = isA ? p.regsA : p.regsB;
  unsigned count = isA ? p.countA : p.countB;
  const uint16_t *table = isA ? p.a.data() : p.b.data();
  Format f = formatOf(type);
  // E2M1 in a byte sits in bits [5:2].
  bool shifted = type == MmaType::E2M1 && bits == 8;
  for (unsigned lane = 0; lane != warpSize; ++lane) {
    if (!inProduct(quads, lane, quadPair))
      continue;
    const uint32_t *r = regs + lane * words;
    const uint16_t *at = table + lane * count;
    double values[64];
    if (shifted) {
      for (unsigned i = 0; i != count; ++i)
        values[i] = toDouble(f, (element(r, bits, i) >> 2) & 0xf);
    } else {
      decodeElements(f, r, bits, count, values);
    }
    for (unsigned i = 0; i != count; ++i)
      out[at[i]] = values[i];
  }
}

/// Multiplies rows of A and columns of B with their block scales.
void applyScales(const MmaSpec &s, const MmaScales &scales, double *a,
                 double *b) {
  unsigned chunk = s.k / s.scaleVec;
  for (unsigned m = 0; m != s.m; ++m) {
    // One lane of the selected pair has rows 0..7, the other rows 8..15.
    uint32_t word = scales.aData[(m % 8) * 4 + 2 * scales.aThread + m / 8];
    for (unsigned k = 0; k != s.k; ++k)
      a[m * s.k + k] *= toDouble(
          s.scaleFormat, (word >> (8 * (scales.aByte + k / chunk))) & 0xff);
  }
  for (unsigned n = 0; n != s.n; ++n) {
    uint32_t word = scales.bData[n * 4 + scales.bThread];
    for (unsigned k = 0; k != s.k; ++k)
      b[k * s.n + n] *= toDouble(
          s.scaleFormat, (word >> (8 * (scales.bByte + k / chunk))) & 0xff);
  }
}

void executeFloat(const MmaSpec &s, const uint32_t *a, const uint32_t *b,
                  const uint32_t *c, uint32_t *d, const MmaScales *scales) {
  const Placement &p = placement(s);
  bool quads = isQuadPair(s);
  alignas(64) double x[16 * 64], y[64 * 8], acc[16 * 16];
  for (unsigned q = 0; q != (quads ? 4u : 1u); ++q) {
    decodeFragment(p, true, s.a, a, q, x);
    decodeFragment(p, false, s.b, b, q, y);
    if (s.scaleVec)
      applyScales(s, *scales, x, y);
    for (unsigned lane = 0; lane != warpSize; ++lane)
      if (inProduct(quads, lane, q))
        for (unsigned i = 0; i != p.countC; ++i) {
          const uint32_t *r = c + lane * p.regsC;
          acc[p.c[lane * p.countC + i]] = s.c == MmaType::F16
                                              ? f16ToDouble(element(r, 16, i))
                                              : asFloat(r[i]);
        }
    multiplyAccumulate(acc, s.n, x, y, s.n, s.m, s.n, s.k);
    for (unsigned lane = 0; lane != warpSize; ++lane)
      if (inProduct(quads, lane, q))
        for (unsigned i = 0; i != p.countD; ++i) {
          double v = acc[p.d[lane * p.countD + i]];
          uint32_t *r = d + lane * p.regsD;
          if (s.d == MmaType::F16)
            setHalf(r, i, roundAccumulatorF16(v));
          else
            r[i] = v == v ? bitsOf(static_cast<float>(v)) : 0x7fffffff;
        }
  }
}

#ifdef __x86_64__
/// acc = fma(x[k], y[k], acc) over increasing k, to nearest by the host. A NaN
/// result may have another payload than fma.f64 gives it.
__attribute__((noinline, target("fma"))) double
chainFMA(const double *x, const double *y, unsigned strideY, unsigned k,
         double acc) {
  for (unsigned i = 0; i != k; ++i)
    acc = __builtin_fma(x[i], y[i * strideY], acc);
  return acc;
}
#endif

void executeF64(const MmaSpec &s, const uint32_t *a, const uint32_t *b,
                const uint32_t *c, uint32_t *d) {
  const Placement &p = placement(s);
  double x[16 * 16], y[16 * 8], acc[16 * 8];
  auto gather = [](const uint32_t *regs, unsigned count, const uint16_t *at,
                   double *out) {
    for (unsigned i = 0; i != count; ++i)
      std::memcpy(&out[at[i]], regs + 2 * i, 8);
  };
  for (unsigned lane = 0; lane != warpSize; ++lane) {
    gather(a + lane * p.regsA, p.countA, p.a.data() + lane * p.countA, x);
    gather(b + lane * p.regsB, p.countB, p.b.data() + lane * p.countB, y);
    gather(c + lane * p.regsC, p.countC, p.c.data() + lane * p.countC, acc);
  }
  HostFPScope scope;
  FpMode mode;
  mode.round = s.round;
  TernaryFn fma = findTernary(FOp::Fma, FType::F64, mode);
  bool fast = false;
#ifdef __x86_64__
  static const bool hasFMA = __builtin_cpu_supports("fma");
  fast = hasFMA && s.round == Round::RN;
#endif
  for (unsigned m = 0; m != s.m; ++m)
    for (unsigned n = 0; n != s.n; ++n) {
      double &out = acc[m * s.n + n];
#ifdef __x86_64__
      if (fast) {
        double r = chainFMA(x + m * s.k, y + n, s.n, s.k, out);
        if (r == r) {
          out = r;
          continue;
        }
      }
#endif
      uint64_t sum = bitsOf(out);
      for (unsigned k = 0; k != s.k; ++k)
        sum = fma(bitsOf(x[m * s.k + k]), bitsOf(y[k * s.n + n]), sum, mode);
      out = asDouble(sum);
    }
  for (unsigned lane = 0; lane != warpSize; ++lane)
    for (unsigned i = 0; i != p.countD; ++i)
      std::memcpy(d + lane * p.regsD + 2 * i, &acc[p.d[lane * p.countD + i]],
                  8);
}

/// An element extended to 32 bits, two's complement.
uint32_t integerElement(MmaType t, uint64_t bits) {
  switch (t) {
  case MmaType::S8:
    return static_cast<uint32_t>(static_cast<int8_t>(bits));
  case MmaType::S4:
    return (static_cast<uint32_t>(bits) ^ 8) - 8;
  default:
    return static_cast<uint32_t>(bits);
  }
}

/// Elements of 4 or 8 bits, packed from the low bits of `words` on.
void decodeIntegers(MmaType t, const uint32_t *words, unsigned count,
                    const uint16_t *at, uint32_t *out) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(words);
  if (t == MmaType::S8 || t == MmaType::U8) {
    for (unsigned i = 0; i != count; ++i)
      out[at[i]] = integerElement(t, bytes[i]);
    return;
  }
  for (unsigned i = 0; i != count; ++i)
    out[at[i]] = integerElement(t, (bytes[i / 2] >> (4 * (i % 2))) & 0xf);
}

void executeInteger(const MmaSpec &s, const uint32_t *a, const uint32_t *b,
                    const uint32_t *c, uint32_t *d) {
  const Placement &p = placement(s);
  uint32_t x[16 * 64], y[64 * 8];
  for (unsigned lane = 0; lane != warpSize; ++lane) {
    decodeIntegers(s.a, a + lane * p.regsA, p.countA,
                   p.a.data() + lane * p.countA, x);
    decodeIntegers(s.b, b + lane * p.regsB, p.countB,
                   p.b.data() + lane * p.countB, y);
  }
  uint32_t sum[16 * 16] = {};
  multiplyIntegers(sum, s.n, x, y, s.n, s.m, s.n, s.k);
  for (unsigned lane = 0; lane != warpSize; ++lane)
    for (unsigned i = 0; i != p.countD; ++i) {
      int64_t v = static_cast<int32_t>(c[lane * p.regsC + i]);
      v += static_cast<int32_t>(sum[p.d[lane * p.countD + i]]);
      if (s.satfinite)
        v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
      d[lane * p.regsD + i] = static_cast<uint32_t>(v);
    }
}

/// b1: rows of A and columns of B as words of 32 consecutive k.
void executeBits(const MmaSpec &s, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c, uint32_t *d) {
  unsigned regsA = mmaRegisters(s, MmaOperand::A);
  unsigned regsB = mmaRegisters(s, MmaOperand::B);
  unsigned regsC = mmaRegisters(s, MmaOperand::C);
  uint32_t rows[16][8] = {}, columns[8][8] = {};
  for (unsigned lane = 0; lane != warpSize; ++lane) {
    for (unsigned r = 0; r != regsA; ++r) {
      MatrixCoord at = mmaCoord(s, MmaOperand::A, lane, 32 * r);
      rows[at.row][at.col / 32] = a[lane * regsA + r];
    }
    for (unsigned r = 0; r != regsB; ++r) {
      MatrixCoord at = mmaCoord(s, MmaOperand::B, lane, 32 * r);
      columns[at.col][at.row / 32] = b[lane * regsB + r];
    }
  }
  for (unsigned lane = 0; lane != warpSize; ++lane)
    for (unsigned i = 0; i != regsC; ++i) {
      MatrixCoord at = mmaCoord(s, MmaOperand::C, lane, i);
      uint32_t count = 0;
      for (unsigned w = 0; w != s.k / 32u; ++w) {
        uint32_t x = rows[at.row][w], y = columns[at.col][w];
        count += __builtin_popcount(s.bitAnd ? x & y : x ^ y);
      }
      d[lane * regsC + i] = c[lane * regsC + i] + count;
    }
}

} // namespace

void kvq::emu::num::executeMma(const MmaSpec &s, const uint32_t *a,
                               const uint32_t *b, const uint32_t *c,
                               uint32_t *d, const MmaScales *scales) {
  switch (s.a) {
  case MmaType::F64:
    return executeF64(s, a, b, c, d);
  case MmaType::S8:
  case MmaType::U8:
  case MmaType::S4:
  case MmaType::U4:
    return executeInteger(s, a, b, c, d);
  case MmaType::B1:
    return executeBits(s, a, b, c, d);
  default: {
    HostFPScope scope;
    return executeFloat(s, a, b, c, d, scales);
  }
  }
}
