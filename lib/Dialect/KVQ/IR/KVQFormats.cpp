//===- KVQFormats.cpp - The arithmetic of the built-in formats ------------===//
//
// How #kvq.format implements KVFormatInterface. The conversions to and from
// low-bit floats are arith.extf and arith.truncf, with clamping and rounding
// to nearest even as kvq-lower-fp-conversions defines them; everything else is
// the f32 arithmetic of the numeric contract, in its order.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace kvq;

/// Returns `element` with the shape of `like`, which is a scalar or a vector.
static Type getTypeLike(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

/// A constant with the shape of `like`.
static Value getFloat(OpBuilder &b, Location loc, Type like, double value) {
  Type type = getTypeLike(like, b.getF32Type());
  TypedAttr scalar = b.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(vector, scalar));
  return arith::ConstantOp::create(b, loc, scalar);
}

static Value getInt(OpBuilder &b, Location loc, Type like, int64_t value) {
  Type type = getTypeLike(like, b.getI32Type());
  TypedAttr scalar = b.getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(vector, scalar));
  return arith::ConstantOp::create(b, loc, scalar);
}

/// Gives a scalar the shape of `like`.
static Value broadcastLike(OpBuilder &b, Location loc, Value value, Type like) {
  auto vector = dyn_cast<VectorType>(like);
  if (!vector || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, loc, vector.clone(value.getType()),
                                     value);
}

static Value toF32(OpBuilder &b, Location loc, Value value) {
  return arith::ExtFOp::create(
      b, loc, getTypeLike(value.getType(), b.getF32Type()), value);
}

double FormatAttr::getLargestMagnitude() const {
  return APFloat::getLargest(getElementType().getFloatSemantics())
      .convertToDouble();
}

Value FormatAttr::emitBlockScale(OpBuilder &b, Location loc, Value amax,
                                 Value globalScale, double target) const {
  assert(getScaleType() && "a format without block scales");
  Type like = amax.getType();
  Type scaleType = getTypeLike(like, getScaleType());

  if (isa<Float8E8M0FNUType>(getScaleType())) {
    // OCP MX 1.0, section 6.3: the exponent of the largest magnitude less that
    // of the element type's largest power of two. The exponent field of f32
    // and the byte of E8M0 have the same bias. A subnormal has field 0, below
    // every element exponent, and ends at byte 0.
    int64_t emax =
        ilogb(APFloat::getLargest(getElementType().getFloatSemantics()));
    Type i32 = getTypeLike(like, b.getI32Type());
    Value scaled = amax;
    if (globalScale) {
      Value g = broadcastLike(b, loc, globalScale, like);
      scaled = arith::DivFOp::create(b, loc, amax, g);
    }
    Value bits = arith::BitcastOp::create(b, loc, i32, scaled);
    Value field =
        arith::ShRUIOp::create(b, loc, bits, getInt(b, loc, like, 23));
    Value shifted =
        arith::SubIOp::create(b, loc, field, getInt(b, loc, like, emax));
    Value low =
        arith::MaxSIOp::create(b, loc, shifted, getInt(b, loc, like, 0));
    Value byte = arith::MinSIOp::create(b, loc, low, getInt(b, loc, like, 254));
    Value narrow =
        arith::TruncIOp::create(b, loc, getTypeLike(like, b.getI8Type()), byte);
    return arith::BitcastOp::create(b, loc, scaleType, narrow);
  }

  // sf = RNE_E4M3(min(amax / (target * g), 448)).
  Value divisor = getFloat(b, loc, like, target);
  if (globalScale)
    divisor = arith::MulFOp::create(b, loc, divisor,
                                    broadcastLike(b, loc, globalScale, like));
  Value quotient = arith::DivFOp::create(b, loc, amax, divisor);
  Value largest =
      getFloat(b, loc, like,
               APFloat::getLargest(getScaleType().getFloatSemantics())
                   .convertToDouble());
  Value clamped = arith::MinNumFOp::create(b, loc, quotient, largest);
  return arith::TruncFOp::create(b, loc, scaleType, clamped);
}

Value FormatAttr::emitEncode(OpBuilder &b, Location loc, Value value,
                             Value scale, Value globalScale) const {
  Type like = value.getType();
  Type elementType = getTypeLike(like, getElementType());
  Value divisor, zeroScale;
  if (scale) {
    Value decoded = broadcastLike(b, loc, toF32(b, loc, scale), like);
    zeroScale = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                      decoded, getFloat(b, loc, like, 0.0));
    divisor = decoded;
  }
  if (globalScale) {
    Value g = broadcastLike(b, loc, globalScale, like);
    divisor =
        divisor ? arith::MulFOp::create(b, loc, divisor, g).getResult() : g;
  }
  Value original = value;
  if (divisor)
    value = arith::DivFOp::create(b, loc, value, divisor);
  if (zeroScale && !isa<Float8E8M0FNUType>(getScaleType())) {
    // Under a scale of zero every code is a zero of the value's sign.
    Type i32 = getTypeLike(like, b.getI32Type());
    Value bits = arith::BitcastOp::create(b, loc, i32, original);
    Value sign = arith::AndIOp::create(
        b, loc, bits, getInt(b, loc, like, int64_t(int32_t(0x80000000u))));
    Value zero = arith::BitcastOp::create(
        b, loc, getTypeLike(like, b.getF32Type()), sign);
    value = arith::SelectOp::create(b, loc, zeroScale, zero, value);
  }
  return arith::TruncFOp::create(b, loc, elementType, value);
}

Value FormatAttr::emitDecode(OpBuilder &b, Location loc, Value element,
                             Value scale, Value globalScale) const {
  Value value = toF32(b, loc, element);
  Type like = value.getType();
  // Element times block scale is exact in f32, so the product with the global
  // scale is rounded once.
  if (scale)
    value = arith::MulFOp::create(
        b, loc, value, broadcastLike(b, loc, toF32(b, loc, scale), like));
  if (globalScale)
    value = arith::MulFOp::create(b, loc, value,
                                  broadcastLike(b, loc, globalScale, like));
  return value;
}
