//===- ViewChain.h - Tensor operations that move whole rows ---------------===//
//
// Between quantize and append, or gather and dequantize, front ends put
// transposes, reshapes, casts and slices. These move rows of head_dim and leave
// them whole, so that they commute with anything that works on rows.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_VIEWCHAIN_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_VIEWCHAIN_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace kvq {

/// Returns what an argument of a loop always is, if the loop yields it
/// unchanged, otherwise null.
mlir::Value getLoopInvariantSource(mlir::Value value);

/// Takes tensor.cast and loops that do not change a value off it.
mlir::Value stripCasts(mlir::Value value);

/// Whether two tensors or memrefs hold the same: the same value, equal
/// constants, or equal slices of the same, casts aside.
bool isSameTensor(mlir::Value lhs, mlir::Value rhs);

/// The operations from a base value to a value: tensor.cast, collapse_shape,
/// expand_shape and extract_slice, and linalg.transpose.
class ViewChain {
public:
  /// Walks up from `value` as far as there are such operations.
  explicit ViewChain(mlir::Value value);

  /// The first value that no such operation makes.
  mlir::Value getBase() const { return base; }

  /// The operations, from the base downwards.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

  /// Returns the first operation that does not leave the innermost dimension
  /// as it is, or null.
  mlir::Operation *findOpOnRows() const;

  /// Whether both chains do the same to all dimensions but the innermost.
  bool movesRowsAs(const ViewChain &other) const;

  /// Repeats the operations on `value`, which has the shape of the base and any
  /// element type.
  mlir::Value replay(mlir::OpBuilder &builder, mlir::Value value) const;

private:
  mlir::Value base;
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_VIEWCHAIN_H
