//===- Arith.cpp - Arithmetic and selection -------------------------------===//

#include "kvq/Emulator/Numerics/Arith.h"
#include "ArithDetail.h"
#include "FormatDetail.h"
#include <cmath>

// Products and sums below are separate PTX instructions.
#pragma STDC FP_CONTRACT OFF

using namespace kvq::emu::num;

//===----------------------------------------------------------------------===//
// Soft forms of one operand type
//===----------------------------------------------------------------------===//

uint64_t kvq::emu::num::nanResult(Format f,
                                  std::initializer_list<uint64_t> in) {
  if (f == Format::F64)
    for (uint64_t v : in)
      if (isNaNBits(f, v))
        return v | (uint64_t(1) << 51);
  return info(f).canonNaN;
}

Real kvq::emu::num::decodeFlushed(Format f, uint64_t bits, const FpMode &mode) {
  if (mode.ftz && isSubnormalBits(f, bits))
    return Real::zero(signBit(f, bits));
  return decode(f, bits);
}

uint64_t kvq::emu::num::encodeResult(Format f, const Real &value,
                                     const FpMode &mode,
                                     std::initializer_list<uint64_t> in) {
  if (value.isNaN())
    return mode.sat ? 0 : nanResult(f, in);
  EncodeOptions options;
  options.round = mode.round;
  options.ftz = mode.ftz;
  options.sat = mode.sat;
  options.relu = mode.relu;
  return encode(f, value, options);
}

