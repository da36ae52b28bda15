//===- Passes.h - Passes over the kvq_tcgen05 dialect ---------------------===//

#ifndef KVQ_DIALECT_TCGEN05_TRANSFORMS_PASSES_H
#define KVQ_DIALECT_TCGEN05_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace kvq::tcgen05 {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "kvq/Dialect/TCGen05/Transforms/Passes.h.inc"

} // namespace kvq::tcgen05

#endif // KVQ_DIALECT_TCGEN05_TRANSFORMS_PASSES_H
