//===- ArithTest.cpp - Arithmetic against APFloat -------------------------===//

#include "NumericsTestUtil.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

using namespace kvq::emu::num;
using namespace kvq::emu::num::test;
using llvm::APFloat;

namespace {

struct Typed {
  FType type;
  Format format;
};
constexpr Typed scalars[] = {{FType::F32, Format::F32},
                             {FType::F64, Format::F64},
                             {FType::F16, Format::F16},
                             {FType::BF16, Format::BF16}};

/// Compares with APFloat's result; NaNs by being NaN and canonical.
::testing::AssertionResult agrees(Format f, uint64_t got, const APFloat &want) {
  if (want.isNaN()) {
    bool ok = f == Format::F64 ? isNaNCode(f, got) : got == info(f).canonNaN;
    return ok ? ::testing::AssertionSuccess()
              : ::testing::AssertionFailure() << "not a canonical NaN " << got;
  }
  if (got == apBits(want))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << std::hex << got << " instead of " << apBits(want);
}

APFloat apply(FOp op, const APFloat &a, const APFloat &b,
              llvm::RoundingMode r) {
  APFloat v = a;
  if (op == FOp::Add)
    v.add(b, r);
  else if (op == FOp::Sub)
    v.subtract(b, r);
  else if (op == FOp::Mul)
    v.multiply(b, r);
  else
    v.divide(b, r);
  return v;
}

void checkBinary(FOp op, Typed t, unsigned random) {
  auto values = interesting(t.format, random, 1 + unsigned(op));
  bool half = t.format == Format::F16 || t.format == Format::BF16;
  for (Round r : directed) {
    if (half && r != Round::RN)
      continue;
    FpMode m;
    m.round = r;
    BinaryFn fn = findBinary(op, t.type, m);
    ASSERT_NE(fn, nullptr);
    for (uint64_t a : values)
      for (uint64_t b : values) {
        APFloat want = apply(op, ap(t.format, a), ap(t.format, b), apRound(r));
        ASSERT_TRUE(agrees(t.format, fn(a, b, m), want))
            << info(t.format).name << " op " << int(op) << " mode " << int(r)
            << std::hex << " " << a << " " << b;
      }
  }
}

TEST(Arith, BinaryAgainstAPFloat) {
  for (Typed t : scalars) {
    for (FOp op : {FOp::Add, FOp::Sub, FOp::Mul})
      checkBinary(op, t, 130);
    if (t.type == FType::F32 || t.type == FType::F64)
      checkBinary(FOp::Div, t, 60);
  }
}

void checkFma(unsigned random) {
  for (Typed t : scalars) {
    auto values = interesting(t.format, random, 99);
    bool half = t.format == Format::F16 || t.format == Format::BF16;
    for (Round r : directed) {
      if (half && r != Round::RN)
        continue;
      FpMode m;
      m.round = r;
      TernaryFn fn = findTernary(FOp::Fma, t.type, m);
      for (uint64_t a : values)
        for (uint64_t b : values)
          for (uint64_t c : values) {
            APFloat want = ap(t.format, a);
            want.fusedMultiplyAdd(ap(t.format, b), ap(t.format, c), apRound(r));
            ASSERT_TRUE(agrees(t.format, fn(a, b, c, m), want))
                << info(t.format).name << " mode " << int(r) << std::hex << " "
                << a << " " << b << " " << c;
          }
    }
  }
}

TEST(Arith, FmaAgainstAPFloat) { checkFma(16); }

/// Addends close to the product, so that nearly everything cancels, and far
/// below it, so that they only decide a tie.
TEST(Arith, FmaCancellation) {
  std::mt19937_64 rng(5);
  FpMode m;
  TernaryFn f32 = findTernary(FOp::Fma, FType::F32, m);
  TernaryFn f64 = findTernary(FOp::Fma, FType::F64, m);
  TernaryFn f16 = findTernary(FOp::Fma, FType::F16, m);
  for (unsigned n = 0; n != 30000; ++n) {
    Format f = n % 3 == 0   ? Format::F32
               : n % 3 == 1 ? Format::F64
                            : Format::F16;
    const FormatInfo &i = info(f);
    auto nearOne = [&] {
      uint64_t man = rng() & ((uint64_t(1) << i.manBits) - 1);
      return uint64_t(i.bias + int(rng() % 5) - 2) << i.manBits | man;
    };
    uint64_t a = nearOne(), b = nearOne();
    APFloat c = ap(f, a);
    c.multiply(ap(f, b), apRound(Round::RN));
    c.changeSign();
    uint64_t cc = apBits(c) + rng() % 3 - 1;
    if (rng() % 2) {
      APFloat tiny = scalbn(c, -int(i.manBits) - int(rng() % 4),
                            llvm::RoundingMode::NearestTiesToEven);
      cc = apBits(tiny);
    }
    APFloat want = ap(f, a);
    want.fusedMultiplyAdd(ap(f, b), ap(f, cc), apRound(Round::RN));
    uint64_t got = (f == Format::F32   ? f32
                    : f == Format::F64 ? f64
                                       : f16)(a, b, cc, m);
    ASSERT_TRUE(agrees(f, got, want))
        << i.name << std::hex << a << " " << b << " " << cc;
  }
}

TEST(Arith, NaNPayloadsOfF64) {
  FpMode m;
  BinaryFn add = findBinary(FOp::Add, FType::F64, m);
  uint64_t a = 0x7ff0000000001234ull, b = 0xfff8000000005678ull,
           one = bits(1.0);
  EXPECT_EQ(add(a, b, m), 0x7ff8000000001234ull);
  EXPECT_EQ(add(one, b, m), b);
  EXPECT_EQ(add(bits(INFINITY * 1.0), bits(-INFINITY * 1.0), m),
            0x7ff8000000000000ull);
}

TEST(Arith, FlushToZero) {
  for (Round r : directed) {
    FpMode m;
    m.round = r;
    m.ftz = true;
    BinaryFn add = findBinary(FOp::Add, FType::F32, m);
    BinaryFn mul = findBinary(FOp::Mul, FType::F32, m);
    auto values = interesting(Format::F32, 60, 3);
    auto flush = [](uint32_t v) {
      return (v & 0x7f800000) ? v : v & 0x80000000;
    };
    for (uint64_t a : values)
      for (uint64_t b : values) {
        for (FOp op : {FOp::Add, FOp::Mul}) {
          APFloat want = apply(op, ap(Format::F32, flush(a)),
                               ap(Format::F32, flush(b)), apRound(r));
          uint64_t got = (op == FOp::Add ? add : mul)(a, b, m);
          if (!want.isNaN())
            want = ap(Format::F32, flush(apBits(want)));
          ASSERT_TRUE(agrees(Format::F32, got, want))
              << std::hex << a << " " << b;
        }
      }
  }
}

TEST(Arith, Saturation) {
  FpMode m;
  m.sat = true;
  BinaryFn add = findBinary(FOp::Add, FType::F32, m);
  auto f = [&](float a, float b) { return add(bits(a), bits(b), m); };
  EXPECT_EQ(f(2, 3), bits(1.0f));
  EXPECT_EQ(f(-2, 1), 0u);
  EXPECT_EQ(f(0.25f, 0.5f), bits(0.75f));
  EXPECT_EQ(f(NAN, 1), 0u);
  EXPECT_EQ(f(-0.0f, -0.0f), 0u);
  EXPECT_EQ(f(INFINITY, 1), bits(1.0f));
  TernaryFn fma = findTernary(FOp::Fma, FType::F16, m);
  EXPECT_EQ(fma(0x4000, 0x4000, 0, m), 0x3c00u);
}

TEST(Arith, PackedHalvesAreIndependent) {
  FpMode m;
  for (FOp op : {FOp::Add, FOp::Sub, FOp::Mul, FOp::Min, FOp::Max}) {
    struct {
      FType packed, scalar;
      unsigned width;
    } kinds[] = {{FType::F16x2, FType::F16, 16},
                 {FType::BF16x2, FType::BF16, 16},
                 {FType::F32x2, FType::F32, 32}};
    std::mt19937_64 rng(2);
    for (auto &k : kinds) {
      BinaryFn p = findBinary(op, k.packed, m), s = findBinary(op, k.scalar, m);
      if (!p) {
        EXPECT_TRUE(k.packed == FType::F32x2 &&
                    (op == FOp::Min || op == FOp::Max));
        continue;
      }
      uint64_t mask = (uint64_t(1) << k.width) - 1;
      for (unsigned n = 0; n != 3000; ++n) {
        uint64_t a = rng(), b = rng();
        EXPECT_EQ(p(a, b, m), s(a & mask, b & mask, m) |
                                  s(a >> k.width & mask, b >> k.width & mask, m)
                                      << k.width);
      }
    }
  }
}

TEST(Arith, FmaReluAndOob) {
  FpMode m;
  m.relu = true;
  TernaryFn fma = findTernary(FOp::Fma, FType::F16x2, m);
  // 1 * -2 + 1 = -1 -> 0 in the low half; 1 * 2 + 1 = 3 in the high half.
  EXPECT_EQ(fma(0x3c003c00, 0x4000c000, 0x3c003c00, m), 0x42000000u);
  EXPECT_EQ(fma(0x3c007e00, 0x3c003c00, 0x3c003c00, m), 0x40007fffu);
  FpMode oob;
  oob.oob = true;
  TernaryFn f = findTernary(FOp::Fma, FType::BF16x2, oob);
  EXPECT_EQ(f(0xffff3f80, 0x3f803f80, 0x3f803f80, oob), 0x00004000u);
}

TEST(Arith, MinMaxTables) {
  const uint64_t nan = 0x7fc00001, one = 0x3f800000, two = 0x40000000,
                 negOne = 0xbf800000, zero = 0, negZero = 0x80000000,
                 canon = 0x7fffffff;
  FpMode m, n;
  n.nan = true;
  BinaryFn min = findBinary(FOp::Min, FType::F32, m);
  BinaryFn max = findBinary(FOp::Max, FType::F32, m);
  struct {
    uint64_t a, b, min, max, minNaN, maxNaN;
  } table[] = {
      {one, two, one, two, one, two},
      {two, negOne, negOne, two, negOne, two},
      {zero, negZero, negZero, zero, negZero, zero},
      {negZero, zero, negZero, zero, negZero, zero},
      {nan, one, one, one, canon, canon},
      {one, nan, one, one, canon, canon},
      {nan, nan, canon, canon, canon, canon},
      {0xff800000, one, 0xff800000, one, 0xff800000, one},
      {1, 0x80000001, 0x80000001, 1, 0x80000001, 1},
  };
  for (auto &r : table) {
    EXPECT_EQ(min(r.a, r.b, m), r.min);
    EXPECT_EQ(max(r.a, r.b, m), r.max);
    EXPECT_EQ(min(r.a, r.b, n), r.minNaN);
    EXPECT_EQ(max(r.a, r.b, n), r.maxNaN);
  }
  FpMode x;
  x.abs = x.xorsign = true;
  EXPECT_EQ(min(negOne, two, x), negOne);
  EXPECT_EQ(max(negOne, 0xc0000000, x), two);
  EXPECT_EQ(max(nan, nan, x), canon);
  EXPECT_EQ(max(nan, negOne, x), negOne); // Signs 0 and 1.
  FpMode a3;
  a3.abs = true;
  TernaryFn max3 = findTernary(FOp::Max3, FType::F32, a3);
  TernaryFn min3 = findTernary(FOp::Min3, FType::F32, a3);
  EXPECT_EQ(max3(negOne, 0xc0000000, one, a3), two);
  EXPECT_EQ(min3(0xc0000000, nan, negOne, a3), one);
  EXPECT_EQ(max3(one, nan, two, n), canon);
  EXPECT_EQ(max3(nan, nan, two, m), two);
  EXPECT_EQ(findTernary(FOp::Max3, FType::F64, m), nullptr);
  FpMode ftz;
  ftz.ftz = true;
  EXPECT_EQ(max(1, zero, ftz), 0u);
  // Every pair of f16 codes of a sample against the values.
  BinaryFn h = findBinary(FOp::Max, FType::F16, m);
  auto values = interesting(Format::F16, 200, 8);
  for (uint64_t p : values)
    for (uint64_t q : values) {
      APFloat want = maximumnum(ap(Format::F16, p), ap(Format::F16, q));
      ASSERT_TRUE(agrees(Format::F16, h(p, q, m), want)) << p << " " << q;
    }
}

TEST(Arith, SignOperations) {
  FpMode m, ftz;
  ftz.ftz = true;
  EXPECT_EQ(findUnary(FOp::Neg, FType::F32, m)(bits(1.0f), m), bits(-1.0f));
  EXPECT_EQ(findUnary(FOp::Neg, FType::F16x2, m)(0x3c008000, m), 0xbc000000u);
  EXPECT_EQ(findUnary(FOp::Abs, FType::BF16x2, m)(0xbf808000, m), 0x3f800000u);
  EXPECT_EQ(findUnary(FOp::Abs, FType::F64, m)(bits(-2.0), m), bits(2.0));
  EXPECT_EQ(findUnary(FOp::Neg, FType::F32, ftz)(1, ftz), 0x80000000u);
  EXPECT_EQ(findUnary(FOp::Abs, FType::F32, ftz)(0x80000001, ftz), 0u);
  BinaryFn cs = findBinary(FOp::CopySign, FType::F32, m);
  EXPECT_EQ(cs(bits(-1.0f), bits(3.0f), m), bits(-3.0f));
  EXPECT_EQ(cs(bits(1.0f), bits(-3.0f), m), bits(3.0f));
}

TEST(Arith, Comparisons) {
  for (Typed t : scalars) {
    auto values = interesting(t.format, 20, 17);
    for (uint64_t a : values)
      for (uint64_t b : values) {
        auto c = ap(t.format, a).compare(ap(t.format, b));
        bool un = c == APFloat::cmpUnordered, eq = c == APFloat::cmpEqual,
             lt = c == APFloat::cmpLessThan, gt = c == APFloat::cmpGreaterThan;
        auto is = [&](FCmp op) { return compare(op, t.type, a, b); };
        ASSERT_EQ(is(FCmp::EQ), eq);
        ASSERT_EQ(is(FCmp::NE), lt || gt);
        ASSERT_EQ(is(FCmp::LT), lt);
        ASSERT_EQ(is(FCmp::LE), lt || eq);
        ASSERT_EQ(is(FCmp::GT), gt);
        ASSERT_EQ(is(FCmp::GE), gt || eq);
        ASSERT_EQ(is(FCmp::EQU), un || eq);
        ASSERT_EQ(is(FCmp::NEU), !eq);
        ASSERT_EQ(is(FCmp::LTU), un || lt);
        ASSERT_EQ(is(FCmp::LEU), !gt);
        ASSERT_EQ(is(FCmp::GTU), un || gt);
        ASSERT_EQ(is(FCmp::GEU), !lt);
        ASSERT_EQ(is(FCmp::Num), !un);
        ASSERT_EQ(is(FCmp::Nan), un);
      }
  }
  EXPECT_TRUE(compare(FCmp::EQ, FType::F32, 1, 0x80000002, true));
  EXPECT_FALSE(compare(FCmp::EQ, FType::F32, 1, 0x80000002, false));
}

TEST(Arith, Testp) {
  auto t = [](FTest op, float v) { return testp(op, FType::F32, bits(v)); };
  EXPECT_TRUE(t(FTest::Finite, 1) && t(FTest::Finite, 0x1p-140f));
  EXPECT_FALSE(t(FTest::Finite, INFINITY) || t(FTest::Finite, NAN));
  EXPECT_TRUE(t(FTest::Infinite, -INFINITY));
  EXPECT_FALSE(t(FTest::Infinite, NAN));
  EXPECT_TRUE(t(FTest::NotANumber, NAN) && t(FTest::Number, INFINITY));
  EXPECT_TRUE(t(FTest::Normal, 0.0f) && t(FTest::Normal, 1.0f));
  EXPECT_FALSE(t(FTest::Normal, 0x1p-140f) || t(FTest::Normal, INFINITY));
  EXPECT_TRUE(t(FTest::Subnormal, -0x1p-140f));
  EXPECT_FALSE(t(FTest::Subnormal, 0.0f));
}

TEST(Arith, MixedPrecision) {
  std::mt19937_64 rng(21);
  for (Format narrow : {Format::F16, Format::BF16})
    for (Round r : directed)
      for (unsigned n = 0; n != 4000; ++n) {
        FpMode m;
        m.round = r;
        uint64_t a = rng() & 0xffff, b = rng() & 0xffff, c = rng() & 0xffffffff;
        if (n % 2) {
          uint64_t one = narrow == Format::F16 ? 0x3c00 : 0x3f80;
          a = one + rng() % 64;
          b = one + rng() % 64;
          c = bits(-1.0f) + rng() % 4096 * 4096;
        }
        auto wide = [&](uint64_t v) {
          APFloat x = ap(narrow, v);
          bool lost;
          x.convert(APFloat::IEEEsingle(), apRound(Round::RN), &lost);
          return x;
        };
        APFloat sum = wide(a), diff = wide(a), fused = wide(a);
        sum.add(ap(Format::F32, c), apRound(r));
        diff.subtract(ap(Format::F32, c), apRound(r));
        fused.fusedMultiplyAdd(wide(b), ap(Format::F32, c), apRound(r));
        ASSERT_TRUE(agrees(Format::F32, addMixed(narrow, a, c, m), sum));
        ASSERT_TRUE(agrees(Format::F32, subMixed(narrow, a, c, m), diff));
        ASSERT_TRUE(agrees(Format::F32, fmaMixed(narrow, a, b, c, m), fused));
      }
}

#ifdef __x86_64__
/// The same bits whatever the host's flags and rounding mode are.
TEST(Arith, HostStateDoesNotMatter) {
  auto values32 = interesting(Format::F32, 24, 31);
  auto values64 = interesting(Format::F64, 24, 32);
  auto values16 = interesting(Format::F16, 24, 33);
  auto run = [&] {
    std::vector<uint64_t> out;
    FpMode m, ftz;
    ftz.ftz = true;
    auto all = [&](FType t, const std::vector<uint64_t> &v,
                   const FpMode &mode) {
      for (FOp op : {FOp::Add, FOp::Sub, FOp::Mul, FOp::Div, FOp::Min}) {
        BinaryFn fn = findBinary(op, t, mode);
        if (fn)
          for (uint64_t a : v)
            for (uint64_t b : v)
              out.push_back(fn(a, b, mode));
      }
      TernaryFn fma = findTernary(FOp::Fma, t, mode);
      for (uint64_t a : v)
        for (uint64_t b : v)
          for (unsigned i = 0; i < v.size(); i += 7)
            out.push_back(fma(a, b, v[i], mode));
      for (FOp op : {FOp::Rcp, FOp::Sqrt, FOp::RsqrtApprox, FOp::Ex2, FOp::Lg2,
                     FOp::Sin, FOp::Tanh}) {
        UnaryFn fn = findUnary(op, t, mode);
        if (fn)
          for (uint64_t a : v)
            out.push_back(fn(a, mode));
      }
      for (uint64_t a : v)
        for (uint64_t b : v)
          out.push_back(compare(FCmp::LT, t, a, b));
    };
    all(FType::F32, values32, m);
    all(FType::F32, values32, ftz);
    all(FType::F64, values64, m);
    all(FType::F16, values16, m);
    return out;
  };
  std::vector<uint64_t> plain = run();
  unsigned saved = _mm_getcsr();
  for (unsigned csr : {saved | 0x8040u, saved | 0x2000u, saved | 0x4000u,
                       saved | 0x6000u | 0x8040u}) {
    _mm_setcsr(csr);
    std::vector<uint64_t> other = run();
    bool kept = (_mm_getcsr() & 0xffc0) == (csr & 0xffc0);
    _mm_setcsr(saved);
    EXPECT_TRUE(kept);
    EXPECT_EQ(plain, other) << std::hex << csr;
  }
}
#endif

} // namespace
