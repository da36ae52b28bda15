//===- Math.cpp - Reciprocals, roots and transcendental functions ---------===//
//
// Every function here is correctly rounded (to nearest even for .approx forms).
// rcp, div, sqrt and rsqrt are exact values rounded once. sin, cos, lg2, ex2
// and tanh come from the host's binary64 function, whose error is a few units
// in its last place: if the result rounds the same way 2^-50 above and below,
// it is right; otherwise it is computed again with 64 significant bits, which
// is enough to decide all f16, bf16 and f32 arguments.
//
//===----------------------------------------------------------------------===//

#include "ArithDetail.h"
#include "FormatDetail.h"
#include <cmath>

#pragma STDC FP_CONTRACT OFF

using namespace kvq::emu::num;

thread_local unsigned kvq::emu::num::hostScopes = 0;

HostFPScope::HostFPScope() : saved(0) {
#ifdef KVQ_EMU_HAS_MXCSR
  if (hostScopes == 0) {
    saved = _mm_getcsr();
    _mm_setcsr(0x1f80);
  }
  ++hostScopes;
#endif
}
HostFPScope::~HostFPScope() {
#ifdef KVQ_EMU_HAS_MXCSR
  // The caller's sticky flags are kept as they were.
  if (--hostScopes == 0)
    _mm_setcsr(saved);
#endif
}

uint16_t kvq::emu::num::roundToF16(double value) {
  return static_cast<uint16_t>(narrowFromF64<5, 10>(bitsOf(value), 0x7fff));
}
uint32_t kvq::emu::num::roundToF32(double value) {
  return static_cast<uint32_t>(narrowFromF64<8, 23>(bitsOf(value), 0x7fffffff));
}

