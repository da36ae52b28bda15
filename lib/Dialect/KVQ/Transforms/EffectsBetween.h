//===- EffectsBetween.h - What may run between two operations -------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_EFFECTSBETWEEN_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_EFFECTSBETWEEN_H

#include "kvq/Dialect/KVQ/Analysis/HandleAliasAnalysis.h"
#include "mlir/IR/Operation.h"

namespace kvq {

/// Returns an operation that `isObstacle` accepts and that may run after `from`
/// and before `to`, or null. `from` dominates `to`; both are in one function.
/// Every operation that may run in between is asked, nested ones too.
mlir::Operation *
findBetween(mlir::Operation *from, mlir::Operation *to,
            llvm::function_ref<bool(mlir::Operation *)> isObstacle);

/// Returns an operation that may change, after `from` and before `to`, what is
/// read through a handle or from a memref, or null. The value may be a tensor,
/// which nothing changes.
mlir::Operation *findWriterBetween(mlir::Operation *from, mlir::Operation *to,
                                   mlir::Value value,
                                   HandleAliasAnalysis &analysis);

/// Whether the global scale `scale`, an f32, is known to be the one that
/// `handle` has when `at` runs: loaded from the handle or from the memref that
/// it was made with, and not written since.
bool isGlobalScaleOf(mlir::Value scale, mlir::Value handle, mlir::Operation *at,
                     HandleAliasAnalysis &analysis);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_EFFECTSBETWEEN_H
