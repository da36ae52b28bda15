//===- Compare.cpp - Comparisons and tests of floats ----------------------===//

#include "ArithDetail.h"
#include "FormatDetail.h"
#include "kvq/Emulator/Numerics/Arith.h"

using namespace kvq::emu::num;

template <Format F>
static bool compareAs(FCmp op, uint64_t a, uint64_t b, bool ftz) {
  constexpr uint64_t sign = signMask(F);
  constexpr uint64_t width = sign | (sign - 1);
  a &= width;
  b &= width;
  if (ftz) {
    a = isSubnormalBits(F, a) ? 0 : a;
    b = isSubnormalBits(F, b) ? 0 : b;
  }
  // -0 equals +0.
  a = a == sign ? 0 : a;
  b = b == sign ? 0 : b;
  bool unordered = isNaNBits(F, a) || isNaNBits(F, b);
  int64_t x = orderKey<F>(a), y = orderKey<F>(b);
  switch (op) {
  case FCmp::EQ:
    return !unordered && x == y;
  case FCmp::NE:
    return !unordered && x != y;
  case FCmp::LT:
    return !unordered && x < y;
  case FCmp::LE:
    return !unordered && x <= y;
  case FCmp::GT:
    return !unordered && x > y;
  case FCmp::GE:
    return !unordered && x >= y;
  case FCmp::EQU:
    return unordered || x == y;
  case FCmp::NEU:
    return unordered || x != y;
  case FCmp::LTU:
    return unordered || x < y;
  case FCmp::LEU:
    return unordered || x <= y;
  case FCmp::GTU:
    return unordered || x > y;
  case FCmp::GEU:
    return unordered || x >= y;
  case FCmp::Num:
    return !unordered;
  case FCmp::Nan:
    return unordered;
  }
  return false;
}

static Format scalarFormat(FType type) {
  switch (type) {
  case FType::F16:
  case FType::F16x2:
    return Format::F16;
  case FType::BF16:
  case FType::BF16x2:
    return Format::BF16;
  case FType::F32:
  case FType::F32x2:
    return Format::F32;
  case FType::F64:
    return Format::F64;
  }
  return Format::F32;
}

bool kvq::emu::num::compare(FCmp op, FType type, uint64_t a, uint64_t b,
                            bool ftz) {
  switch (scalarFormat(type)) {
  case Format::F16:
    return compareAs<Format::F16>(op, a, b, ftz);
  case Format::BF16:
    return compareAs<Format::BF16>(op, a, b, ftz);
  case Format::F32:
    return compareAs<Format::F32>(op, a, b, ftz);
  default:
    return compareAs<Format::F64>(op, a, b, ftz);
  }
}

bool kvq::emu::num::testp(FTest op, FType type, uint64_t a) {
  Format f = scalarFormat(type);
  uint64_t sign = signMask(f);
  uint64_t magnitude = a & (sign - 1);
  uint64_t inf = info(f).maxFinite + 1;
  switch (op) {
  case FTest::Finite:
    return magnitude < inf;
  case FTest::Infinite:
    return magnitude == inf;
  case FTest::Number:
    return magnitude <= inf;
  case FTest::NotANumber:
    return magnitude > inf;
  case FTest::Normal:
    return magnitude < inf && !isSubnormalBits(f, a);
  case FTest::Subnormal:
    return isSubnormalBits(f, a);
  }
  return false;
}