namespace {

/// A value in [-1, 1) from the seed, the operation and its operands.
double noise(const Perturbation &p, FOp op, uint64_t a, uint64_t b) {
  uint64_t x = p.seed * 0x9e3779b97f4a7c15ull;
  for (uint64_t v : {static_cast<uint64_t>(op), a, b}) {
    x ^= v + 0x9e3779b97f4a7c15ull + (x << 6) + (x >> 2);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
  }
  return std::ldexp(static_cast<double>(static_cast<int64_t>(x)), -63);
}

/// What PTX promises about an approximate function.
struct Bound {
  enum Kind : uint8_t { Ulp, Relative, Absolute } kind;
  double size;
};

Bound boundOf(FOp op, Format f, double x) {
  switch (op) {
  case FOp::RcpApprox:
    return {Bound::Ulp, 1};
  case FOp::DivApprox:
  case FOp::DivFull:
    return {Bound::Ulp, 2};
  case FOp::SqrtApprox:
    return {Bound::Relative, 0x1p-23};
  case FOp::RsqrtApprox:
    return {Bound::Relative, std::exp2(-22.9)};
  case FOp::Sin:
  case FOp::Cos:
    return {Bound::Absolute,
            std::exp2(std::fabs(x) <= 6.283185307179586 ? -20.5 : -14.7)};
  case FOp::Lg2:
    return {x > 0.5 && x < 2 ? Bound::Absolute : Bound::Relative, 0x1p-22};
  case FOp::Ex2:
    if (f == Format::F32)
      return {Bound::Ulp, 2};
    return {Bound::Relative, std::exp2(f == Format::F16 ? -9.9 : -7.0)};
  case FOp::Tanh:
    if (f == Format::F32)
      return {Bound::Relative, 0x1p-11};
    return {Bound::Absolute, std::exp2(f == Format::F16 ? -10.987 : -8.0)};
  default:
    return {Bound::Ulp, 0.5};
  }
}

/// Moves `y` so that rounding it afterwards stays within the bound.
double perturbed(double y, Format f, Bound bound, double h) {
  if (y == 0 || !std::isfinite(y))
    return y;
  const FormatInfo &i = info(f);
  int e = std::max(std::ilogb(y), 1 - i.bias);
  double ulp = std::ldexp(1.0, e - i.manBits);
  double room = 0;
  switch (bound.kind) {
  case Bound::Ulp:
    // A power of two has the finer spacing on one side.
    room = (bound.size - 0.5) * ulp / (bound.size > 1 ? 1 : 2);
    break;
  case Bound::Relative:
    room = bound.size * std::fabs(y) - 0.5 * ulp;
    break;
  case Bound::Absolute:
    room = bound.size - 0.5 * ulp;
    break;
  }
  double moved = room > 0 ? y + h * room : y;
  // Never across zero or into infinity.
  double max = toDouble(f, i.maxFinite);
  return std::signbit(moved) == std::signbit(y) && std::fabs(moved) <= max
             ? moved
             : y;
}

Real fromLongDouble(long double v) {
  if (v != v)
    return Real::nan();
  if (std::isinf(v))
    return Real::infinity(v < 0);
  if (v == 0)
    return Real::zero(std::signbit(v));
  int exponent;
  long double m = std::frexp(std::fabs(v), &exponent);
  return Real::make(v < 0, static_cast<uint64_t>(std::ldexp(m, 64)),
                    exponent - 64);
}

/// A value computed to binary64 `y`, or exactly in `exact` when y is not
/// enough.
template <typename Refine>
uint64_t finish(Format f, FOp op, double x, double y, const FpMode &mode,
                uint64_t a, uint64_t b, Refine refine) {
  if (y != y)
    return encodeResult(f, Real::nan(), mode, {});
  FpMode nearest = mode;
  nearest.round = Round::RN;
  if (mode.perturb)
    return encodeResult(f,
                        fromDouble(perturbed(y, f, boundOf(op, f, x),
                                             noise(*mode.perturb, op, a, b))),
                        nearest, {});
  auto round = [&](double v) -> uint64_t {
    if (mode.sat)
      return encodeResult(f, fromDouble(v), nearest, {});
    uint64_t w = f == Format::F32   ? roundToF32(v)
                 : f == Format::F16 ? roundToF16(v)
                                    : narrowFromF64<8, 7>(bitsOf(v), 0x7fff);
    return mode.ftz && isSubnormalBits(f, w) ? w & signMask(f) : w;
  };
  uint64_t low = round(y * (1 - 0x1p-50));
  uint64_t high = round(y * (1 + 0x1p-50));
  if (low == high)
    return low;
  return encodeResult(f, refine(), nearest, {});
}

template <FOp Op, Format F>
uint64_t transcendental(uint64_t a, const FpMode &m) {
  if (!hostIsDefault()) {
    HostFPScope scope;
    return transcendental<Op, F>(a, m);
  }
  if (isNaNBits(F, a))
    return encodeResult(F, Real::nan(), m, {a});
  if (m.ftz && isSubnormalBits(F, a))
    a &= signMask(F);
  double x = toDouble(F, a);
  long double w = x;
  switch (Op) {
  case FOp::Sin:
    if (x == 0)
      return a;
    return finish(F, Op, x, std::sin(x), m, a, 0,
                  [=] { return fromLongDouble(std::sin(w)); });
  case FOp::Cos:
    return finish(F, Op, x, std::cos(x), m, a, 0,
                  [=] { return fromLongDouble(std::cos(w)); });
  case FOp::Lg2:
    return finish(F, Op, x, std::log2(x), m, a, 0,
                  [=] { return fromLongDouble(std::log2(w)); });
  case FOp::Ex2:
    return finish(F, Op, x, std::exp2(x), m, a, 0,
                  [=] { return fromLongDouble(std::exp2(w)); });
  default:
    // Subnormal inputs pass through (PTX says so; it is also the rounding).
    if (x == 0 || isSubnormalBits(F, a))
      return a;
    return finish(F, Op, x, std::tanh(x), m, a, 0,
                  [=] { return fromLongDouble(std::tanh(w)); });
  }
}

Real oneReal() { return Real::make(false, 1, 0); }

/// Round to nearest by the host, .ftz included. False where it cannot be.
template <Format F>
bool hostCan(uint64_t &a, const FpMode &m) {
  if (m.round != Round::RN || m.sat || isNaNBits(F, a) || !hostIsDefault())
    return false;
  if (m.ftz && isSubnormalBits(F, a))
    a &= signMask(F);
  return true;
}
template <Format F>
uint64_t flushed(uint64_t r, const FpMode &m) {
  return m.ftz && isSubnormalBits(F, r) ? r & signMask(F) : r;
}

template <Format F>
uint64_t doRcp(uint64_t a, const FpMode &m) {
  if (hostCan<F>(a, m))
    return flushed<F>(F == Format::F32 ? bitsOf(1.0f / asFloat(a))
                                       : bitsOf(1.0 / asDouble(a)),
                      m);
  return encodeResult(F, divExact(oneReal(), decodeFlushed(F, a, m)), m, {a});
}

template <Format F>
uint64_t doSqrt(uint64_t a, const FpMode &m) {
  if (!signBit(F, a) && hostCan<F>(a, m))
    return F == Format::F32 ? bitsOf(std::sqrt(asFloat(a)))
                            : bitsOf(std::sqrt(asDouble(a)));
  return encodeResult(F, sqrtExact(decodeFlushed(F, a, m)), m, {a});
}

Real rsqrtExact(const Real &x) {
  // The sign of a zero survives: 1 / sqrt(-0) = -inf.
  if (x.isZero())
    return Real::infinity(x.negative);
  // So does that of an infinity, whose reciprocal has a root.
  if (x.negative)
    return Real::nan();
  return sqrtExact(divExact(oneReal(), x));
}

uint64_t rsqrtF32(uint64_t a, const FpMode &m) {
  constexpr Format F = Format::F32;
  if (!signBit(F, a) && hostCan<F>(a, m)) {
    // Two roundings of binary64 are within 2^-51: see finish().
    double y = 1 / std::sqrt(static_cast<double>(asFloat(a)));
    uint32_t low = roundToF32(y * (1 - 0x1p-50));
    if (low == roundToF32(y * (1 + 0x1p-50)))
      return low;
  }
  return encodeResult(F, rsqrtExact(decodeFlushed(F, a, m)), m, {a});
}

/// The approximate f32 forms: the same values to nearest, or moved.
template <FOp Op>
uint64_t approximate(uint64_t a, const FpMode &mode) {
  FpMode m = mode;
  m.round = Round::RN;
  constexpr Format F = Format::F32;
  uint64_t exact;
  if (Op == FOp::RcpApprox)
    exact = doRcp<F>(a, m);
  else if (Op == FOp::SqrtApprox)
    exact = doSqrt<F>(a, m);
  else
    exact = rsqrtF32(a, m);
  if (!m.perturb || isNaNBits(F, exact))
    return exact;
  HostFPScope scope;
  double x = toDouble(F, m.ftz && isSubnormalBits(F, a) ? a & signMask(F) : a);
  double y = Op == FOp::RcpApprox    ? 1 / x
             : Op == FOp::SqrtApprox ? std::sqrt(x)
                                     : 1 / std::sqrt(x);
  y = perturbed(y, F, boundOf(Op, F, x), noise(*m.perturb, Op, a, 0));
  return encodeResult(F, fromDouble(y), m, {});
}

/// binary64 cut to its upper word: what rcp/rsqrt.approx.ftz.f64 work on.
constexpr FormatInfo upperWord = {
    "f64.hi", 32, 11, 20, 1023, true, Specials::IEEE, 0x7fffffff, 0x7fefffff};

template <FOp Op>
uint64_t approximateUpper(uint64_t a, const FpMode &) {
  FpMode flush;
  flush.ftz = true;
  uint64_t high = a & 0xffffffff00000000ull;
  // A NaN whose payload is all in the lower word is a NaN still.
  if (isNaNBits(Format::F64, a))
    return 0x7fffffff00000000ull;
  Real x = decodeFlushed(Format::F64, high, flush);
  // The lower word does not make a subnormal a zero; both flush.
  Real y = Op == FOp::RcpApproxFtz ? divExact(oneReal(), x) : rsqrtExact(x);
  EncodeOptions options;
  options.ftz = true;
  return encodeIEEE(upperWord, y, options) << 32;
}

uint64_t rsqrtF64(uint64_t a, const FpMode &m) {
  FpMode nearest = m;
  nearest.round = Round::RN;
  Format f = Format::F64;
  return encodeResult(f, rsqrtExact(decode(f, a)), nearest, {a});
}

template <FOp Op>
uint64_t divApproximate(uint64_t a, uint64_t b, const FpMode &mode) {
  constexpr Format F = Format::F32;
  FpMode m = mode;
  m.round = Round::RN;
  a &= 0xffffffff;
  b &= 0xffffffff;
  uint64_t x32 = a, y32 = b;
  if (!m.perturb && (b & 0x7fffffff) <= 0x7e800000 && hostCan<F>(x32, m) &&
      hostCan<F>(y32, m)) {
    float q = asFloat(x32) / asFloat(y32);
    return q == q ? flushed<F>(bitsOf(q), m) : info(F).canonNaN;
  }
  Real x = decodeFlushed(F, a, m), y = decodeFlushed(F, b, m);
  // Above 2^126 the reciprocal of b is taken as zero.
  if (Op == FOp::DivApprox && y.isFinite() && (b & 0x7fffffff) > 0x7e800000 &&
      !x.isNaN()) {
    if (x.isInf())
      return info(F).canonNaN;
    return (a ^ b) & 0x80000000;
  }
  uint64_t exact = encodeResult(F, divExact(x, y), m, {a, b});
  if (!m.perturb || isNaNBits(F, exact) || x.isInf() || y.isInf() ||
      x.isZero() || y.isZero())
    return exact;
  HostFPScope scope;
  double q = toDouble(F, a) / toDouble(F, b);
  q = perturbed(q, F, boundOf(Op, F, 0), noise(*m.perturb, Op, a, b));
  return encodeResult(F, fromDouble(q), m, {});
}

template <UnaryFn Fn, unsigned W, unsigned Count>
uint64_t lanes(uint64_t a, const FpMode &m) {
  constexpr uint64_t mask = (uint64_t(1) << W) - 1;
  uint64_t r = 0;
  for (unsigned i = 0; i != Count; ++i)
    r |= (Fn((a >> (i * W)) & mask, m) & mask) << (i * W);
  return r;
}

} // namespace

