//===- ScaleCopies.h - Copies of block scales in another layout -----------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_SCALECOPIES_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_SCALECOPIES_H

#include "kvq/Dialect/KVQ/Analysis/HandleAliasAnalysis.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/IR/Dominance.h"

namespace kvq {

/// Makes handles whose data are those of another handle and whose scales are a
/// copy in another layout. A copy shows what the cache held when it was made:
/// it is made before a reader, outside of loops that do not write the cache,
/// and serves further readers up to the next write.
class ScaleCopies {
public:
  explicit ScaleCopies(mlir::Operation *root)
      : aliases(root), dominance(root) {}

  /// Returns a handle of `type`, which differs from that of `cache` in the
  /// scale layout, for `reader` to read.
  mlir::Value get(mlir::TypedValue<CacheType> cache, CacheType type,
                  mlir::Operation *reader);

private:
  mlir::Operation *hoist(mlir::Value cache, mlir::Operation *reader);

  HandleAliasAnalysis aliases;
  mlir::DominanceInfo dominance;
  /// The copies of a handle that there are.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<MakeCacheOp>> copies;
};

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_SCALECOPIES_H