namespace {

template <Format F>
uint64_t softAdd(uint64_t a, uint64_t b, const FpMode &m) {
  Real r = addExact(decodeFlushed(F, a, m), decodeFlushed(F, b, m), m.round);
  return encodeResult(F, r, m, {a, b});
}

template <Format F>
uint64_t softSub(uint64_t a, uint64_t b, const FpMode &m) {
  Real y = decodeFlushed(F, b, m);
  y.negative = !y.negative;
  return encodeResult(F, addExact(decodeFlushed(F, a, m), y, m.round), m,
                      {a, b});
}

template <Format F>
uint64_t softMul(uint64_t a, uint64_t b, const FpMode &m) {
  return encodeResult(
      F, mulExact(decodeFlushed(F, a, m), decodeFlushed(F, b, m)), m, {a, b});
}

template <Format F>
uint64_t softDiv(uint64_t a, uint64_t b, const FpMode &m) {
  return encodeResult(
      F, divExact(decodeFlushed(F, a, m), decodeFlushed(F, b, m)), m, {a, b});
}

template <Format F>
uint64_t softFma(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  if (m.oob && (a == 0xffff || b == 0xffff || c == 0xffff))
    return 0;
  Real r = fmaExact(decodeFlushed(F, a, m), decodeFlushed(F, b, m),
                    decodeFlushed(F, c, m), m.round);
  return encodeResult(F, r, m, {a, b, c});
}

//===----------------------------------------------------------------------===//
// Host forms: round to nearest, no modifiers
//===----------------------------------------------------------------------===//

constexpr FpMode plainMode;

inline uint64_t finishF32(float r) { return r == r ? bitsOf(r) : 0x7fffffffu; }

uint64_t hostAddF32(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softAdd<Format::F32>(a, b, m);
  return finishF32(asFloat(a) + asFloat(b));
}
uint64_t hostSubF32(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softSub<Format::F32>(a, b, m);
  return finishF32(asFloat(a) - asFloat(b));
}
uint64_t hostMulF32(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softMul<Format::F32>(a, b, m);
  return finishF32(asFloat(a) * asFloat(b));
}
uint64_t hostDivF32(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softDiv<Format::F32>(a, b, m);
  return finishF32(asFloat(a) / asFloat(b));
}
uint64_t hostFmaF32(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  if (!hostIsDefault())
    return softFma<Format::F32>(a, b, c, m);
  return finishF32(std::fma(asFloat(a), asFloat(b), asFloat(c)));
}

/// f32 with ftz (or sat), to nearest: flush, compute, flush.
inline uint32_t flushF32(uint32_t v) {
  return (v & 0x7f800000) ? v : v & 0x80000000;
}
inline uint64_t finishFlushF32(float r) {
  return r == r ? flushF32(bitsOf(r)) : 0x7fffffffu;
}
uint64_t hostAddFtzF32(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softAdd<Format::F32>(a, b, m);
  return finishFlushF32(asFloat(flushF32(a)) + asFloat(flushF32(b)));
}
uint64_t hostSubFtzF32(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softSub<Format::F32>(a, b, m);
  return finishFlushF32(asFloat(flushF32(a)) - asFloat(flushF32(b)));
}
uint64_t hostMulFtzF32(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softMul<Format::F32>(a, b, m);
  return finishFlushF32(asFloat(flushF32(a)) * asFloat(flushF32(b)));
}
uint64_t hostFmaFtzF32(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  if (!hostIsDefault())
    return softFma<Format::F32>(a, b, c, m);
  return finishFlushF32(std::fma(asFloat(flushF32(a)), asFloat(flushF32(b)),
                                 asFloat(flushF32(c))));
}

inline uint64_t finishF64(double r, uint64_t a, uint64_t b, uint64_t c) {
  return r == r ? bitsOf(r) : nanResult(Format::F64, {a, b, c});
}
uint64_t hostAddF64(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softAdd<Format::F64>(a, b, m);
  return finishF64(asDouble(a) + asDouble(b), a, b, 0);
}
uint64_t hostSubF64(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softSub<Format::F64>(a, b, m);
  return finishF64(asDouble(a) - asDouble(b), a, b, 0);
}
uint64_t hostMulF64(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softMul<Format::F64>(a, b, m);
  return finishF64(asDouble(a) * asDouble(b), a, b, 0);
}
uint64_t hostDivF64(uint64_t a, uint64_t b, const FpMode &m) {
  if (!hostIsDefault())
    return softDiv<Format::F64>(a, b, m);
  return finishF64(asDouble(a) / asDouble(b), a, b, 0);
}
uint64_t hostFmaF64(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  if (!hostIsDefault())
    return softFma<Format::F64>(a, b, c, m);
  return finishF64(std::fma(asDouble(a), asDouble(b), asDouble(c)), a, b, c);
}

//===----------------------------------------------------------------------===//
// Bit-level operations
//===----------------------------------------------------------------------===//

template <Format F>
uint64_t doNeg(uint64_t a, const FpMode &m) {
  if (m.ftz && isSubnormalBits(F, a))
    a &= signMask(F);
  return a ^ signMask(F);
}
template <Format F>
uint64_t doAbs(uint64_t a, const FpMode &m) {
  if (m.ftz && isSubnormalBits(F, a))
    return 0;
  return a & ~signMask(F);
}
template <Format F>
uint64_t doCopySign(uint64_t a, uint64_t b, const FpMode &) {
  return (b & ~signMask(F)) | (a & signMask(F));
}

template <Format F, bool IsMax>
uint64_t pick(uint64_t a, uint64_t b, const FpMode &m) {
  bool nanA = isNaNBits(F, a), nanB = isNaNBits(F, b);
  if ((nanA && nanB) || (m.nan && (nanA || nanB)))
    return info(F).canonNaN;
  if (nanA)
    return b;
  if (nanB)
    return a;
  return (orderKey<F>(a) < orderKey<F>(b)) == IsMax ? b : a;
}

template <Format F>
uint64_t prepare(uint64_t v, const FpMode &m) {
  if (m.ftz && isSubnormalBits(F, v))
    v &= signMask(F);
  return m.abs ? v & ~signMask(F) : v;
}

template <Format F, bool IsMax>
uint64_t doMinMax(uint64_t a, uint64_t b, const FpMode &m) {
  uint64_t sign = (a ^ b) & signMask(F);
  uint64_t r = pick<F, IsMax>(prepare<F>(a, m), prepare<F>(b, m), m);
  if (m.xorsign && !isNaNBits(F, r))
    r = (r & ~signMask(F)) | sign;
  return r;
}

template <Format F, bool IsMax>
uint64_t doMinMax3(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  uint64_t r = pick<F, IsMax>(prepare<F>(a, m), prepare<F>(b, m), m);
  return pick<F, IsMax>(r, prepare<F>(c, m), m);
}

//===----------------------------------------------------------------------===//
// f16 and bf16: exact in binary64, one rounding
//===----------------------------------------------------------------------===//

/// A product of two elements has at most 22 bits and is exact in binary64; sums
/// are rounded to odd there and then to nearest.
bool plainHalf(const FpMode &m) {
  return !m.sat && !m.ftz && !m.relu && !m.oob && hostIsDefault();
}

template <Format F>
double halfToDouble(uint64_t v) {
  return F == Format::F16 ? f16ToDouble(v) : bf16ToDouble(v);
}
template <Format F>
uint64_t doubleToHalf(double v) {
  if (F == Format::F16)
    return narrowFromF64<5, 10>(bitsOf(v), 0x7fff);
  return narrowFromF64<8, 7>(bitsOf(v), 0x7fff);
}

template <Format F>
uint64_t halfAdd(uint64_t a, uint64_t b, const FpMode &m) {
  if (!plainHalf(m))
    return softAdd<F>(a, b, m);
  return doubleToHalf<F>(addToOdd(halfToDouble<F>(a), halfToDouble<F>(b)));
}
template <Format F>
uint64_t halfSub(uint64_t a, uint64_t b, const FpMode &m) {
  if (!plainHalf(m))
    return softSub<F>(a, b, m);
  return doubleToHalf<F>(addToOdd(halfToDouble<F>(a), -halfToDouble<F>(b)));
}
template <Format F>
uint64_t halfMul(uint64_t a, uint64_t b, const FpMode &m) {
  if (!plainHalf(m))
    return softMul<F>(a, b, m);
  return doubleToHalf<F>(halfToDouble<F>(a) * halfToDouble<F>(b));
}
template <Format F>
uint64_t halfFma(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  if (!plainHalf(m))
    return softFma<F>(a, b, c, m);
  return doubleToHalf<F>(
      addToOdd(halfToDouble<F>(a) * halfToDouble<F>(b), halfToDouble<F>(c)));
}

//===----------------------------------------------------------------------===//
// Packed types
//===----------------------------------------------------------------------===//

template <UnaryFn Fn, unsigned W>
uint64_t packed1(uint64_t a, const FpMode &m) {
  constexpr uint64_t mask = (uint64_t(1) << W) - 1;
  return (Fn(a & mask, m) & mask) | (Fn((a >> W) & mask, m) & mask) << W;
}
template <BinaryFn Fn, unsigned W>
uint64_t packed2(uint64_t a, uint64_t b, const FpMode &m) {
  constexpr uint64_t mask = (uint64_t(1) << W) - 1;
  return (Fn(a & mask, b & mask, m) & mask) |
         (Fn((a >> W) & mask, (b >> W) & mask, m) & mask) << W;
}
template <TernaryFn Fn, unsigned W>
uint64_t packed3(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  constexpr uint64_t mask = (uint64_t(1) << W) - 1;
  return (Fn(a & mask, b & mask, c & mask, m) & mask) |
         (Fn((a >> W) & mask, (b >> W) & mask, (c >> W) & mask, m) & mask) << W;
}

/// Masks the operands of a scalar to its width: registers may be wider.
template <UnaryFn Fn, unsigned W>
uint64_t scalar1(uint64_t a, const FpMode &m) {
  constexpr uint64_t mask = (uint64_t(1) << W) - 1;
  return Fn(a & mask, m);
}
template <BinaryFn Fn, unsigned W>
uint64_t scalar2(uint64_t a, uint64_t b, const FpMode &m) {
  constexpr uint64_t mask = (uint64_t(1) << W) - 1;
  return Fn(a & mask, b & mask, m);
}
template <TernaryFn Fn, unsigned W>
uint64_t scalar3(uint64_t a, uint64_t b, uint64_t c, const FpMode &m) {
  constexpr uint64_t mask = (uint64_t(1) << W) - 1;
  return Fn(a & mask, b & mask, c & mask, m);
}

} // namespace

