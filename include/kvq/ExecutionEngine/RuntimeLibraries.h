//===- RuntimeLibraries.h - Libraries that compiled code needs --*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_RUNTIMELIBRARIES_H
#define KVQ_EXECUTIONENGINE_RUNTIMELIBRARIES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kvq {

/// What runs the GPU kernels of a module: a library with the mgpu functions of
/// MLIR's GPU runtime libraries.
enum class GPURuntime {
  /// There are no kernels.
  None,
  /// The emulator of this project, libkvq_emu_runtime.so.
  Emulator,
  /// A CUDA device, through libmlir_cuda_runtime.so of an LLVM that was built
  /// with it.
  CUDA
};

/// Returns the file names of LLVM's runtime libraries that define what a
/// lowered module calls: asynchronous tasks, copies of strided memrefs,
/// APFloat, OpenMP.
llvm::SmallVector<std::string> getRuntimeLibraries(mlir::ModuleOp module);

/// Returns the paths of these libraries, and of that which runs kernels:
/// `gpuLibrary` if it is not empty, the usual one of `gpuRuntime` otherwise.
/// Fails if one is not installed.
llvm::Expected<llvm::SmallVector<std::string>>
findRuntimeLibraries(mlir::ModuleOp module,
                     GPURuntime gpuRuntime = GPURuntime::None,
                     llvm::StringRef gpuLibrary = "");

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_RUNTIMELIBRARIES_H
