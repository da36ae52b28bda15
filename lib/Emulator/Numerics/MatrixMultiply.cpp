//===- MatrixMultiply.cpp - The tensor-core contract and mma.sync ---------===//

#include "kvq/Emulator/Numerics/MatrixMultiply.h"
#include "ArithDetail.h"
#include "FormatDetail.h"
#include "MmaDetail.h"
#include "llvm/ADT/Twine.h"
#include <cmath>
#ifdef __x86_64__
#include <immintrin.h>
#endif

using namespace kvq::emu::num;

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

namespace {

/// Blocks of four rows by eight columns, whose accumulators stay in registers
/// while k runs. The eight columns of B are copied together first: at their own
/// distance, a power of two, they would evict each other from the cache.
/// Products are exact, so that contraction to an fma, where the compiler does
/// it, changes nothing.
template <typename T>
__attribute__((always_inline)) inline void
multiplyBlocks(T *acc, unsigned ldAcc, const T *a, const T *b, unsigned ldB,
               unsigned M, unsigned N, unsigned K) {
  constexpr unsigned rows = 4, columns = 8, depth = 64;
  T panel[depth][columns];
  unsigned blockedN = N / columns * columns, blockedM = M / rows * rows;
  for (unsigned n = 0; n != blockedN; n += columns)
    for (unsigned k0 = 0; k0 < K; k0 += depth) {
      unsigned count = K - k0 < depth ? K - k0 : depth;
      for (unsigned k = 0; k != count; ++k)
        for (unsigned j = 0; j != columns; ++j)
          panel[k][j] = b[static_cast<size_t>(k0 + k) * ldB + n + j];
      for (unsigned m = 0; m != blockedM; m += rows) {
        T *out = acc + static_cast<size_t>(m) * ldAcc + n;
        const T *x = a + static_cast<size_t>(m) * K + k0;
        T sum[rows][columns];
        for (unsigned r = 0; r != rows; ++r)
          for (unsigned j = 0; j != columns; ++j)
            sum[r][j] = out[r * ldAcc + j];
        for (unsigned k = 0; k != count; ++k)
          for (unsigned r = 0; r != rows; ++r)
            for (unsigned j = 0; j != columns; ++j)
              sum[r][j] += x[r * K + k] * panel[k][j];
        for (unsigned r = 0; r != rows; ++r)
          for (unsigned j = 0; j != columns; ++j)
            out[r * ldAcc + j] = sum[r][j];
      }
    }
  // What the blocks left over: rows below them, columns beside them.
  for (unsigned i = 0; i != M; ++i)
    for (unsigned n = i < blockedM ? blockedN : 0; n != N; ++n) {
      T sum = acc[static_cast<size_t>(i) * ldAcc + n];
      for (unsigned k = 0; k != K; ++k)
        sum += a[static_cast<size_t>(i) * K + k] *
               b[static_cast<size_t>(k) * ldB + n];
      acc[static_cast<size_t>(i) * ldAcc + n] = sum;
    }
}

#ifdef __x86_64__
template <typename T>
__attribute__((noinline, target("avx2,fma"))) void
multiplyAVX2(T *acc, unsigned ldAcc, const T *a, const T *b, unsigned ldB,
             unsigned M, unsigned N, unsigned K) {
  multiplyBlocks(acc, ldAcc, a, b, ldB, M, N, K);
}

template <typename T>
__attribute__((noinline, target("avx512f"))) void
multiplyAVX512(T *acc, unsigned ldAcc, const T *a, const T *b, unsigned ldB,
               unsigned M, unsigned N, unsigned K) {
  multiplyBlocks(acc, ldAcc, a, b, ldB, M, N, K);
}
#endif

template <typename T>
__attribute__((noinline)) void
multiplyBase(T *acc, unsigned ldAcc, const T *a, const T *b, unsigned ldB,
             unsigned M, unsigned N, unsigned K) {
  multiplyBlocks(acc, ldAcc, a, b, ldB, M, N, K);
}

template <typename T>
void multiply(T *acc, unsigned ldAcc, const T *a, const T *b, unsigned ldB,
              unsigned M, unsigned N, unsigned K) {
#ifdef __x86_64__
  static const bool hasAVX2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  static const bool hasAVX512 = __builtin_cpu_supports("avx512f");
  if (hasAVX512)
    return multiplyAVX512(acc, ldAcc, a, b, ldB, M, N, K);
  if (hasAVX2)
    return multiplyAVX2(acc, ldAcc, a, b, ldB, M, N, K);
#endif
  multiplyBase(acc, ldAcc, a, b, ldB, M, N, K);
}

} // namespace

