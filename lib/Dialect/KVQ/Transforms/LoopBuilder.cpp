//===- LoopBuilder.cpp - A builder of scalar loops ------------------------===//

#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kvq;

Value LoopBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value LoopBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value LoopBuilder::f64(double value) {
  return arith::ConstantOp::create(*this, getF64FloatAttr(value));
}

Value LoopBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}

Value LoopBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}

Value LoopBuilder::mul(Value a, Value b) {
  return createOrFold<arith::MulIOp>(a, b);
}

Value LoopBuilder::div(Value a, Value b) {
  return createOrFold<arith::DivUIOp>(a, b);
}

Value LoopBuilder::rem(Value a, Value b) {
  return createOrFold<arith::RemUIOp>(a, b);
}

Value LoopBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinSIOp>(a, b);
}

Value LoopBuilder::max(Value a, Value b) {
  return createOrFold<arith::MaxSIOp>(a, b);
}

Value LoopBuilder::isLess(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}

Value LoopBuilder::isGreater(Value a, Value b) {
  return arith::CmpFOp::create(*this, arith::CmpFPredicate::OGT, a, b);
}

Value LoopBuilder::isNotEqual(Value a, Value b) {
  return arith::CmpFOp::create(*this, arith::CmpFPredicate::UNE, a, b);
}

Value LoopBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}

Value LoopBuilder::size(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return index(type.getDimSize(dim));
  return memref::DimOp::create(*this, memref, dim);
}

SmallVector<Value> LoopBuilder::sizes(Value memref, int64_t drop) {
  SmallVector<Value> sizes;
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  for (int64_t dim = 0; dim < rank - drop; ++dim)
    sizes.push_back(size(memref, dim));
  return sizes;
}

Value LoopBuilder::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(*this, memref, indices);
}

void LoopBuilder::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(*this, value, memref, indices);
}

Value LoopBuilder::loadIndex(Value memref, ValueRange indices) {
  return arith::IndexCastOp::create(*this, getIndexType(),
                                    load(memref, indices));
}

Value LoopBuilder::toF32(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(*this, getF32Type(), value);
}

Value LoopBuilder::toF64(Value value) {
  if (value.getType().isF64())
    return value;
  return arith::ExtFOp::create(*this, getF64Type(), toF32(value));
}

Value LoopBuilder::fromF32(Value value, Type type) {
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(*this, type, value);
}

Value LoopBuilder::fromF64(Value value, Type type) {
  return fromF32(arith::TruncFOp::create(*this, getF32Type(), value), type);
}

void LoopBuilder::loop(Value begin, Value end, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, index(1));
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void LoopBuilder::nest(ArrayRef<Value> sizes,
                       function_ref<void(ValueRange)> body) {
  InsertionGuard guard(*this);
  SmallVector<Value> indices;
  Value zero = index(0), one = index(1);
  for (Value size : sizes) {
    auto loop = scf::ForOp::create(*this, zero, size, one);
    setInsertionPointToStart(loop.getBody());
    indices.push_back(loop.getInductionVar());
  }
  body(indices);
}

Value LoopBuilder::reduce(Value begin, Value end, Value init,
                          function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, index(1), init);
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(*this, next);
  return loop.getResult(0);
}

void LoopBuilder::when(Value condition, function_ref<void()> then,
                       function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(*this, condition, bool(otherwise));
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
  if (!otherwise)
    return;
  setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

Value LoopBuilder::choose(Value condition, Type type,
                          function_ref<Value()> then,
                          function_ref<Value()> otherwise) {
  auto branch =
      scf::IfOp::create(*this, type, condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(*this, then());
  setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(*this, otherwise());
  return branch.getResult(0);
}

SmallVector<Value> kvq::withIndex(ValueRange indices, Value last) {
  SmallVector<Value> result(indices);
  result.push_back(last);
  return result;
}
