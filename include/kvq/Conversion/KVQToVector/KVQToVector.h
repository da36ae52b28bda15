//===- KVQToVector.h - Fast CPU lowering of kvq operations ----------------===//

#ifndef KVQ_CONVERSION_KVQTOVECTOR_KVQTOVECTOR_H
#define KVQ_CONVERSION_KVQTOVECTOR_KVQTOVECTOR_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace kvq {

#define GEN_PASS_DECL_CONVERTKVQTOVECTOR
#include "kvq/Conversion/Passes.h.inc"

/// Adds patterns that lower the operations of the dialect on memrefs and
/// handles to parallel loops of vector arithmetic. `kvq.make_cache` and the
/// accessors of handles stay.
void populateKVQToVectorPatterns(mlir::RewritePatternSet &patterns);

} // namespace kvq

#endif // KVQ_CONVERSION_KVQTOVECTOR_KVQTOVECTOR_H
