//===- Pipelines.h - The named pass pipelines -----------------------------===//

#ifndef KVQ_PIPELINES_PIPELINES_H
#define KVQ_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace kvq {

/// Options of `kvq-to-cpu`.
struct KVQToCPUOptions : public mlir::PassPipelineOptions<KVQToCPUOptions> {
  Option<bool> reference{
      *this, "reference",
      llvm::cl::desc("Lower to plain scalar loops, the meaning of the dialect, "
                     "instead of vectors and threads"),
      llvm::cl::init(false)};
  Option<bool> threads{
      *this, "threads",
      llvm::cl::desc("Run parallel loops on MLIR's async runtime; the lowered "
                     "module then needs libmlir_async_runtime"),
      llvm::cl::init(true)};
};

/// Adds the passes that lower a module with `kvq` operations, on tensors or
/// memrefs, to the LLVM dialect for the CPU. A function with operations that
/// check their indices gains a last i32 result, the status of
/// `kvq/Support/RuntimeError.h`.
void buildKVQToCPUPipeline(mlir::OpPassManager &pm,
                           const KVQToCPUOptions &options);

/// Registers the pipelines by name.
void registerPipelines();

} // namespace kvq

#endif // KVQ_PIPELINES_PIPELINES_H