/// One row per operand type: F16, F16x2, BF16, BF16x2, F32, F32x2, F64.
#define FOR_TYPES(N, TEMPLATE_ARGS_H, TEMPLATE_ARGS_B, TEMPLATE_ARGS_S,        \
                  TEMPLATE_ARGS_D)                                             \
  switch (type) {                                                              \
  case FType::F16:                                                             \
    return scalar##N<TEMPLATE_ARGS_H, 16>;                                     \
  case FType::F16x2:                                                           \
    return packed##N<TEMPLATE_ARGS_H, 16>;                                     \
  case FType::BF16:                                                            \
    return scalar##N<TEMPLATE_ARGS_B, 16>;                                     \
  case FType::BF16x2:                                                          \
    return packed##N<TEMPLATE_ARGS_B, 16>;                                     \
  case FType::F32:                                                             \
    return scalar##N<TEMPLATE_ARGS_S, 32>;                                     \
  case FType::F32x2:                                                           \
    return packed##N<TEMPLATE_ARGS_S, 32>;                                     \
  case FType::F64:                                                             \
    return TEMPLATE_ARGS_D;                                                    \
  }                                                                            \
  return nullptr

static UnaryFn negFor(FType type) {
  FOR_TYPES(1, doNeg<Format::F16>, doNeg<Format::BF16>, doNeg<Format::F32>,
            doNeg<Format::F64>);
}
static UnaryFn absFor(FType type) {
  FOR_TYPES(1, doAbs<Format::F16>, doAbs<Format::BF16>, doAbs<Format::F32>,
            doAbs<Format::F64>);
}