void kvq::emu::num::multiplyAccumulate(double *acc, unsigned ldAcc,
                                       const double *a, const double *b,
                                       unsigned ldB, unsigned M, unsigned N,
                                       unsigned K) {
  multiply(acc, ldAcc, a, b, ldB, M, N, K);
}

void kvq::emu::num::multiplyIntegers(uint32_t *acc, unsigned ldAcc,
                                     const uint32_t *a, const uint32_t *b,
                                     unsigned ldB, unsigned M, unsigned N,
                                     unsigned K) {
  multiply(acc, ldAcc, a, b, ldB, M, N, K);
}

uint32_t kvq::emu::num::roundAccumulatorF32(double value) {
  if (!hostIsDefault())
    return roundToF32(value);
  return value == value ? bitsOf(static_cast<float>(value)) : 0x7fffffff;
}
void kvq::emu::num::roundAccumulatorsF32(const double *values, unsigned count,
                                         uint32_t *out) {
  if (!hostIsDefault()) {
    for (unsigned i = 0; i != count; ++i)
      out[i] = roundToF32(values[i]);
    return;
  }
  for (unsigned i = 0; i != count; ++i) {
    uint32_t bits = bitsOf(static_cast<float>(values[i]));
    out[i] = values[i] == values[i] ? bits : 0x7fffffff;
  }
}
uint16_t kvq::emu::num::roundAccumulatorF16(double value) {
  return roundToF16(value);
}

#ifdef __x86_64__
/// Four values of f16 or bf16 at a time; widening is exact.
__attribute__((target("avx2,f16c"))) static void
widenHalves(bool isF16, const uint8_t *bytes, unsigned count, double *out) {
  for (unsigned i = 0; i < count; i += 4) {
    __m128i halves =
        _mm_loadl_epi64(reinterpret_cast<const __m128i_u *>(bytes + 2 * i));
    __m128 floats =
        isF16
            ? _mm_cvtph_ps(halves)
            : _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(halves), 16));
    _mm256_storeu_pd(out + i, _mm256_cvtps_pd(floats));
  }
}
#endif

void kvq::emu::num::decodeElements(Format format, const void *data,
                                   unsigned bits, unsigned count, double *out) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  if (bits <= 8) {
    const double *table = smallTable(format);
    if (bits == 4) {
      for (unsigned i = 0; i != count; ++i)
        out[i] = table[(bytes[i / 2] >> (4 * (i % 2))) & 0xf];
    } else {
      for (unsigned i = 0; i != count; ++i)
        out[i] = table[bytes[i]];
    }
    return;
  }
  bool host = hostIsDefault();
  if (bits == 16) {
    unsigned i = 0;
#ifdef __x86_64__
    static const bool hasF16C =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    // Of subnormal bf16 the widening to double looks at the host's flags.
    if (hasF16C && host) {
      i = count / 4 * 4;
      widenHalves(format == Format::F16, bytes, i, out);
    }
#endif
    for (; i != count; ++i) {
      uint16_t h;
      std::memcpy(&h, bytes + 2 * i, 2);
      out[i] = format == Format::F16 ? f16ToDouble(h)
               : host                ? bf16ToDouble(h)
                                     : toDouble(format, h);
    }
    return;
  }
  uint32_t mask = format == Format::TF32 ? 0xffffe000 : 0xffffffff;
  for (unsigned i = 0; i != count; ++i) {
    uint32_t w;
    std::memcpy(&w, bytes + 4 * i, 4);
    out[i] = host ? asFloat(w & mask) : toDouble(format, w);
  }
}

//===----------------------------------------------------------------------===//
// Fragments of mma.sync
//===----------------------------------------------------------------------===//

bool kvq::emu::num::isQuadPair(const MmaSpec &s) {
  return s.k == 4 && s.m == 8 && s.a == MmaType::F16;
}

unsigned kvq::emu::num::containerBits(const MmaSpec &s, MmaType t) {
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
  case MmaType::E2M1:
    return s.byteContainers ? 8 : 4;
  case MmaType::S4:
  case MmaType::U4:
    return 4;
  case MmaType::B1:
    return 1;
  default:
    return 8;
  }
}

