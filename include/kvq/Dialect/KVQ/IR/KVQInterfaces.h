//===- KVQInterfaces.h - Interfaces of the kvq dialect --------------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQINTERFACES_H
#define KVQ_DIALECT_KVQ_IR_KVQINTERFACES_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

#include "kvq/Dialect/KVQ/IR/KVQEnums.h.inc"

namespace kvq::detail {

/// Returns the shape of the scales of data of shape [..., tokens, heads,
/// head_dim]; see KVFormatInterface.
llvm::SmallVector<int64_t> getScaleShape(llvm::ArrayRef<int64_t> dataShape,
                                         int64_t blockSize, BlockAxis axis);

/// Verifies types and sizes of the tables of a PagedBatchOpInterface.
mlir::LogicalResult verifyPagedBatchOp(mlir::Operation *op);

} // namespace kvq::detail

#include "kvq/Dialect/KVQ/IR/KVQAttrInterfaces.h.inc"
#include "kvq/Dialect/KVQ/IR/KVQOpInterfaces.h.inc"

#endif // KVQ_DIALECT_KVQ_IR_KVQINTERFACES_H
