//===- KVQFormats.cpp - The arithmetic of the built-in formats ------------===//
//
// How #kvq.format implements KVFormatInterface. The conversions to and from
// low-bit floats are arith.extf and arith.truncf, with clamping and rounding
// to nearest even as kvq-lower-fp-conversions defines them; everything else is
// the f32 arithmetic of the numeric contract, in its order. Encoding keeps
// subnormals in every mode of a processor, through f64 where they can occur.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "kvq/Dialect/KVQ/IR/KVQStrictFloat.h"
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

/// The quotient of an f32 and an f64 that holds an f32, rounded once to f32.
/// Subnormal quotients may be zero: no element or scale is that small.
static Value divideStrictly(OpBuilder &b, Location loc, Value dividend,
                            Value divisor) {
  Value quotient =
      arith::DivFOp::create(b, loc, emitStrictWiden(b, loc, dividend), divisor);
  return arith::TruncFOp::create(b, loc, dividend.getType(), quotient);
}

//===----------------------------------------------------------------------===//
// UndecidedFP4Attr
//===----------------------------------------------------------------------===//

FloatType UndecidedFP4Attr::getElementType() const {
  return Float4E2M1FNType::get(getContext());
}

FloatType UndecidedFP4Attr::getScaleType() const { return {}; }

int64_t UndecidedFP4Attr::getBlockSize() const { return 0; }

BlockAxis UndecidedFP4Attr::getBlockAxis() const { return BlockAxis::HeadDim; }

bool UndecidedFP4Attr::getHasGlobalScale() const { return false; }

double UndecidedFP4Attr::getLargestMagnitude() const { return 6; }

// Lowerings reject what is undecided first (describeUndecided).

Value UndecidedFP4Attr::emitBlockScale(OpBuilder &, Location, Value, Value,
                                       double) const {
  llvm_unreachable("the block scales are not decided");
}

Value UndecidedFP4Attr::emitEncode(OpBuilder &, Location, Value, Value,
                                   Value) const {
  llvm_unreachable("the block scales are not decided");
}

Value UndecidedFP4Attr::emitDecode(OpBuilder &, Location, Value, Value,
                                   Value) const {
  llvm_unreachable("the block scales are not decided");
}

//===----------------------------------------------------------------------===//
// FormatAttr
//===----------------------------------------------------------------------===//

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

  // sf = RNE_E4M3(min(amax / (target * g), 448)). Only a global scale brings in
  // subnormals that matter: otherwise they are far below the smallest scale.
  Value quotient;
  if (globalScale) {
    Value g = broadcastLike(b, loc, globalScale, like);
    Value product = arith::MulFOp::create(
        b, loc, emitStrictWiden(b, loc, getFloat(b, loc, like, target)),
        emitStrictWiden(b, loc, g));
    quotient = divideStrictly(b, loc, amax, emitStrictRound(b, loc, product));
  } else {
    quotient =
        arith::DivFOp::create(b, loc, amax, getFloat(b, loc, like, target));
  }
  Value largest =
      getFloat(b, loc, like,
               APFloat::getLargest(getScaleType().getFloatSemantics())
                   .convertToDouble());
  // Infinity over infinity is NaN, and saturates as infinity does.
  Value clamped = arith::MinNumFOp::create(b, loc, quotient, largest);
  return arith::TruncFOp::create(b, loc, scaleType, clamped);
}

Value FormatAttr::emitEncode(OpBuilder &b, Location loc, Value value,
                             Value scale, Value globalScale) const {
  Type like = value.getType();
  Type elementType = getTypeLike(like, getElementType());
  if (!scale && !globalScale)
    return arith::TruncFOp::create(b, loc, elementType, value);

  Value decoded;
  if (scale)
    decoded = broadcastLike(b, loc, toF32(b, loc, scale), like);
  Value quotient;
  if (scale && !globalScale && !isa<Float8E8M0FNUType>(getScaleType())) {
    // An E4M3 scale is normal in f32, and a subnormal value under it is zero.
    quotient = arith::DivFOp::create(b, loc, value, decoded);
  } else {
    Value divisor;
    if (scale)
      divisor = emitStrictWiden(b, loc, decoded);
    if (globalScale) {
      Value g =
          emitStrictWiden(b, loc, broadcastLike(b, loc, globalScale, like));
      // The product is exact in f64.
      divisor = divisor ? emitStrictRound(
                              b, loc, arith::MulFOp::create(b, loc, divisor, g))
                        : g;
    }
    quotient = divideStrictly(b, loc, value, divisor);
  }

  // A product of scales that underflows or overflows makes NaN of a zero or an
  // infinity, which are what they are under any scale. NaN stays NaN.
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO,
                                      quotient, quotient);
  Value result = arith::SelectOp::create(b, loc, isNaN, value, quotient);
  if (scale && !isa<Float8E8M0FNUType>(getScaleType())) {
    // Under a scale of zero every code is a zero of the value's sign.
    Type i32 = getTypeLike(like, b.getI32Type());
    Value bits = arith::BitcastOp::create(b, loc, i32, value);
    Value sign = arith::AndIOp::create(
        b, loc, bits, getInt(b, loc, like, int64_t(int32_t(0x80000000u))));
    Value zero = arith::BitcastOp::create(b, loc, like, sign);
    Value isNumber =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, value, value);
    Value zeroScale =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, decoded,
                              getFloat(b, loc, like, 0.0));
    Value vanishes = arith::AndIOp::create(b, loc, zeroScale, isNumber);
    result = arith::SelectOp::create(b, loc, vanishes, zero, result);
  }
  return arith::TruncFOp::create(b, loc, elementType, result);
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
