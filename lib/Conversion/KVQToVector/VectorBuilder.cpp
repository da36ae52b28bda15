//===- VectorBuilder.cpp - A builder of vector loops ----------------------===//

#include "VectorBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static TypedAttr splatLike(Type like, TypedAttr scalar) {
  if (auto vector = dyn_cast<VectorType>(like))
    return DenseElementsAttr::get(vector, Attribute(scalar));
  return scalar;
}

Value VectorBuilder::constantLike(Type like, double value) {
  return arith::ConstantOp::create(
      *this, splatLike(like, getFloatAttr(getElementTypeOrSelf(like), value)));
}

Value VectorBuilder::constantLike(Type like, int64_t value) {
  return arith::ConstantOp::create(
      *this,
      splatLike(like, getIntegerAttr(getElementTypeOrSelf(like), value)));
}

Value VectorBuilder::zeroBits(Type type) {
  Type element = getElementTypeOrSelf(type);
  Type integer = getIntegerType(element.getIntOrFloatBitWidth());
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::BitcastOp::create(
        *this, type, constantLike(vector.clone(integer), int64_t(0)));
  return arith::BitcastOp::create(*this, type,
                                  constantLike(integer, int64_t(0)));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value VectorBuilder::isEqual(Value a, int64_t b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a,
                                     constantLike(a.getType(), b));
}

/// Spreads the one of `a` and `b` that is a scalar.
static void unify(VectorBuilder &b, Value &x, Value &y) {
  auto xType = dyn_cast<VectorType>(x.getType());
  auto yType = dyn_cast<VectorType>(y.getType());
  if (xType && !yType)
    y = b.broadcast(y, xType.getNumElements());
  else if (yType && !xType)
    x = b.broadcast(x, yType.getNumElements());
}

Value VectorBuilder::addF(Value a, Value b) {
  unify(*this, a, b);
  return arith::AddFOp::create(*this, a, b);
}

Value VectorBuilder::subF(Value a, Value b) {
  unify(*this, a, b);
  return arith::SubFOp::create(*this, a, b);
}

Value VectorBuilder::mulF(Value a, Value b) {
  unify(*this, a, b);
  return arith::MulFOp::create(*this, a, b);
}

Value VectorBuilder::divF(Value a, Value b) {
  unify(*this, a, b);
  return arith::DivFOp::create(*this, a, b);
}

Value VectorBuilder::maxF(Value a, Value b) {
  unify(*this, a, b);
  Value isGreater =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(*this, isGreater, a, b);
}

Value VectorBuilder::fma(Value a, Value b, Value c) {
  unify(*this, a, b);
  unify(*this, a, c);
  unify(*this, b, c);
  return math::FmaOp::create(*this, a, b, c);
}

Value VectorBuilder::isEqualF(Value a, double b) {
  return arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, a,
                               constantLike(a.getType(), b));
}

Value VectorBuilder::andI(Value a, int64_t b) {
  return arith::AndIOp::create(*this, a, constantLike(a.getType(), b));
}

Value VectorBuilder::orI(Value a, Value b) {
  return arith::OrIOp::create(*this, a, b);
}

Value VectorBuilder::shl(Value a, int64_t b) {
  return arith::ShLIOp::create(*this, a, constantLike(a.getType(), b));
}

Value VectorBuilder::shr(Value a, int64_t b) {
  return arith::ShRUIOp::create(*this, a, constantLike(a.getType(), b));
}

Value VectorBuilder::select(Value condition, Value a, Value b) {
  unify(*this, a, b);
  return arith::SelectOp::create(*this, condition, a, b);
}

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

Value VectorBuilder::bitcast(Value value, Type elementType) {
  if (getElementTypeOrSelf(value) == elementType)
    return value;
  return arith::BitcastOp::create(
      *this, withElement(value.getType(), elementType), value);
}

Value VectorBuilder::toF32(Value value) {
  if (getElementTypeOrSelf(value).isF32())
    return value;
  return arith::ExtFOp::create(
      *this, withElement(value.getType(), getF32Type()), value);
}

Value VectorBuilder::fromF32(Value value, Type elementType) {
  if (elementType.isF32())
    return value;
  return arith::TruncFOp::create(
      *this, withElement(value.getType(), elementType), value);
}

Value VectorBuilder::toI32(Value index) {
  return arith::IndexCastOp::create(*this, getI32Type(), index);
}

