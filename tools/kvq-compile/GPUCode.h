//===- GPUCode.h - From a module to GPU kernels -----------------*- C++ -*-===//

#ifndef KVQ_TOOLS_KVQ_COMPILE_GPUCODE_H
#define KVQ_TOOLS_KVQ_COMPILE_GPUCODE_H

#include "kvq/Support/Chip.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvq {

/// Lowers a module for a chip by `kvq-to-nvvm`, with its option
/// `require-tensor-cores`. `features` is what getChipFeatures returned. Without
/// `withHost` only the kernels are left in the module. Fails after a
/// diagnostic.
llvm::Error lowerForChip(mlir::ModuleOp module, const Chip &chip,
                         llvm::StringRef features, bool requireTensorCores,
                         bool withHost);

/// Makes PTX of the kernels of a lowered module.
llvm::Error lowerKernelsToPTX(mlir::ModuleOp module);

/// The manifest of the kernels of a lowered module, before they become PTX.
llvm::Expected<std::string> getManifest(mlir::ModuleOp module, const Chip &chip,
                                        llvm::StringRef features);

/// The LLVM IR of the kernels of a module lowered by `kvq-to-nvvm`, before
/// LLVM's optimizations.
llvm::Expected<std::string> getKernelLLVM(mlir::ModuleOp module);

/// The PTX that lowerKernelsToPTX made.
llvm::Expected<std::string> getKernelPTX(mlir::ModuleOp module);

/// Assembles PTX by the program `ptxas` into a cubin.
llvm::Expected<std::string> assemble(llvm::StringRef ptx, const Chip &chip,
                                     llvm::StringRef ptxas);

} // namespace kvq

#endif // KVQ_TOOLS_KVQ_COMPILE_GPUCODE_H
