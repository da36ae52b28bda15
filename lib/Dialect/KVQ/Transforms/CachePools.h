//===- CachePools.h - The memrefs that caches are made of -----------------===//
//
// Changing the format of a cache that kvq.make_cache bundles changes the
// memrefs it is made of, back to the arguments and allocations that they are
// views of, and adds memrefs for block scales and a global scale next to them.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_CACHEPOOLS_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_CACHEPOOLS_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace kvq {

/// All memrefs of a module that hold the data of converted caches.
class CachePools {
public:
  CachePools(mlir::ModuleOp module, bool addGlobalScaleArguments)
      : module(module), addGlobalScaleArguments(addGlobalScaleArguments),
        users(symbols, module) {}

  /// Adds the memrefs behind `make`, which shall make a cache of `type`. Fails,
  /// with an error, if they cannot be converted.
  mlir::LogicalResult add(MakeCacheOp make, CacheType type);

  /// Checks that the memrefs have no other uses. Fails with an error.
  mlir::LogicalResult verify();

  /// Changes the types of the memrefs, adds those of the scales, and gives them
  /// to the operations that were added, whose results must have their new
  /// types.
  void convert();

private:
  /// What a pool shall hold.
  struct Pool {
    /// The first operation that asks for it.
    MakeCacheOp make;
    CacheType type;
    /// Whether a global scale is to be made for it: the format has one and some
    /// operation neither has one nor an attribute with it.
    bool needsGlobalScale = false;
  };

  /// Memrefs that go with one that holds data; null where the format has none.
  struct Companions {
    mlir::Value scales, globalScale;
  };

  /// The argument of a function with a body that a call passes an operand to,
  /// or null.
  mlir::BlockArgument getPassedTo(mlir::OpOperand &use);
  mlir::LogicalResult addValue(mlir::Value memref, const Pool &pool);
  mlir::LogicalResult verifyUses(mlir::Value memref, const Pool &pool);
  void addArguments(mlir::func::FuncOp function);
  Companions getCompanions(mlir::Value memref);
  Companions makeAllocation(mlir::Operation *op, const Pool &pool);
  mlir::Value makeView(mlir::Operation *op, mlir::Value scales,
                       const Pool &pool);
  mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc,
                           float value);

  mlir::ModuleOp module;
  bool addGlobalScaleArguments;
  mlir::SymbolTableCollection symbols;
  mlir::SymbolUserMap users;
  /// Every memref of a pool, roots and views.
  llvm::MapVector<mlir::Value, Pool> pools;
  llvm::DenseMap<mlir::Value, Companions> companions;
  llvm::MapVector<mlir::Operation *, CacheType> added;
  /// Names of the constants of global scales.
  std::map<float, std::string> constants;
};

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_CACHEPOOLS_H
