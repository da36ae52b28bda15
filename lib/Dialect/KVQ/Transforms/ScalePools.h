//===- ScalePools.h - Caches that share block scales ----------------------===//
//
// Handles of one type are a class (CacheClasses.h). Classes whose handles may
// be made of the same memory have to agree on where a scale lies there, though
// no type says so: they are a pool.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_SCALEPOOLS_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_SCALEPOOLS_H

#include "CacheClasses.h"

namespace kvq {

/// Classes of one side that may have block scales in the same memory.
using ScalePool = llvm::SmallVector<const CacheClass *, 1>;

/// Collects the pools of the classes with block scales, or that shall have some
/// (fp4), in their order. Memory is followed through views and calls. Views of
/// one memref are told apart where layouts in it differ: two layers of it are
/// two pools then.
llvm::SmallVector<ScalePool>
collectScalePools(mlir::ModuleOp module, llvm::ArrayRef<CacheClass> classes);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_SCALEPOOLS_H
