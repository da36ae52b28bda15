//===- CacheClasses.h - Handles that have one type ------------------------===//
//
// A handle flows through calls, loops, branches and selects, and has one type
// everywhere. A class holds all values that a handle flows through, and what
// the handles come from: to change a type is to change that of a class.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_CACHECLASSES_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_CACHECLASSES_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace kvq {

/// The values that a handle flows through.
struct CacheClass {
  llvm::SmallVector<mlir::Value> values;
  /// Where handles come from: kvq.make_cache, and arguments of functions that
  /// no call of the module reaches, or not only.
  llvm::SmallVector<MakeCacheOp> made;
  llvm::SmallVector<mlir::BlockArgument> arguments;
  /// An operation that passes the handle to a function without a body here, or
  /// that is neither of the dialect nor known to pass handles on, or null.
  mlir::Operation *external = nullptr;
  /// Whether a function that callers outside of the module may call takes it.
  bool isPublic = false;

  CacheType getType() const {
    return mlir::cast<CacheType>(values.front().getType());
  }

  /// The operation that a report about the class is made at: what a handle of
  /// it comes from first.
  mlir::Operation *getReportOp() const;

  /// What a report calls it, for example "argument #2" or "a cache".
  std::string describe() const;
};

/// Collects the classes of the handles of a module, in the order in which their
/// first values occur.
llvm::SmallVector<CacheClass> collectCacheClasses(mlir::ModuleOp module);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_CACHECLASSES_H