MmaType kvq::emu::num::operandType(const MmaSpec &s, MmaOperand o) {
  switch (o) {
  case MmaOperand::A:
    return s.a;
  case MmaOperand::B:
    return s.b;
  case MmaOperand::C:
    return s.c;
  case MmaOperand::D:
    return s.d;
  }
  return s.d;
}

unsigned kvq::emu::num::mmaRegisters(const MmaSpec &s, MmaOperand o) {
  if (isWmmaOnly(s))
    return wmmaRegisters(s, o);
  unsigned bits = containerBits(s, operandType(s, o));
  // A quad pair computes an own product with 8 lanes.
  unsigned lanes = isQuadPair(s) ? 8 : 32;
  unsigned elements = o == MmaOperand::A   ? s.m * s.k
                      : o == MmaOperand::B ? s.k * s.n
                                           : s.m * s.n;
  return elements / lanes * bits / 32;
}

static MatrixCoord quadPairCoord(const MmaSpec &s, MmaOperand o, unsigned lane,
                                 unsigned i) {
  unsigned q = lane % 4, upper = lane < 16 ? 0 : 4;
  auto coord = [](unsigned r, unsigned c) {
    return MatrixCoord{static_cast<uint16_t>(r), static_cast<uint16_t>(c)};
  };
  switch (o) {
  case MmaOperand::A:
    return s.aCol ? coord(i + upper, q) : coord(q + upper, i);
  case MmaOperand::B:
    return s.bRow ? coord(q, i + upper) : coord(i, q + upper);
  default:
    if (operandType(s, o) == MmaType::F16)
      return coord(q + upper, i);
    return coord((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1));
  }
}

