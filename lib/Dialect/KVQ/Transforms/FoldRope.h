//===- FoldRope.h - Rotate keys where they are quantized ------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_FOLDROPE_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_FOLDROPE_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/IR/PatternMatch.h"

namespace kvq {

/// Makes an append of keys that a rotary position embedding was applied to, on
/// tensors, apply it itself (`rope`). Only where the bytes stay the same: the
/// rotation is in f32 and nothing is rounded after it. Reports what is folded;
/// returns why not, if the rows are rotated and cannot be folded.
std::optional<Report> foldRope(mlir::RewriterBase &rewriter,
                               QuantizeAppendOp append);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_FOLDROPE_H
