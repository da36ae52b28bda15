//===- LoopBuilder.h - A builder of scalar loops --------------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_LOOPBUILDER_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_LOOPBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvq {

/// Builds loops and scalar arithmetic so that a lowering reads like the code
/// it emits. Arithmetic on indices is folded where it can be.
class LoopBuilder : public mlir::ImplicitLocOpBuilder {
public:
  LoopBuilder(mlir::Location loc, mlir::OpBuilder &builder)
      : ImplicitLocOpBuilder(loc, builder) {}

  /// Constants.
  mlir::Value index(int64_t value);
  mlir::Value f32(double value);
  mlir::Value f64(double value);

  /// Arithmetic on indices. Division and remainder are of values that are not
  /// negative; the others, and comparison, are signed.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value isLess(mlir::Value a, mlir::Value b);

  /// Comparison of floats: ordered, and unordered or not equal.
  mlir::Value isGreater(mlir::Value a, mlir::Value b);
  mlir::Value isNotEqual(mlir::Value a, mlir::Value b);

  /// condition ? a : b.
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// Size `dim` of a memref.
  mlir::Value size(mlir::Value memref, int64_t dim);

  /// The sizes of a memref but for its last `drop` dimensions.
  llvm::SmallVector<mlir::Value> sizes(mlir::Value memref, int64_t drop = 0);

  /// Loads and stores of one element.
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices);
  void store(mlir::Value value, mlir::Value memref, mlir::ValueRange indices);

  /// Loads a signed integer as an index.
  mlir::Value loadIndex(mlir::Value memref, mlir::ValueRange indices);

  /// Converts a float exactly to f32 from a narrower type, or to f64.
  mlir::Value toF32(mlir::Value value);
  mlir::Value toF64(mlir::Value value);

  /// Rounds an f32 to a type of at most 32 bits.
  mlir::Value fromF32(mlir::Value value, mlir::Type type);

  /// Rounds an f64 to a type of at most 32 bits, through f32.
  mlir::Value fromF64(mlir::Value value, mlir::Type type);

  /// for (i = begin; i < end; ++i) body(i).
  void loop(mlir::Value begin, mlir::Value end,
            llvm::function_ref<void(mlir::Value)> body);

  /// A nest of loops from 0 to each of `sizes`.
  void nest(llvm::ArrayRef<mlir::Value> sizes,
            llvm::function_ref<void(mlir::ValueRange)> body);

  /// for (i = begin; i < end; ++i) accumulator = body(i, accumulator).
  mlir::Value
  reduce(mlir::Value begin, mlir::Value end, mlir::Value init,
         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body);

  /// if (condition) then() else otherwise().
  void when(mlir::Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);

  /// condition ? then() : otherwise(), where only one of them runs.
  mlir::Value choose(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise);
};

/// Appends one index to others.
llvm::SmallVector<mlir::Value> withIndex(mlir::ValueRange indices,
                                         mlir::Value last);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_LOOPBUILDER_H
