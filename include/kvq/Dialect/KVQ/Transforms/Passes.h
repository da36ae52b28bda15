//===- Passes.h - Passes over the kvq dialect -----------------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_PASSES_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace kvq {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_PASSES_H
