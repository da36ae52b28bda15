//===- Decompose.h - The patterns of kvq-decompose ------------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_DECOMPOSE_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_DECOMPOSE_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace kvq {

/// Adds patterns that lower the operations of the dialect on memrefs and
/// handles to scalar loops. `kvq.make_cache` and the accessors of handles stay.
void populateDecomposePatterns(mlir::RewritePatternSet &patterns);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_DECOMPOSE_H
