//===- KVQRope.cpp - Emit rotary position embeddings ----------------------===//

#include "kvq/Dialect/KVQ/IR/KVQRope.h"
#include "kvq/Dialect/KVQ/IR/KVQStrictFloat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

std::pair<Value, Value> kvq::emitRotation(OpBuilder &b, Location loc, Value x0,
                                          Value x1, Value cos, Value sin) {
  Type type = x0.getType();
  auto widen = [&](Value value) { return emitStrictWiden(b, loc, value); };
  // A product of two f32 is exact in f64; all is rounded as in f32.
  auto multiply = [&](Value a, Value c) {
    return widen(emitStrictNarrow(b, loc, arith::MulFOp::create(b, loc, a, c)));
  };
  // Which NaN an operation makes differs between processors.
  auto finish = [&](Value sum) -> Value {
    Value narrow = emitStrictNarrow(b, loc, sum);
    TypedAttr attr =
        b.getFloatAttr(b.getF32Type(), llvm::bit_cast<float>(kRotatedNaN));
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    Value nan = arith::ConstantOp::create(b, loc, attr);
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO,
                                        narrow, narrow);
    return arith::SelectOp::create(b, loc, isNaN, nan, narrow);
  };
  x0 = widen(x0);
  x1 = widen(x1);
  cos = widen(cos);
  sin = widen(sin);
  Value y0 =
      arith::SubFOp::create(b, loc, multiply(x0, cos), multiply(x1, sin));
  Value y1 =
      arith::AddFOp::create(b, loc, multiply(x1, cos), multiply(x0, sin));
  return {finish(y0), finish(y1)};
}
