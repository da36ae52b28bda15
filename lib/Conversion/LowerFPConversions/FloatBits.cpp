//===- FloatBits.cpp - Float conversions as integer arithmetic ------------===//
//
// An f32 has 1 sign bit, 8 exponent bits (bias 127) and 23 mantissa bits. A
// format with M mantissa bits and bias B holds the magnitude code
// (exponent << M | mantissa), worth
//
//   2^(exponent - B) * (1 + mantissa / 2^M)   if exponent > 0
//   2^(1 - B - M) * mantissa                  if exponent = 0 (subnormal)
//
// E2M1: M = 1, B = 1. E4M3: M = 3, B = 7. f16: M = 10, B = 15.
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/LowerFPConversions/LowerFPConversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {

constexpr uint32_t kF32AbsMask = 0x7fffffff;
constexpr uint32_t kF32Inf = 0x7f800000;
constexpr uint32_t kF32QuietNaN = 0x7fc00000;
constexpr int kF32Bias = 127;
constexpr int kF32Mantissa = 23;

/// The parameters of a format with subnormals, as named above.
struct SmallFormat {
  int mantissa;
  int bias;
};
constexpr SmallFormat kE2M1 = {1, 1};
constexpr SmallFormat kE4M3 = {3, 7};
constexpr SmallFormat kF16 = {10, 15};

/// `type` with the element type replaced: a scalar type gives the element
/// type itself.
Type withElementType(Type type, Type elementType) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(elementType);
  return elementType;
}

/// Builds i32 arithmetic (scalar or elementwise) with few words.
class Bits {
public:
  Bits(OpBuilder &builder, Location loc, Type shapeLike)
      : builder(builder), loc(loc), shapeLike(shapeLike) {}

  Type type(Type elementType) const {
    return withElementType(shapeLike, elementType);
  }
  Type i32() const { return type(builder.getI32Type()); }

