//===- RuntimeLibraries.h - Libraries that compiled code needs --*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_RUNTIMELIBRARIES_H
#define KVQ_EXECUTIONENGINE_RUNTIMELIBRARIES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kvq {

/// Returns the file names of LLVM's runtime libraries that define what a
/// lowered module calls: asynchronous tasks, copies of strided memrefs,
/// APFloat, OpenMP.
llvm::SmallVector<std::string> getRuntimeLibraries(mlir::ModuleOp module);

/// Returns the paths of these libraries. Fails if one is not installed.
llvm::Expected<llvm::SmallVector<std::string>>
findRuntimeLibraries(mlir::ModuleOp module);

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_RUNTIMELIBRARIES_H
