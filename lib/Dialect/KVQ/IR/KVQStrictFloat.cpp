//===- KVQStrictFloat.cpp - Emit f32 arithmetic that no mode changes ------===//

#include "kvq/Dialect/KVQ/IR/KVQStrictFloat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

/// A constant with the shape of `like` and the element type of `scalar`.
static Value getConstant(OpBuilder &b, Location loc, Type like,
                         TypedAttr scalar) {
  if (auto vector = dyn_cast<VectorType>(like))
    scalar = DenseElementsAttr::get(vector.clone(scalar.getType()),
                                    Attribute(scalar));
  return arith::ConstantOp::create(b, loc, scalar);
}

/// The element type `element` with the shape of `like`.
static Type getTypeLike(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

Value kvq::emitStrictWiden(OpBuilder &b, Location loc, Value value) {
  Type like = value.getType();
  Type i32 = getTypeLike(like, b.getI32Type());
  Type f64 = getTypeLike(like, b.getF64Type());
  auto integer = [&](int32_t bits) {
    return getConstant(b, loc, like, b.getI32IntegerAttr(bits));
  };
  // A subnormal is its fraction times 2^-149; a conversion instruction may
  // read it as zero.
  Value bits = arith::BitcastOp::create(b, loc, i32, value);
  Value fraction = arith::AndIOp::create(b, loc, bits, integer(0x7fffffff));
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           bits, integer(0));
  Value negated = arith::SubIOp::create(b, loc, integer(0), fraction);
  Value isSigned =
      arith::SelectOp::create(b, loc, isNegative, negated, fraction);
  Value small = arith::MulFOp::create(
      b, loc, arith::SIToFPOp::create(b, loc, f64, isSigned),
      getConstant(b, loc, like, b.getF64FloatAttr(0x1p-149)));
  Value normal = arith::ExtFOp::create(b, loc, f64, value);
  // Zeros keep their sign in a conversion.
  Value isSubnormal = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::ult,
      arith::SubIOp::create(b, loc, fraction, integer(1)), integer(0x007fffff));
  return arith::SelectOp::create(b, loc, isSubnormal, small, normal);
}

Value kvq::emitStrictRound(OpBuilder &b, Location loc, Value value) {
  Type like = value.getType();
  auto constant = [&](double value) {
    return getConstant(b, loc, like, b.getF64FloatAttr(value));
  };
  // In units of 2^-149 a subnormal is an integer, and so is what is left of
  // the sum with a number whose last place is 1.
  Value scaled = arith::MulFOp::create(b, loc, value, constant(0x1p149));
  Value shifted = arith::AddFOp::create(b, loc, scaled, constant(0x1.8p52));
  Value integer = arith::SubFOp::create(b, loc, shifted, constant(0x1.8p52));
  Value small = arith::MulFOp::create(b, loc, integer, constant(0x1p-149));
  Value narrow =
      arith::TruncFOp::create(b, loc, getTypeLike(like, b.getF32Type()), value);
  Value normal = arith::ExtFOp::create(b, loc, like, narrow);
  Value isBelow = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                        value, constant(0x1p-126));
  Value isAbove = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                        value, constant(-0x1p-126));
  Value isSmall = arith::AndIOp::create(b, loc, isBelow, isAbove);
  return arith::SelectOp::create(b, loc, isSmall, small, normal);
}

Value kvq::emitStrictNarrow(OpBuilder &b, Location loc, Value value) {
  Type like = value.getType();
  Type i32 = getTypeLike(like, b.getI32Type());
  Type i64 = getTypeLike(like, b.getI64Type());
  auto integer = [&](int64_t bits) {
    return getConstant(b, loc, like, b.getI64IntegerAttr(bits));
  };
  auto constant = [&](double value) {
    return getConstant(b, loc, like, b.getF64FloatAttr(value));
  };
  Value bits = arith::BitcastOp::create(b, loc, i64, value);
  Value magnitude = arith::AndIOp::create(
      b, loc, bits, integer(std::numeric_limits<int64_t>::max()));
  // In units of 2^-149 a subnormal is an integer, and the fraction of the sum
  // with a number whose last place is 1.
  Value scaled = arith::MulFOp::create(
      b, loc, arith::BitcastOp::create(b, loc, like, magnitude),
      constant(0x1p149));
  Value shifted = arith::AddFOp::create(b, loc, scaled, constant(0x1p52));
  Value fraction = arith::TruncIOp::create(
      b, loc, i32, arith::BitcastOp::create(b, loc, i64, shifted));
  Value sign = arith::TruncIOp::create(
      b, loc, i32, arith::ShRUIOp::create(b, loc, bits, integer(32)));
  sign = arith::AndIOp::create(
      b, loc, sign, getConstant(b, loc, like, b.getI32IntegerAttr(INT32_MIN)));
  Value small = arith::OrIOp::create(b, loc, sign, fraction);
  Value normal = arith::BitcastOp::create(
      b, loc, i32,
      arith::TruncFOp::create(b, loc, getTypeLike(like, b.getF32Type()),
                              value));
  Value isSmall =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, magnitude,
                            integer(llvm::bit_cast<int64_t>(0x1p-126)));
  return arith::BitcastOp::create(
      b, loc, getTypeLike(like, b.getF32Type()),
      arith::SelectOp::create(b, loc, isSmall, small, normal));
}
