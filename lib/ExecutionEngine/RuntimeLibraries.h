//===- RuntimeLibraries.h - Libraries that compiled code needs --*- C++ -*-===//

#ifndef KVQ_LIB_EXECUTIONENGINE_RUNTIMELIBRARIES_H
#define KVQ_LIB_EXECUTIONENGINE_RUNTIMELIBRARIES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kvq {

/// Returns the paths of MLIR's runtime libraries that define what a lowered
/// module declares: asynchronous tasks, copies of strided memrefs, APFloat.
/// Fails if one is not installed.
llvm::Expected<llvm::SmallVector<std::string>>
findRuntimeLibraries(mlir::ModuleOp module);

} // namespace kvq

#endif // KVQ_LIB_EXECUTIONENGINE_RUNTIMELIBRARIES_H
