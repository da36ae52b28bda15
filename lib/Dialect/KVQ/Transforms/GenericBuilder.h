//===- GenericBuilder.h - A builder of linalg.generic ---------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_GENERICBUILDER_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_GENERICBUILDER_H

#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"
#include "mlir/IR/AffineExpr.h"

namespace kvq {

/// Builds `linalg.generic` operations on tensors, with the scalar arithmetic
/// of LoopBuilder in their bodies.
class GenericBuilder : public LoopBuilder {
public:
  using LoopBuilder::LoopBuilder;

  /// A tensor and the index of each of its dimensions.
  struct Operand {
    mlir::Value tensor;
    llvm::SmallVector<mlir::AffineExpr> indices;
  };

  /// Emits the elements of the results; the arguments are the elements of the
  /// inputs, then of the outs.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange elements)>;

  /// Emits a generic over `numLoops` loops. Those that index the first of the
  /// outs are parallel, the others reductions. Returns its results.
  llvm::SmallVector<mlir::Value> generic(unsigned numLoops,
                                         llvm::ArrayRef<Operand> inputs,
                                         llvm::ArrayRef<Operand> outs,
                                         Body body);

  /// The same with one result.
  mlir::Value generic(unsigned numLoops, llvm::ArrayRef<Operand> inputs,
                      const Operand &out,
                      llvm::function_ref<mlir::Value(mlir::ValueRange)> body);

  /// The expressions of loops `first` to `last` - 1.
  llvm::SmallVector<mlir::AffineExpr> loops(unsigned first, unsigned last);

  /// The index of loop `number`, in the body of a generic.
  mlir::Value loopIndex(unsigned number);

  /// Size `dim` of a tensor.
  mlir::OpFoldResult tensorSize(mlir::Value tensor, int64_t dim);
  mlir::Value tensorSizeValue(mlir::Value tensor, int64_t dim);

  /// Tensors without and with contents.
  mlir::Value empty(llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::Type type);
  mlir::Value filled(llvm::ArrayRef<mlir::OpFoldResult> sizes,
                     mlir::Value scalar);

  /// One element of a tensor, and of integers as an index.
  mlir::Value extract(mlir::Value tensor, mlir::ValueRange indices);
  mlir::Value extractIndex(mlir::Value tensor, mlir::ValueRange indices);

  /// Comparison of indices, signed.
  mlir::Value isAtMost(mlir::Value a, mlir::Value b);
};

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_GENERICBUILDER_H