  Value constant(uint32_t value) const {
    Type resultType = i32();
    TypedAttr attr = builder.getI32IntegerAttr(static_cast<int32_t>(value));
    if (auto shaped = dyn_cast<ShapedType>(resultType))
      attr = DenseElementsAttr::get(shaped, cast<Attribute>(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value add(Value a, Value b) const {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value add(Value a, uint32_t b) const { return add(a, constant(b)); }
  Value sub(Value a, Value b) const {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, uint32_t b) const { return sub(a, constant(b)); }
  Value andBits(Value a, uint32_t b) const {
    return arith::AndIOp::create(builder, loc, a, constant(b));
  }
  Value orBits(Value a, Value b) const {
    return arith::OrIOp::create(builder, loc, a, b);
  }
  Value orBits(Value a, uint32_t b) const { return orBits(a, constant(b)); }
  Value shl(Value a, Value b) const {
    return arith::ShLIOp::create(builder, loc, a, b);
  }
  Value shl(Value a, uint32_t b) const { return shl(a, constant(b)); }
  Value shr(Value a, Value b) const {
    return arith::ShRUIOp::create(builder, loc, a, b);
  }
  Value shr(Value a, uint32_t b) const { return shr(a, constant(b)); }
  Value maxS(Value a, uint32_t b) const {
    return arith::MaxSIOp::create(builder, loc, a, constant(b));
  }
  Value minS(Value a, uint32_t b) const {
    return arith::MinSIOp::create(builder, loc, a, constant(b));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, uint32_t b) const {
    return arith::CmpIOp::create(builder, loc, predicate, a, constant(b));
  }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value select(Value condition, uint32_t a, Value b) const {
    return select(condition, constant(a), b);
  }
  /// The bits of a float or integer of `width` bits, zero-extended to i32.
  Value fromRaw(Value value, unsigned width) const {
    Value raw = arith::BitcastOp::create(
        builder, loc, type(builder.getIntegerType(width)), value);
    if (width == 32)
      return raw;
    return arith::ExtUIOp::create(builder, loc, i32(), raw);
  }
  /// The low bits of an i32 as a float of type `elementType`.
  Value toRaw(Value bits, Type elementType) const {
    unsigned width = elementType.getIntOrFloatBitWidth();
    if (width != 32)
      bits = arith::TruncIOp::create(builder, loc,
                                     type(builder.getIntegerType(width)), bits);
    return arith::BitcastOp::create(builder, loc, type(elementType), bits);
  }
  /// The f32 bits of a small non-negative integer.
  Value convert(Value integer) const {
    Value converted = arith::SIToFPOp::create(
        builder, loc, type(builder.getF32Type()), integer);
    return fromRaw(converted, 32);
  }

private:
  OpBuilder &builder;
  Location loc;
  Type shapeLike;
};

/// The f32 bits of the magnitude code `code` of `format`, without special
/// codes.
///
/// Normal codes move to f32's place and get f32's bias. A subnormal code is
/// the integer `code` times 2^(1 - B - M): the integer converts exactly
/// (below 2^M <= 2^10) and is normal as an f32 (or zero), and the power of two
/// is taken off the exponent field, which stays positive as 1 - B - M >= -24.
Value widen(const Bits &b, Value code, SmallFormat format) {
  int shift = kF32Mantissa - format.mantissa;
  Value normal =
      b.add(b.shl(code, shift), static_cast<uint32_t>(kF32Bias - format.bias)
                                    << kF32Mantissa);
  int scale = format.bias + format.mantissa - 1;
  Value subnormal =
      b.sub(b.convert(code), static_cast<uint32_t>(scale) << kF32Mantissa);
  // Zero alone would get a negative exponent; the field keeps it at zero.
  subnormal = b.maxS(subnormal, 0);
  Value isSubnormal =
      b.compare(arith::CmpIPredicate::ult, code, 1u << format.mantissa);
  return b.select(isSubnormal, subnormal, normal);
}

/// The magnitude code of `format` nearest to the f32 magnitude bits
/// `magnitude`, ties to even. The caller has clamped to the largest finite
/// value, so that nothing here overflows.
///
/// Write the f32 as m * 2^(e - 150), m its 24-bit significand and e its
/// exponent field, and let u = e - 127 + B - 1 be how far its exponent is
/// above that of the format's least normal value. The format's codes around
/// it are spaced such that m counts units of 2^-s of a code step, with
/// s = 23 - M for u >= 0 and one more for each power of two below. So
/// r = m / 2^s, rounded to an integer, gives the code: for u >= 0, r is in
/// 2^M .. 2^(M+1), whose upper end is the carry into the next exponent, and
/// the code is r + u * 2^M; for u < 0 it is r. From s = 25 on, m / 2^s is
/// below a half for every m and r is zero, so s need not grow further. An f32
/// subnormal has e = 0 and a wrong leading bit in m, but r is zero all the
/// same.
Value narrow(const Bits &b, Value magnitude, SmallFormat format) {
  Value exponent = b.shr(magnitude, kF32Mantissa);
  Value significand = b.orBits(b.andBits(magnitude, (1u << kF32Mantissa) - 1),
                               1u << kF32Mantissa);
  Value above =
      b.sub(exponent, static_cast<uint32_t>(kF32Bias - format.bias + 1));
  int normalShift = kF32Mantissa - format.mantissa;
  Value shift = b.sub(b.constant(normalShift), b.minS(above, 0));
  shift = b.minS(shift, kF32Mantissa + 2);
  // Round half to even: add half a unit less one, and one more if r is odd.
  Value odd = b.andBits(b.shr(significand, shift), 1);
  Value half = b.shl(b.constant(1), b.sub(shift, 1));
  Value rounded = b.shr(b.add(b.add(significand, b.sub(half, 1)), odd), shift);
  return b.add(rounded, b.shl(b.maxS(above, 0), format.mantissa));
}

/// The sign bit of the f32 bits, moved to bit `position`.
Value signAt(const Bits &b, Value bits, unsigned position) {
  Value sign = b.shr(bits, 31);
  return position == 0 ? sign : b.shl(sign, position);
}

} // namespace

bool kvq::hasFloatBits(Type type) {
  return isa<Float4E2M1FNType, Float8E4M3FNType, Float8E8M0FNUType, Float16Type,
             BFloat16Type, Float32Type>(type);
}

Value kvq::buildF32Bits(OpBuilder &builder, Location loc, Value value) {
  Bits b(builder, loc, value.getType());
  Type elementType = getElementTypeOrSelf(value);
  unsigned width = elementType.getIntOrFloatBitWidth();
  Value raw = b.fromRaw(value, width);
  if (isa<Float32Type>(elementType))
    return raw;
  // bf16 is the upper half of an f32.
  if (isa<BFloat16Type>(elementType))
    return b.shl(raw, 16);

  if (isa<Float8E8M0FNUType>(elementType)) {
    // The byte is f32's exponent field. Byte 0 is 2^-127, which f32 writes as
    // a subnormal, and byte 255 is NaN where f32 with an empty mantissa has
    // an infinity: both get the mantissa's top bit.
    Value bits = b.shl(raw, kF32Mantissa);
    Value low = b.compare(arith::CmpIPredicate::eq, raw, 0);
    Value high = b.compare(arith::CmpIPredicate::eq, raw, 255);
    Value special = arith::OrIOp::create(builder, loc, low, high);
    return b.orBits(bits, b.select(special, 0x00400000, b.constant(0)));
  }

  uint32_t absMask = (1u << (width - 1)) - 1;
  Value code = b.andBits(raw, absMask);
  Value sign = b.shl(b.shr(raw, width - 1), 31);
  Value magnitude;
  if (isa<Float4E2M1FNType>(elementType)) {
    magnitude = widen(b, code, kE2M1);
  } else if (isa<Float8E4M3FNType>(elementType)) {
    // The one NaN code is the largest.
    magnitude = b.select(b.compare(arith::CmpIPredicate::eq, code, 0x7f),
                         kF32QuietNaN, widen(b, code, kE4M3));
  } else {
    assert(isa<Float16Type>(elementType) && "a type without hasFloatBits");
    // Exponent field 31 (infinity, NaN) has arrived at 31 + 112; the rest of
    // the way to 255 is 112 again. A NaN is made quiet.
    magnitude = widen(b, code, kF16);
    Value isSpecial = b.compare(arith::CmpIPredicate::uge, code, 0x7c00);
    magnitude = b.add(magnitude,
                      b.select(isSpecial, 112u << kF32Mantissa, b.constant(0)));
    Value isNaN = b.compare(arith::CmpIPredicate::ugt, code, 0x7c00);
    magnitude = b.orBits(magnitude, b.select(isNaN, 0x00400000, b.constant(0)));
  }
  return b.orBits(sign, magnitude);
}

Value kvq::buildFromF32Bits(OpBuilder &builder, Location loc, Value bits,
                            Type elementType) {
  Bits b(builder, loc, bits.getType());
  if (isa<Float32Type>(elementType))
    return b.toRaw(bits, elementType);

  Value magnitude = b.andBits(bits, kF32AbsMask);
  Value isNaN = b.compare(arith::CmpIPredicate::ugt, magnitude, kF32Inf);
  if (isa<BFloat16Type>(elementType)) {
    // Round to the upper half, ties to even; the carry into the exponent is
    // right and ends in infinity. A NaN would lose its payload or carry into
    // the sign: it keeps its upper half and is made quiet.
    Value odd = b.andBits(b.shr(bits, 16), 1);
    Value rounded = b.shr(b.add(b.add(bits, 0x7fff), odd), 16);
    Value quiet = b.orBits(b.shr(bits, 16), 0x40);
    return b.toRaw(b.select(isNaN, quiet, rounded), elementType);
  }
  if (isa<Float8E8M0FNUType>(elementType)) {
    // floor(log2|x|) + 127 is the exponent field itself; a subnormal has 0
    // there, the least byte, and an infinity 255, clamped to 254.
    Value byte = b.minS(b.shr(magnitude, kF32Mantissa), 254);
    return b.toRaw(b.select(isNaN, 255, byte), elementType);
  }
  if (isa<Float4E2M1FNType>(elementType)) {
    Value clamped = b.minS(magnitude, 0x40c00000); // 6.0
    Value code = b.select(isNaN, 0, narrow(b, clamped, kE2M1));
    return b.toRaw(b.orBits(code, signAt(b, bits, 3)), elementType);
  }
  assert(isa<Float8E4M3FNType>(elementType) && "unsupported narrow type");
  Value clamped = b.minS(magnitude, 0x43e00000); // 448.0
  Value code = b.select(isNaN, 0x7f, narrow(b, clamped, kE4M3));
  return b.toRaw(b.orBits(code, signAt(b, bits, 7)), elementType);
}