template <FOp Op>
static UnaryFn halfForms(FType type) {
  switch (type) {
  case FType::F16:
    return lanes<transcendental<Op, Format::F16>, 16, 1>;
  case FType::F16x2:
    return lanes<transcendental<Op, Format::F16>, 16, 2>;
  case FType::BF16:
    return lanes<transcendental<Op, Format::BF16>, 16, 1>;
  case FType::BF16x2:
    return lanes<transcendental<Op, Format::BF16>, 16, 2>;
  case FType::F32:
    return lanes<transcendental<Op, Format::F32>, 32, 1>;
  default:
    return nullptr;
  }
}

UnaryFn kvq::emu::num::findMath(FOp op, FType type, const FpMode &) {
  bool isF32 = type == FType::F32, isF64 = type == FType::F64;
  switch (op) {
  case FOp::Ex2:
    return halfForms<FOp::Ex2>(type);
  case FOp::Tanh:
    return halfForms<FOp::Tanh>(type);
  case FOp::Sin:
    return isF32 ? lanes<transcendental<FOp::Sin, Format::F32>, 32, 1>
                 : nullptr;
  case FOp::Cos:
    return isF32 ? lanes<transcendental<FOp::Cos, Format::F32>, 32, 1>
                 : nullptr;
  case FOp::Lg2:
    return isF32 ? lanes<transcendental<FOp::Lg2, Format::F32>, 32, 1>
                 : nullptr;
  case FOp::Rcp:
    return isF32   ? lanes<doRcp<Format::F32>, 32, 1>
           : isF64 ? doRcp<Format::F64>
                   : nullptr;
  case FOp::Sqrt:
    return isF32   ? lanes<doSqrt<Format::F32>, 32, 1>
           : isF64 ? doSqrt<Format::F64>
                   : nullptr;
  case FOp::RcpApprox:
    return isF32 ? lanes<approximate<FOp::RcpApprox>, 32, 1> : nullptr;
  case FOp::SqrtApprox:
    return isF32 ? lanes<approximate<FOp::SqrtApprox>, 32, 1> : nullptr;
  case FOp::RsqrtApprox:
    return isF32   ? lanes<approximate<FOp::RsqrtApprox>, 32, 1>
           : isF64 ? rsqrtF64
                   : nullptr;
  case FOp::RcpApproxFtz:
    return isF64 ? approximateUpper<FOp::RcpApproxFtz> : nullptr;
  case FOp::RsqrtApproxFtz:
    return isF64 ? approximateUpper<FOp::RsqrtApproxFtz> : nullptr;
  default:
    return nullptr;
  }
}

BinaryFn kvq::emu::num::findMath2(FOp op, FType type) {
  if (type != FType::F32)
    return nullptr;
  return op == FOp::DivFull ? divApproximate<FOp::DivFull>
                            : divApproximate<FOp::DivApprox>;
}
