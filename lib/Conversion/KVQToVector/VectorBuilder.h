//===- VectorBuilder.h - A builder of vector loops ------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_VECTORBUILDER_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_VECTORBUILDER_H

#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace kvq {

/// Adds vectors and parallel loops to the builder of scalar loops. Where an
/// operation takes two values, one may be a scalar and the other a vector: the
/// scalar is spread.
class VectorBuilder : public LoopBuilder {
public:
  VectorBuilder(mlir::Location loc, mlir::OpBuilder &builder)
      : LoopBuilder(loc, builder) {}

  //===--------------------------------------------------------------------===//
  // Constants
  //===--------------------------------------------------------------------===//

  /// A constant with the type of `like`, a scalar or a vector.
  mlir::Value constantLike(mlir::Type like, double value);
  mlir::Value constantLike(mlir::Type like, int64_t value);
  mlir::Value i32(int64_t value) { return constantLike(getI32Type(), value); }
  /// A zero of any float type whose bits are all 0, or a vector of them.
  mlir::Value zeroBits(mlir::Type type);
  /// vector<lanes x type>.
  mlir::VectorType vec(int64_t lanes, mlir::Type type) {
    return mlir::VectorType::get({lanes}, type);
  }
  mlir::VectorType f32x(int64_t lanes) { return vec(lanes, getF32Type()); }

  //===--------------------------------------------------------------------===//
  // Indices and constants
  //===--------------------------------------------------------------------===//

  using LoopBuilder::add;
  using LoopBuilder::div;
  using LoopBuilder::mul;
  using LoopBuilder::rem;
  using LoopBuilder::sub;
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, index(b)); }
  mlir::Value sub(mlir::Value a, int64_t b) { return sub(a, index(b)); }
  mlir::Value mul(mlir::Value a, int64_t b) { return mul(a, index(b)); }
  mlir::Value div(mlir::Value a, int64_t b) { return div(a, index(b)); }
  mlir::Value rem(mlir::Value a, int64_t b) { return rem(a, index(b)); }
  /// The least multiple of `b` that is not below `a`, divided by `b`.
  mlir::Value ceilDiv(mlir::Value a, int64_t b) {
    return div(add(a, b - 1), b);
  }
  mlir::Value isEqual(mlir::Value a, int64_t b);

  //===--------------------------------------------------------------------===//
  // Integers and floats of any width
  //===--------------------------------------------------------------------===//

  mlir::Value addF(mlir::Value a, mlir::Value b);
  mlir::Value subF(mlir::Value a, mlir::Value b);
  mlir::Value mulF(mlir::Value a, mlir::Value b);
  mlir::Value divF(mlir::Value a, mlir::Value b);
  /// The larger of two floats; `b` where `a` is NaN.
  mlir::Value maxF(mlir::Value a, mlir::Value b);
  /// a * b + c, rounded once.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  /// Ordered and equal.
  mlir::Value isEqualF(mlir::Value a, double b);
  mlir::Value andI(mlir::Value a, int64_t b);
  mlir::Value orI(mlir::Value a, mlir::Value b);
  mlir::Value shl(mlir::Value a, int64_t b);
  mlir::Value shr(mlir::Value a, int64_t b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value bitcast(mlir::Value value, mlir::Type elementType);
  /// Converts floats exactly to f32, or rounds f32 to `elementType`.
  mlir::Value toF32(mlir::Value value);
  mlir::Value fromF32(mlir::Value value, mlir::Type elementType);
  mlir::Value toI32(mlir::Value index);

  /// e to the power of `x`, f32 that is not above 0 or NaN, to about one
  /// part in 2^23; 0 where the result is subnormal.
  mlir::Value expOfNegative(mlir::Value x);

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  mlir::Value broadcast(mlir::Value scalar, int64_t lanes);
  mlir::Value shuffle(mlir::Value a, mlir::Value b,
                      llvm::ArrayRef<int64_t> lanes);
  /// The vector whose lanes are `lanes` of `a`.
  mlir::Value pick(mlir::Value a, llvm::ArrayRef<int64_t> lanes) {
    return shuffle(a, a, lanes);
  }
  mlir::Value extract(mlir::Value a, int64_t lane);
  mlir::Value slice(mlir::Value a, int64_t begin, int64_t lanes);
  mlir::Value reduceAdd(mlir::Value a);
  mlir::Value reduceMax(mlir::Value a);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  mlir::Value loadVector(mlir::Value memref, mlir::ValueRange indices,
                         int64_t lanes);
  void storeVector(mlir::Value value, mlir::Value memref,
                   mlir::ValueRange indices);
  /// Brings the cache line of an element closer.
  void prefetch(mlir::Value memref, mlir::ValueRange indices);
  /// A new memref of `type` elements, aligned to 64 bytes.
  mlir::Value alloc(llvm::ArrayRef<mlir::Value> sizes, mlir::Type type);
  void dealloc(mlir::Value memref);

  //===--------------------------------------------------------------------===//
  // Control
  //===--------------------------------------------------------------------===//

  /// for (i = begin; i < end; i += step) body(i).
  void loop(mlir::Value begin, mlir::Value end, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  void loop(int64_t end, llvm::function_ref<void(mlir::Value)> body) {
    loop(index(0), index(end), 1, body);
  }
  /// A loop that carries values.
  llvm::SmallVector<mlir::Value>
  carry(mlir::Value begin, mlir::Value end, int64_t step,
        mlir::ValueRange inits,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                          mlir::ValueRange)>
            body);
  /// A loop whose iterations are independent, over [0, size) in each dimension.
  void parallel(llvm::ArrayRef<mlir::Value> sizes,
                llvm::function_ref<void(mlir::ValueRange)> body);
};

} // namespace kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_VECTORBUILDER_H