MatrixCoord kvq::emu::num::mmaCoord(const MmaSpec &s, MmaOperand o,
                                    unsigned lane, unsigned index) {
  if (isWmmaOnly(s))
    return wmmaCoord(s, o, lane, index);
  if (isQuadPair(s))
    return quadPairCoord(s, o, lane, index);
  unsigned group = lane >> 2, thread = lane % 4;
  if (o == MmaOperand::C || o == MmaOperand::D)
    return {static_cast<uint16_t>(group + 8 * (index / 2)),
            static_cast<uint16_t>(thread * 2 + index % 2)};
  unsigned bits = containerBits(s, operandType(s, o));
  unsigned perReg = bits >= 32 ? 1 : 32 / bits;
  unsigned reg = index / perReg, within = index % perReg;
  if (o == MmaOperand::A) {
    // Registers alternate between rows g and g + 8, then step along K.
    unsigned step = s.m == 16 ? reg / 2 : reg;
    return {
        static_cast<uint16_t>(group + (s.m == 16 ? 8 * (reg % 2) : 0)),
        static_cast<uint16_t>(thread * perReg + within + 4 * perReg * step)};
  }
  return {static_cast<uint16_t>(thread * perReg + within + 4 * perReg * reg),
          static_cast<uint16_t>(group)};
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static const char *typeName(MmaType t) {
  static const char *const names[] = {
      "f64",  "f32",  "tf32", "f16", "bf16", "e4m3", "e5m2", "e2m3",
      "e3m2", "e2m1", "s32",  "s8",  "u8",   "s4",   "u4",   "b1"};
  return names[static_cast<unsigned>(t)];
}

static bool isNarrowFloat(MmaType t) {
  return t >= MmaType::E4M3 && t <= MmaType::E2M1;
}

llvm::Error kvq::emu::num::checkMma(const MmaSpec &s) {
  auto bad = [&](const llvm::Twine &why) {
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        llvm::Twine(s.wmma ? "wmma.mma.m" : "mma.m") + llvm::Twine(s.m) + "n" +
            llvm::Twine(s.n) + "k" + llvm::Twine(s.k) + "." + typeName(s.d) +
            "." + typeName(s.a) + "." + typeName(s.b) + "." + typeName(s.c) +
            ": " + why);
  };
  auto shape = [&](unsigned m, unsigned k) {
    return s.m == m && s.n == 8 && s.k == k;
  };
  bool accF32 = s.c == MmaType::F32 && s.d == MmaType::F32;
  bool accHalf = (s.c == MmaType::F16 || s.c == MmaType::F32) && s.c == s.d;
  bool accS32 = s.c == MmaType::S32 && s.d == MmaType::S32;
  if (s.wmma) {
    llvm::StringRef mistake = findWmmaMistake(s);
    return mistake.empty() ? llvm::Error::success() : bad(mistake);
  }
  bool quadPair = isQuadPair(s);
  if ((s.aCol || s.bRow) && !quadPair)
    return bad("needs layouts .row.col");
  if (s.satfinite && !accS32)
    return bad(".satfinite needs integers");
  if (s.scaleVec) {
    if (!accF32)
      return bad("block scaling accumulates in f32");
    if (shape(16, 64) && s.a == MmaType::E2M1 && s.b == MmaType::E2M1 &&
        !s.byteContainers) {
      bool legal = s.scaleFormat == Format::UE8M0
                       ? s.scaleVec == 2 || s.scaleVec == 4
                       : s.scaleFormat == Format::UE4M3 && s.scaleVec == 4;
      return legal ? llvm::Error::success()
                   : bad("needs ue8m0 with 2X or 4X, or ue4m3 with 4X");
    }
    if (shape(16, 32) && isNarrowFloat(s.a) && isNarrowFloat(s.b) &&
        s.byteContainers)
      return s.scaleVec == 1 && s.scaleFormat == Format::UE8M0
                 ? llvm::Error::success()
                 : bad("needs ue8m0 with 1X");
    return bad("no such block-scaled shape and types");
  }
  switch (s.a) {
  case MmaType::F64:
    if (s.b != s.a || s.c != s.a || s.d != s.a)
      return bad("needs f64 everywhere");
    if (shape(8, 4) || shape(16, 4) || shape(16, 8) || shape(16, 16))
      return llvm::Error::success();
    return bad("needs m8n8k4, m16n8k4, m16n8k8 or m16n8k16");
  case MmaType::F16:
    if (s.b != s.a)
      return bad("needs f16 for B");
    if (quadPair && s.n == 8) {
      if (s.d == MmaType::F32 && (s.c == MmaType::F32 || s.c == MmaType::F16))
        return llvm::Error::success();
      return accHalf ? llvm::Error::success()
                     : bad("needs f16 or f32 accumulators");
    }
    if (!accHalf)
      return bad("needs f16 or f32 accumulators, the same for C and D");
    return shape(16, 8) || shape(16, 16) ? llvm::Error::success()
                                         : bad("needs k4, k8 or k16");
  case MmaType::BF16:
    return s.b == s.a && accF32 && (shape(16, 8) || shape(16, 16))
               ? llvm::Error::success()
               : bad("needs bf16, f32 accumulators, m16n8k8 or m16n8k16");
  case MmaType::TF32:
    return s.b == s.a && accF32 && (shape(16, 4) || shape(16, 8))
               ? llvm::Error::success()
               : bad("needs tf32, f32 accumulators, m16n8k4 or m16n8k8");
  case MmaType::E4M3:
  case MmaType::E5M2:
  case MmaType::E2M3:
  case MmaType::E3M2:
  case MmaType::E2M1: {
    if (!isNarrowFloat(s.b) || !accHalf)
      return bad("needs 8-, 6- or 4-bit floats and f16 or f32 accumulators");
    bool both8 = s.a <= MmaType::E5M2 && s.b <= MmaType::E5M2;
    if (!both8 && !s.byteContainers)
      return bad("6- and 4-bit floats need kind::f8f6f4 or block scaling");
    return shape(16, 32) || (shape(16, 16) && both8)
               ? llvm::Error::success()
               : bad("needs m16n8k16 or m16n8k32");
  }
  case MmaType::S8:
  case MmaType::U8:
    if ((s.b != MmaType::S8 && s.b != MmaType::U8) || !accS32)
      return bad("needs 8-bit integers and s32 accumulators");
    return shape(8, 16) || shape(16, 16) || shape(16, 32)
               ? llvm::Error::success()
               : bad("needs m8n8k16, m16n8k16 or m16n8k32");
  case MmaType::S4:
  case MmaType::U4:
    if ((s.b != MmaType::S4 && s.b != MmaType::U4) || !accS32)
      return bad("needs 4-bit integers and s32 accumulators");
    return shape(8, 32) || shape(16, 32) || shape(16, 64)
               ? llvm::Error::success()
               : bad("needs m8n8k32, m16n8k32 or m16n8k64");
  case MmaType::B1:
    if (s.b != MmaType::B1 || !accS32 || s.satfinite)
      return bad("needs b1 and s32 accumulators");
    return shape(8, 128) || shape(16, 128) || shape(16, 256)
               ? llvm::Error::success()
               : bad("needs m8n8k128, m16n8k128 or m16n8k256");
  default:
    return bad("no such type of A");
  }
}
