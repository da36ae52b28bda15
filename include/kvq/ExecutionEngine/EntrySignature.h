//===- EntrySignature.h - What a function of a module takes -----*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_ENTRYSIGNATURE_H
#define KVQ_EXECUTIONENGINE_ENTRYSIGNATURE_H

#include "kvq/ExecutionEngine/HostType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvq {

/// The arguments and results of a function as a host sees them. They are read
/// from the module before it is lowered, as lowering loses shapes and element
/// types.
struct EntrySignature {
  /// Finds a public function with a body. Emits an error at its location, or
  /// that of the module, if there is none or a type cannot be passed.
  static mlir::FailureOr<EntrySignature> get(mlir::ModuleOp module,
                                             llvm::StringRef name);

  /// Whether the lowered function returns an i32 status after the results.
  /// Emits an error at the function if it returns something else.
  mlir::FailureOr<bool> returnsStatus(mlir::ModuleOp lowered) const;

  std::string name;
  llvm::SmallVector<HostType> arguments;
  llvm::SmallVector<HostType> results;

  /// Returns the type of a result in the lowered function: an LLVM structure
  /// for a descriptor.
  static mlir::Type getLoweredType(const HostType &type);
};

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_ENTRYSIGNATURE_H