UnaryFn kvq::emu::num::findUnary(FOp op, FType type, const FpMode &mode) {
  switch (op) {
  case FOp::Neg:
    return type == FType::F32x2 ? nullptr : negFor(type);
  case FOp::Abs:
    return type == FType::F32x2 ? nullptr : absFor(type);
  default:
    return findMath(op, type, mode);
  }
}

BinaryFn kvq::emu::num::findBinary(FOp op, FType type, const FpMode &mode) {
  bool nearest = mode.round == Round::RN && !mode.sat && !mode.relu;
  bool plain = nearest && !mode.ftz;
  bool plainFtz = nearest && mode.ftz;
  if (type == FType::F32) {
    if (op == FOp::Add && (plain || plainFtz))
      return plain ? hostAddF32 : hostAddFtzF32;
    if (op == FOp::Sub && (plain || plainFtz))
      return plain ? hostSubF32 : hostSubFtzF32;
    if (op == FOp::Mul && (plain || plainFtz))
      return plain ? hostMulF32 : hostMulFtzF32;
    if (op == FOp::Div && plain)
      return hostDivF32;
  }
  if (type == FType::F32x2 && plain) {
    if (op == FOp::Add)
      return packed2<hostAddF32, 32>;
    if (op == FOp::Sub)
      return packed2<hostSubF32, 32>;
    if (op == FOp::Mul)
      return packed2<hostMulF32, 32>;
  }
  if (type == FType::F64 && plain) {
    if (op == FOp::Add)
      return hostAddF64;
    if (op == FOp::Sub)
      return hostSubF64;
    if (op == FOp::Mul)
      return hostMulF64;
    if (op == FOp::Div)
      return hostDivF64;
  }
  switch (op) {
  case FOp::Add:
    FOR_TYPES(2, halfAdd<Format::F16>, halfAdd<Format::BF16>,
              softAdd<Format::F32>, softAdd<Format::F64>);
  case FOp::Sub:
    FOR_TYPES(2, halfSub<Format::F16>, halfSub<Format::BF16>,
              softSub<Format::F32>, softSub<Format::F64>);
  case FOp::Mul:
    FOR_TYPES(2, halfMul<Format::F16>, halfMul<Format::BF16>,
              softMul<Format::F32>, softMul<Format::F64>);
  case FOp::Div:
    if (type == FType::F32)
      return scalar2<softDiv<Format::F32>, 32>;
    return type == FType::F64 ? softDiv<Format::F64> : nullptr;
  case FOp::DivFull:
  case FOp::DivApprox:
    return findMath2(op, type);
  case FOp::CopySign:
    if (type == FType::F32)
      return scalar2<doCopySign<Format::F32>, 32>;
    return type == FType::F64 ? doCopySign<Format::F64> : nullptr;
  case FOp::Min:
    if (type == FType::F32x2)
      return nullptr;
    FOR_TYPES(2, (doMinMax<Format::F16, false>),
              (doMinMax<Format::BF16, false>), (doMinMax<Format::F32, false>),
              (doMinMax<Format::F64, false>));
  case FOp::Max:
    if (type == FType::F32x2)
      return nullptr;
    FOR_TYPES(2, (doMinMax<Format::F16, true>), (doMinMax<Format::BF16, true>),
              (doMinMax<Format::F32, true>), (doMinMax<Format::F64, true>));
  default:
    return nullptr;
  }
}

