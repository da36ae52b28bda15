//===- CPUPipeline.h - Lower a module for this processor --------*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_CPUPIPELINE_H
#define KVQ_EXECUTIONENGINE_CPUPIPELINE_H

#include "kvq/Pipelines/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvq {

/// Which of the two CPU lowerings to use, and what runs parallel loops of the
/// fast one.
struct CPULowering {
  bool reference = false;
  CPUThreads threads = CPUThreads::Async;
};

/// Lowers a module to the LLVM dialect. Diagnostics say what failed.
mlir::LogicalResult lowerForCPU(mlir::ModuleOp module,
                                const CPULowering &lowering);

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_CPUPIPELINE_H
