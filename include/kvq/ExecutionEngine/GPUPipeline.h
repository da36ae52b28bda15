//===- GPUPipeline.h - Lower a module for a GPU -----------------*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_GPUPIPELINE_H
#define KVQ_EXECUTIONENGINE_GPUPIPELINE_H

#include "mlir/IR/BuiltinOps.h"

namespace kvq {

/// Lowers a module to PTX for a chip and to host code in the LLVM dialect that
/// launches it. Diagnostics say what failed.
mlir::LogicalResult lowerForGPU(mlir::ModuleOp module, llvm::StringRef chip);

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_GPUPIPELINE_H
