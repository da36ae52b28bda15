//===- AggregateModels.h - The decompositions into linalg -----------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_AGGREGATEMODELS_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_AGGREGATEMODELS_H

#include "GenericBuilder.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"

namespace kvq::aggregate {

/// Emit what is equal to an operation on tensors, and return its results.
llvm::SmallVector<mlir::Value> emit(GenericBuilder &b, AttentionOp op);
llvm::SmallVector<mlir::Value> emit(GenericBuilder &b, MergeStatesOp op);
llvm::SmallVector<mlir::Value> emit(GenericBuilder &b, QuantizeOp op);
llvm::SmallVector<mlir::Value> emit(GenericBuilder &b, DequantizeOp op);

} // namespace kvq::aggregate

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_AGGREGATEMODELS_H
