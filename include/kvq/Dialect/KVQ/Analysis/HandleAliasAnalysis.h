//===- HandleAliasAnalysis.h - Which handles share bytes ------------------===//

#ifndef KVQ_DIALECT_KVQ_ANALYSIS_HANDLEALIASANALYSIS_H
#define KVQ_DIALECT_KVQ_ANALYSIS_HANDLEALIASANALYSIS_H

#include "mlir/Analysis/AliasAnalysis.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace kvq {

/// Decides whether cache handles share bytes, and what an operation does to
/// the bytes of a handle, by the dialect's rules:
///
/// - a key and a value handle never share bytes;
/// - the roots of a handle are the function arguments and the memrefs (seen
///   through views) that it may come from; two handles share bytes if and only
///   if they have a common root;
/// - an argument with the attribute `kvq.may_alias` may share bytes with any
///   root, and so may a handle of unknown origin, such as the result of a call.
///
/// The analysis follows loops, branches and selects. It caches what it finds:
/// make a new one after changing the IR.
class HandleAliasAnalysis {
public:
  /// For use with getAnalysis<HandleAliasAnalysis>(); the operation is not
  /// needed.
  explicit HandleAliasAnalysis(mlir::Operation *) {}

  /// Where the bytes of a handle or a memref may come from.
  struct Roots {
    llvm::SmallPtrSet<mlir::Value, 2> values;
    /// Whether some origin is not known, or shares bytes with anything.
    bool anything = false;
  };

  /// Returns the roots of a handle or a memref.
  const Roots &getRoots(mlir::Value value);

  /// Whether two handles, two memrefs or one of each share bytes. "Must" is
  /// answered for one and the same value only.
  mlir::AliasResult alias(mlir::Value lhs, mlir::Value rhs);

  /// What `op`, without the operations nested in it, may do to the bytes of
  /// `handle`.
  mlir::ModRefResult getModRef(mlir::Operation *op, mlir::Value handle);

  /// Whether `op`, without the operations nested in it, may change what is read
  /// through `handle`: data, scales or global scale.
  bool mayWrite(mlir::Operation *op, mlir::Value handle);

  /// Whether `op`, without the operations nested in it, may change the global
  /// scale that a memref holds. None does through a handle.
  bool mayWriteGlobalScale(mlir::Operation *op, mlir::Value globalScale);

private:
  void addRoots(mlir::Value value, Roots &roots,
                llvm::SmallPtrSetImpl<mlir::Value> &visited,
                llvm::SmallVectorImpl<mlir::Value> *globalScales = nullptr);

  llvm::DenseMap<mlir::Value, Roots> cache;
};

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_ANALYSIS_HANDLEALIASANALYSIS_H
