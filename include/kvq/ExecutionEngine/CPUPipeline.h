//===- CPUPipeline.h - Lower a module for this processor --------*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_CPUPIPELINE_H
#define KVQ_EXECUTIONENGINE_CPUPIPELINE_H

#include "mlir/IR/BuiltinOps.h"

namespace kvq {

/// Which of the two CPU lowerings to use, and whether with threads.
struct CPULowering {
  bool reference = false;
  bool threads = true;
};

/// Lowers a module to the LLVM dialect. Diagnostics say what failed.
mlir::LogicalResult lowerForCPU(mlir::ModuleOp module,
                                const CPULowering &lowering);

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_CPUPIPELINE_H
