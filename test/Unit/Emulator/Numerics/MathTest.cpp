//===- MathTest.cpp - Roots, reciprocals, transcendental functions --------===//

#include "NumericsTestUtil.h"

using namespace kvq::emu::num;
using namespace kvq::emu::num::test;
using llvm::APFloat;

namespace {

uint64_t run(FOp op, FType t, uint64_t a, const FpMode &m = {}) {
  UnaryFn fn = findUnary(op, t, m);
  if (!fn) {
    ADD_FAILURE() << "no such instruction";
    return 0;
  }
  return fn(a, m);
}

/// Rounds an 80-bit value to a format, by APFloat.
uint64_t rounded(Format f, long double v) {
  if (v != v)
    return info(f).canonNaN;
  unsigned char raw[16] = {};
  std::memcpy(raw, &v, 10);
  uint64_t words[2];
  std::memcpy(words, raw, 16);
  APFloat x(APFloat::x87DoubleExtended(), llvm::APInt(80, words));
  bool lost;
  x.convert(semantics(f), apRound(Round::RN), &lost);
  return apBits(x);
}

TEST(Math, ReciprocalAgainstAPFloat) {
  for (auto [t, f] :
       {std::pair(FType::F32, Format::F32), std::pair(FType::F64, Format::F64)})
    for (Round r : directed) {
      FpMode m;
      m.round = r;
      for (uint64_t a : interesting(f, 4000, 41)) {
        APFloat want(semantics(f), 1);
        want.divide(ap(f, a), apRound(r));
        uint64_t got = run(FOp::Rcp, t, a, m);
        if (want.isNaN())
          ASSERT_TRUE(isNaNCode(f, got));
        else
          ASSERT_EQ(got, apBits(want)) << std::hex << a;
      }
    }
}

/// x <= sqrt(a) < y by squaring, exactly: 2 * 25 bits fit a binary64.
TEST(Math, SquareRootF32) {
  for (uint64_t a : interesting(Format::F32, 20000, 43)) {
    float v;
    uint32_t w = a;
    std::memcpy(&v, &w, 4);
    auto root = [&](Round r) {
      FpMode m;
      m.round = r;
      uint32_t out = run(FOp::Sqrt, FType::F32, a, m);
      float x;
      std::memcpy(&x, &out, 4);
      return x;
    };
    if (v != v || v < 0) {
      EXPECT_EQ(run(FOp::Sqrt, FType::F32, a), 0x7fffffffu);
      continue;
    }
    if (v == 0 || std::isinf(v)) {
      EXPECT_EQ(run(FOp::Sqrt, FType::F32, a), a);
      continue;
    }
    double down = root(Round::RZ), up = root(Round::RP);
    double near = root(Round::RN), exact = v;
    ASSERT_EQ(down, root(Round::RM));
    ASSERT_LE(down * down, exact);
    ASSERT_GE(up * up, exact);
    ASSERT_TRUE(down == up
                    ? down * down == exact
                    : std::nextafterf(float(down), INFINITY) == float(up));
    double tie = (down + up) / 2;
    ASSERT_EQ(near, tie * tie > exact ? down : up);
  }
}

TEST(Math, SquareRootF64) {
  for (uint64_t a : interesting(Format::F64, 4000, 44)) {
    double v;
    std::memcpy(&v, &a, 8);
    if (!(v > 0) || std::isinf(v))
      continue;
    EXPECT_EQ(run(FOp::Sqrt, FType::F64, a), bits(std::sqrt(v)));
    FpMode rz, rp;
    rz.round = Round::RZ;
    rp.round = Round::RP;
    uint64_t down = run(FOp::Sqrt, FType::F64, a, rz);
    uint64_t up = run(FOp::Sqrt, FType::F64, a, rp);
    if (v < 1e-290)
      continue; // The residual below would be subnormal.
    double x, y;
    std::memcpy(&x, &down, 8);
    std::memcpy(&y, &up, 8);
    EXPECT_LE(std::fma(x, x, -v), 0);
    EXPECT_GE(std::fma(y, y, -v), 0);
    EXPECT_TRUE(down == up || down + 1 == up);
  }
}

/// rsqrt.approx.f64 is the nearest value: with y as an integer and half a unit
/// either way, (2y - 1)^2 a < 4 < (2y + 1)^2 a, compared in 256 bits.
TEST(Math, ReciprocalRootF64) {
  std::mt19937_64 rng(47);
  std::vector<uint64_t> values = {bits(1.0), bits(4.0), bits(2.0),
                                  bits(0x1p-1074), 0x7fefffffffffffffull};
  for (unsigned n = 0; n != 2000; ++n)
    values.push_back((rng() >> 1) % 0x7ff0000000000000ull);
  for (uint64_t a : values) {
    if (a == 0)
      continue;
    double x, y;
    std::memcpy(&x, &a, 8);
    uint64_t r = run(FOp::RsqrtApprox, FType::F64, a);
    std::memcpy(&y, &r, 8);
    int ex, ey;
    uint64_t mx = uint64_t(std::ldexp(std::frexp(x, &ex), 53));
    uint64_t my = uint64_t(std::ldexp(std::frexp(y, &ey), 53));
    // (my 2^(ey-53))^2 * mx 2^(ex-53) compared with 1.
    int e = 3 * 53 - 2 * ey - ex;
    ASSERT_TRUE(e > 0 && e < 200);
    llvm::APInt one = llvm::APInt(256, 1) << (e + 2), X(256, mx);
    llvm::APInt low(256, 2 * my - 1), high(256, 2 * my + 1);
    EXPECT_TRUE((low * low * X).ult(one)) << std::hex << a;
    EXPECT_TRUE((high * high * X).ugt(one)) << std::hex << a;
  }
  EXPECT_EQ(run(FOp::RsqrtApprox, FType::F64, bits(-0.0)),
            bits(-INFINITY * 1.0));
  EXPECT_TRUE(
      isNaNCode(Format::F64, run(FOp::RsqrtApprox, FType::F64, bits(-1.0))));
}

TEST(Math, AllHalves) {
  FpMode ftz;
  ftz.ftz = true;
  for (unsigned c = 0; c != 65536; ++c) {
    for (auto [t, f] : {std::pair(FType::F16, Format::F16),
                        std::pair(FType::BF16, Format::BF16)}) {
      bool nan = isNaNCode(f, c);
      long double x = toDouble(f, c);
      EXPECT_EQ(run(FOp::Tanh, t, c), nan ? 0x7fff : rounded(f, tanhl(x)))
          << info(f).name << c;
      if (f == Format::F16) {
        EXPECT_EQ(run(FOp::Ex2, t, c), nan ? 0x7fff : rounded(f, exp2l(x)))
            << c;
      } else {
        uint64_t want = nan ? 0x7fff : rounded(f, exp2l(x));
        if (!(want & 0x7f80))
          want = 0;
        EXPECT_EQ(run(FOp::Ex2, t, c, ftz), want) << c;
      }
    }
  }
  FpMode m;
  EXPECT_EQ(run(FOp::Ex2, FType::F16x2, 0x40003c00, m), 0x44004000u);
}

TEST(Math, SingleAgainstExtended) {
  struct {
    FOp op;
    long double (*fn)(long double);
  } table[] = {{FOp::Ex2, exp2l},
               {FOp::Lg2, log2l},
               {FOp::Sin, sinl},
               {FOp::Cos, cosl},
               {FOp::Tanh, tanhl}};
  std::mt19937_64 rng(51);
  for (auto &t : table)
    for (unsigned n = 0; n != 20000; ++n) {
      // Magnitudes from 2^-20 to 2^8, and positive ones for the logarithm.
      uint32_t a = (rng() & 0x807fffff) | uint32_t(107 + rng() % 28) << 23;
      if (t.op == FOp::Lg2)
        a &= 0x7fffffff;
      ASSERT_EQ(run(t.op, FType::F32, a),
                rounded(Format::F32, t.fn(toDouble(Format::F32, a))))
          << int(t.op) << std::hex << " " << a;
    }
  for (unsigned n = 0; n != 20000; ++n) {
    uint32_t a = rng() & 0x7fffffff;
    if (a >= 0x7f800000 || a == 0)
      continue;
    long double x = toDouble(Format::F32, a);
    ASSERT_EQ(run(FOp::RsqrtApprox, FType::F32, a),
              rounded(Format::F32, 1 / sqrtl(x)))
        << std::hex << a;
    ASSERT_EQ(run(FOp::RcpApprox, FType::F32, a), rounded(Format::F32, 1 / x));
  }
}

TEST(Math, SpecialValues) {
  const uint64_t inf = 0x7f800000, ninf = 0xff800000, nzero = 0x80000000,
                 nan = 0x7fffffff, one = 0x3f800000, none = 0xbf800000;
  struct {
    FOp op;
    uint64_t negInf, negZero, zero, posInf;
  } table[] = {
      {FOp::RcpApprox, nzero, ninf, inf, 0},
      {FOp::Rcp, nzero, ninf, inf, 0},
      {FOp::SqrtApprox, nan, nzero, 0, inf},
      {FOp::RsqrtApprox, nan, ninf, inf, 0},
      {FOp::Sin, nan, nzero, 0, nan},
      {FOp::Cos, nan, one, one, nan},
      {FOp::Lg2, nan, ninf, ninf, inf},
      {FOp::Ex2, 0, one, one, inf},
      {FOp::Tanh, none, nzero, 0, one},
  };
  for (auto &t : table) {
    EXPECT_EQ(run(t.op, FType::F32, ninf), t.negInf) << int(t.op);
    EXPECT_EQ(run(t.op, FType::F32, nzero), t.negZero) << int(t.op);
    EXPECT_EQ(run(t.op, FType::F32, 0), t.zero) << int(t.op);
    EXPECT_EQ(run(t.op, FType::F32, inf), t.posInf) << int(t.op);
    EXPECT_EQ(run(t.op, FType::F32, 0xffc00001), nan) << int(t.op);
  }
  EXPECT_EQ(run(FOp::Lg2, FType::F32, none), nan);
  EXPECT_EQ(run(FOp::RsqrtApprox, FType::F32, none), nan);
  EXPECT_EQ(run(FOp::Ex2, FType::F32, bits(-150.0f)), 0u); // Tie to even.
  EXPECT_EQ(run(FOp::Ex2, FType::F32, bits(-149.0f)), 1u);
  EXPECT_EQ(run(FOp::Ex2, FType::F32, bits(127.0f)), 0x7f000000u);
  EXPECT_EQ(run(FOp::Ex2, FType::F32, bits(128.0f)), inf);
  FpMode ftz;
  ftz.ftz = true;
  EXPECT_EQ(run(FOp::Ex2, FType::F32, bits(-127.0f), ftz), 0u);
  EXPECT_EQ(run(FOp::RcpApprox, FType::F32, 1, ftz), inf);
  EXPECT_EQ(run(FOp::RcpApprox, FType::F32, bits(-0x1p127f), ftz), nzero);
  EXPECT_EQ(run(FOp::RcpApprox, FType::F32, bits(-0x1p127f)), 0x80400000u);
  EXPECT_EQ(run(FOp::SqrtApprox, FType::F32, 0x80000001, ftz), nzero);
  EXPECT_EQ(run(FOp::Lg2, FType::F32, 1, ftz), ninf);
  EXPECT_EQ(run(FOp::Lg2, FType::F32, 1), bits(-149.0f));
}

TEST(Math, UpperWordForms) {
  auto rcp = [](uint64_t a) { return run(FOp::RcpApproxFtz, FType::F64, a); };
  auto rsq = [](uint64_t a) { return run(FOp::RsqrtApproxFtz, FType::F64, a); };
  EXPECT_EQ(rcp(bits(2.0)), bits(0.5));
  EXPECT_EQ(rcp(bits(-INFINITY * 1.0)), bits(-0.0));
  EXPECT_EQ(rcp(1ull), 0x7ff0000000000000ull);
  EXPECT_EQ(rcp(0x8000000000000001ull), 0xfff0000000000000ull);
  EXPECT_EQ(rcp(0x7ff8000000000000ull), 0x7fffffff00000000ull);
  EXPECT_EQ(rcp(bits(0x1p1023)), 0u); // A subnormal result.
  EXPECT_EQ(rsq(bits(4.0)), bits(0.5));
  EXPECT_EQ(rsq(bits(-4.0)), 0x7fffffff00000000ull);
  EXPECT_EQ(rsq(0x8000000000000000ull), 0xfff0000000000000ull);
  std::mt19937_64 rng(61);
  for (unsigned n = 0; n != 5000; ++n) {
    uint64_t a = (1023 - 500 + rng() % 1000) << 52 | (rng() >> 12);
    double x, hi;
    std::memcpy(&x, &a, 8);
    uint64_t h = a & 0xffffffff00000000ull;
    std::memcpy(&hi, &h, 8);
    uint64_t r = rcp(a), s = rsq(a);
    EXPECT_EQ(r & 0xffffffff, 0u);
    EXPECT_EQ(s & 0xffffffff, 0u);
    double rv, sv;
    std::memcpy(&rv, &r, 8);
    std::memcpy(&sv, &s, 8);
    EXPECT_LE(std::fabs(rv * hi - 1), 0x1p-20);
    EXPECT_LE(std::fabs(sv * sv * hi - 1), 0x1p-19);
  }
}

TEST(Math, Division) {
  FpMode m;
  BinaryFn full = findBinary(FOp::DivFull, FType::F32, m);
  BinaryFn approx = findBinary(FOp::DivApprox, FType::F32, m);
  auto big = bits(0x1p127f);
  EXPECT_EQ(full(bits(0x1p100f), big, m), bits(0x1p-27f));
  EXPECT_EQ(approx(bits(0x1p100f), big, m), 0u);
  EXPECT_EQ(approx(bits(-0x1p100f), big, m), 0x80000000u);
  EXPECT_EQ(approx(bits(INFINITY), big, m), 0x7fffffffu);
  EXPECT_EQ(approx(bits(1.0f), bits(0x1p126f), m), bits(0x1p-126f));
  EXPECT_EQ(approx(bits(7.0f), bits(2.0f), m), bits(3.5f));
  EXPECT_EQ(approx(bits(0.0f), bits(0.0f), m), 0x7fffffffu);
  EXPECT_EQ(findBinary(FOp::DivFull, FType::F64, m), nullptr);
}

/// Perturbed results differ, repeat, and stay within what PTX documents.
TEST(Math, PerturbationStaysWithinBounds) {
  struct {
    FOp op;
    FType type;
    Format format;
    long double (*fn)(long double);
    /// Allowed error for a result.
    long double (*bound)(long double x, long double y);
  } table[] = {
      {FOp::Ex2, FType::F32, Format::F32, exp2l,
       [](long double, long double y) {
         return 2 * ldexpl(1, std::max(ilogbl(y), -126) - 23);
       }},
      {FOp::Lg2, FType::F32, Format::F32, log2l,
       [](long double x, long double y) {
         return x > 0.5L && x < 2 ? 0x1p-22L : 0x1p-22L * fabsl(y);
       }},
      {FOp::Sin, FType::F32, Format::F32, sinl,
       [](long double x, long double) {
         return fabsl(x) <= 6.283185L ? exp2l(-20.5L) : exp2l(-14.7L);
       }},
      {FOp::Tanh, FType::F32, Format::F32, tanhl,
       [](long double, long double y) { return 0x1p-11L * fabsl(y); }},
      {FOp::RcpApprox, FType::F32, Format::F32,
       [](long double x) { return 1 / x; },
       [](long double, long double y) {
         return ldexpl(1, std::max(ilogbl(y), -126) - 23);
       }},
      {FOp::RsqrtApprox, FType::F32, Format::F32,
       [](long double x) { return 1 / sqrtl(x); },
       [](long double, long double y) { return exp2l(-22.9L) * fabsl(y); }},
      {FOp::SqrtApprox, FType::F32, Format::F32, sqrtl,
       [](long double, long double y) { return 0x1p-23L * fabsl(y); }},
      {FOp::Ex2, FType::F16, Format::F16, exp2l,
       [](long double, long double y) {
         // Subnormal results cannot be better than their spacing.
         return std::max(exp2l(-9.9L) * y, 0x1p-25L);
       }},
      {FOp::Tanh, FType::BF16, Format::BF16, tanhl,
       [](long double, long double) { return 0x1p-8L; }},
  };
  for (auto &t : table) {
    Perturbation p1{1}, p2{2};
    FpMode m1, m2, m0;
    m1.perturb = &p1;
    m2.perturb = &p2;
    unsigned changed = 0, differ = 0;
    std::mt19937_64 rng(71);
    for (unsigned n = 0; n != 4000; ++n) {
      double v = std::ldexp(double(rng() % 8192 + 1), -10) + 0x1p-11;
      uint64_t a = encode(t.format, fromDouble(v));
      long double x = toDouble(t.format, a);
      uint64_t r0 = run(t.op, t.type, a, m0), r1 = run(t.op, t.type, a, m1),
               r2 = run(t.op, t.type, a, m2);
      EXPECT_EQ(r1, run(t.op, t.type, a, m1));
      changed += r0 != r1;
      differ += r1 != r2;
      long double y = t.fn(x);
      for (uint64_t r : {r1, r2}) {
        if ((r & info(t.format).canonNaN) > info(t.format).maxFinite)
          continue;
        long double error = fabsl(toDouble(t.format, r) - y);
        ASSERT_LE(error, t.bound(x, y) * 1.000001L)
            << int(t.op) << " " << info(t.format).name << " " << double(x);
      }
    }
    EXPECT_GT(changed, 100u) << int(t.op) << info(t.format).name;
    EXPECT_GT(differ, 100u) << int(t.op) << info(t.format).name;
  }
}

} // namespace
