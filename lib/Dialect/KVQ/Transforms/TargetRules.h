//===- TargetRules.h - Checks of operations against a chip ----------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_TARGETRULES_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_TARGETRULES_H

#include "kvq/Dialect/KVQ/Analysis/MMARules.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"

namespace kvq {

/// Checks the `chip` option of a pass, which names a chip of the table of MMA
/// rules, or "cpu" where `allowCPU`. On failure emits an error at `op` that
/// lists what is accepted.
mlir::LogicalResult verifyChip(mlir::Operation *op, llvm::StringRef chip,
                               bool allowCPU = false);

/// What the rules look at for one product of an attention.
MMARequest getMMARequest(DequantAttentionOp op, MMAProduct product);

/// Checks that a chip has `kind` for a product of `op`. On failure emits an
/// error with a note that names the rule that is broken and its source.
mlir::LogicalResult verifyMMAKind(DequantAttentionOp op, llvm::StringRef chip,
                                  MMAProduct product, MMAKindAttr kind);

/// "block_scaled<terms = 2>", "f16".
std::string describeMMAKind(MMAKindAttr kind);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_TARGETRULES_H