TernaryFn kvq::emu::num::findTernary(FOp op, FType type, const FpMode &mode) {
  bool nearest = mode.round == Round::RN && !mode.sat && !mode.relu;
  switch (op) {
  case FOp::Fma:
    if (nearest && !mode.oob) {
      if (type == FType::F32)
        return mode.ftz ? hostFmaFtzF32 : hostFmaF32;
      if (type == FType::F32x2)
        return mode.ftz ? packed3<hostFmaFtzF32, 32> : packed3<hostFmaF32, 32>;
      if (type == FType::F64)
        return hostFmaF64;
    }
    FOR_TYPES(3, halfFma<Format::F16>, halfFma<Format::BF16>,
              softFma<Format::F32>, softFma<Format::F64>);
  case FOp::Min3:
    return type == FType::F32 ? scalar3<doMinMax3<Format::F32, false>, 32>
                              : nullptr;
  case FOp::Max3:
    return type == FType::F32 ? scalar3<doMinMax3<Format::F32, true>, 32>
                              : nullptr;
  default:
    return nullptr;
  }
}
#undef FOR_TYPES

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

uint32_t kvq::emu::num::addF32(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(hostAddF32(a, b, plainMode));
}
uint32_t kvq::emu::num::mulF32(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(hostMulF32(a, b, plainMode));
}
uint32_t kvq::emu::num::fmaF32(uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>(hostFmaF32(a, b, c, plainMode));
}

uint64_t kvq::emu::num::addMixed(Format narrow, uint64_t a, uint64_t c,
                                 const FpMode &m) {
  Real r =
      addExact(decode(narrow, a), decodeFlushed(Format::F32, c, m), m.round);
  return encodeResult(Format::F32, r, m, {});
}
uint64_t kvq::emu::num::subMixed(Format narrow, uint64_t a, uint64_t c,
                                 const FpMode &m) {
  return addMixed(narrow, a, c ^ 0x80000000u, m);
}
uint64_t kvq::emu::num::fmaMixed(Format narrow, uint64_t a, uint64_t b,
                                 uint64_t c, const FpMode &m) {
  Real r = fmaExact(decode(narrow, a), decode(narrow, b),
                    decodeFlushed(Format::F32, c, m), m.round);
  return encodeResult(Format::F32, r, m, {});
}
