//===- QuantizeRow.cpp - Emit the quantization of one row -----------------===//

#include "QuantizeRow.h"
#include "kvq/Dialect/KVQ/IR/KVQStrictFloat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::detail;

bool kvq::detail::isContiguous(Value memref) {
  return cast<MemRefType>(memref.getType()).isLastDimUnitStride();
}

Value kvq::detail::loadRun(VectorBuilder &b, Value memref, ValueRange indices,
                           int64_t lanes) {
  if (lanes == 1)
    return b.load(memref, indices);
  if (isContiguous(memref))
    return b.loadVector(memref, indices, lanes);
  SmallVector<Value> elements, at(indices);
  for (int64_t i = 0; i < lanes; ++i) {
    at.back() = b.add(indices.back(), i);
    elements.push_back(b.load(memref, at));
  }
  Type type = cast<MemRefType>(memref.getType()).getElementType();
  return vector::FromElementsOp::create(b, b.vec(lanes, type), elements);
}

void kvq::detail::storeRun(VectorBuilder &b, Value value, Value memref,
                           ValueRange indices) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return b.store(value, memref, indices);
  if (isContiguous(memref))
    return b.storeVector(value, memref, indices);
  SmallVector<Value> at(indices);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    at.back() = b.add(indices.back(), i);
    b.store(b.extract(value, i), memref, at);
  }
}

void kvq::detail::emitRuns(VectorBuilder &b, Value size, int64_t lanes,
                           function_ref<void(Value, int64_t)> body) {
  Value whole = b.mul(b.div(size, lanes), lanes);
  b.loop(b.index(0), whole, lanes, [&](Value d) { body(d, lanes); });
  if (getConstantIntValue(whole) &&
      getConstantIntValue(whole) == getConstantIntValue(size))
    return;
  b.loop(whole, size, 1, [&](Value d) { body(d, 1); });
}

/// The largest magnitude of a vector, NaN ignored. Bits of magnitudes order as
/// the magnitudes do, whatever a processor does with subnormals.
static Value emitLargestMagnitude(VectorBuilder &b, Value values) {
  Value bits = b.andI(b.bitcast(values, b.getI32Type()), 0x7fffffff);
  Value infinity = b.constantLike(bits.getType(), int64_t(0x7f800000));
  Value isNaN =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, bits, infinity);
  bits = b.select(isNaN, b.constantLike(bits.getType(), int64_t(0)), bits);
  Value largest =
      vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, bits);
  return arith::BitcastOp::create(b, b.getF32Type(), largest);
}

/// The sum, in the order of the elements, of the squared errors of `values`
/// under `scale`: an f64 that holds an f32.
static Value emitSquaredError(VectorBuilder &b, KVFormatInterface format,
                              Value globalScale, Value scale, Value values) {
  Location loc = b.getLoc();
  Value elements = format.emitEncode(b, loc, values, scale, globalScale);
  Value decoded = format.emitDecode(b, loc, elements, scale, globalScale);
  Value error = emitStrictRound(b, loc,
                                b.subF(emitStrictWiden(b, loc, values),
                                       emitStrictWiden(b, loc, decoded)));
  Value squares = emitStrictRound(b, loc, b.mulF(error, error));
  Value sum = b.constantLike(b.getF64Type(), 0.0);
  int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
  for (int64_t i = 0; i < lanes; ++i)
    sum = emitStrictRound(b, loc, b.addF(sum, b.extract(squares, i)));
  return sum;
}

void kvq::detail::emitQuantizeRow(VectorBuilder &b, KVFormatInterface format,
                                  bool fourOverSix, Value globalScale,
                                  Value size, const QuantizeRow &row) {
  Location loc = b.getLoc();
  auto encode = [&](Value d, Value values, Value scale) {
    storeRun(b, format.emitEncode(b, loc, values, scale, globalScale), row.data,
             withIndex(row.dataIndices, d));
  };
  if (!format.hasBlockScale()) {
    emitRuns(b, size, 16, [&](Value d, int64_t lanes) {
      encode(d, row.load(d, lanes), /*scale=*/{});
    });
    return;
  }
  int64_t block = format.getBlockSize();
  b.loop(b.index(0), size, block, [&](Value d) {
    Value values = row.load(d, block);
    Value largest = emitLargestMagnitude(b, values);
    Value scale = format.emitBlockScale(b, loc, largest, globalScale,
                                        format.getLargestMagnitude());
    if (fourOverSix) {
      Value other = format.emitBlockScale(b, loc, largest, globalScale, 4.0);
      Value ofSix = emitSquaredError(b, format, globalScale, scale, values);
      Value ofFour = emitSquaredError(b, format, globalScale, other, values);
      Value isBetter =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, ofFour, ofSix);
      scale = arith::SelectOp::create(b, isBetter, other, scale);
    }
    row.storeScale(b.div(d, block), scale);
    encode(d, values, scale);
  });
}