Value VectorBuilder::expOfNegative(Value x) {
  Type type = x.getType();
  auto c = [&](double value) { return constantLike(type, value); };
  // x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds to an
  // integer, which stays in the low bits; NaN passes through.
  Value magic = c(0x1.8p23);
  Value shifted = fma(x, c(0x1.715476p0), magic);
  Value n = subF(shifted, magic);
  // ln 2 in two parts, the first with few enough bits that n times it is
  // exact.
  Value r = fma(n, c(-0x1.62e4p-1), x);
  r = fma(n, c(-0x1.7f7d1cp-20), r);
  // The Taylor series to r^7: the rest is below 2^-28 of it.
  Value p = c(1.0 / 5040);
  for (double coefficient :
       {1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    p = fma(p, r, c(coefficient));
  Type i32 = withElement(type, getI32Type());
  Value exponent = shl(arith::BitcastOp::create(*this, i32, shifted), 23);
  Value bits = arith::AddIOp::create(
      *this, arith::BitcastOp::create(*this, i32, p), exponent);
  Value result = arith::BitcastOp::create(*this, type, bits);
  // The least normal result is at -87.3.
  Value isSmall =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, x, c(-87.0));
  result = arith::SelectOp::create(*this, isSmall, c(0.0), result);
  Value isNaN = arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(*this, isNaN, x, result);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value VectorBuilder::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(*this, vec(lanes, scalar.getType()),
                                     scalar);
}

Value VectorBuilder::shuffle(Value a, Value b, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(*this, a, b, lanes);
}

Value VectorBuilder::extract(Value a, int64_t lane) {
  return vector::ExtractOp::create(*this, a, lane);
}

Value VectorBuilder::slice(Value a, int64_t begin, int64_t lanes) {
  return vector::ExtractStridedSliceOp::create(
      *this, a, ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{lanes},
      ArrayRef<int64_t>{1});
}

Value VectorBuilder::reduceAdd(Value a) {
  // Halves are added, so that the order is the same on every target.
  for (int64_t lanes = cast<VectorType>(a.getType()).getNumElements();
       lanes > 1; lanes /= 2)
    a = addF(slice(a, 0, lanes / 2), slice(a, lanes / 2, lanes / 2));
  return extract(a, 0);
}

Value VectorBuilder::reduceMax(Value a) {
  for (int64_t lanes = cast<VectorType>(a.getType()).getNumElements();
       lanes > 1; lanes /= 2)
    a = maxF(slice(a, 0, lanes / 2), slice(a, lanes / 2, lanes / 2));
  return extract(a, 0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value VectorBuilder::loadVector(Value memref, ValueRange indices,
                                int64_t lanes) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return vector::LoadOp::create(*this, vec(lanes, element), memref, indices);
}

void VectorBuilder::storeVector(Value value, Value memref, ValueRange indices) {
  vector::StoreOp::create(*this, value, memref, indices);
}

void VectorBuilder::prefetch(Value memref, ValueRange indices) {
  memref::PrefetchOp::create(*this, memref, indices, /*isWrite=*/false,
                             /*localityHint=*/3, /*isDataCache=*/true);
}

Value VectorBuilder::alloc(ArrayRef<Value> sizes, Type type) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamicSizes;
  for (Value size : sizes) {
    if (std::optional<int64_t> constant = getConstantIntValue(size)) {
      shape.push_back(*constant);
      continue;
    }
    shape.push_back(ShapedType::kDynamic);
    dynamicSizes.push_back(size);
  }
  return memref::AllocOp::create(*this, MemRefType::get(shape, type),
                                 dynamicSizes, getI64IntegerAttr(64));
}

void VectorBuilder::dealloc(Value memref) {
  memref::DeallocOp::create(*this, memref);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void VectorBuilder::loop(Value begin, Value end, int64_t step,
                         function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, index(step));
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value>
VectorBuilder::carry(Value begin, Value end, int64_t step, ValueRange inits,
                     function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, index(step), inits);
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(*this, next);
  return llvm::to_vector(ValueRange(loop.getResults()));
}

void VectorBuilder::parallel(ArrayRef<Value> sizes,
                             function_ref<void(ValueRange)> body) {
  if (sizes.empty())
    return body({});
  SmallVector<Value> begins(sizes.size(), index(0));
  SmallVector<Value> steps(sizes.size(), index(1));
  auto loop = scf::ParallelOp::create(*this, begins, sizes, steps);
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVars());
}
