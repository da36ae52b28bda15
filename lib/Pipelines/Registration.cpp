//===- Registration.cpp - Names of the pipelines --------------------------===//

#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void kvq::registerPipelines() {
  static mlir::PassPipelineRegistration<KVQOptimizeOptions> optimize(
      "kvq-optimize",
      "Fuse quantization and attention with caches, and decide formats, scale "
      "layouts, MMA kinds and KV splits for a chip",
      buildKVQOptimizePipeline);
  static mlir::PassPipelineRegistration<KVQToCPUOptions> toCPU(
      "kvq-to-cpu", "Lower kvq operations to the LLVM dialect for the CPU",
      buildKVQToCPUPipeline);
  static mlir::PassPipelineRegistration<KVQToNVVMOptions> toNVVM(
      "kvq-to-nvvm",
      "Lower kvq operations to GPU kernels in the nvvm dialect and to host "
      "code "
      "that launches them",
      buildKVQToNVVMPipeline);
  static mlir::PassPipelineRegistration<KVQToNVVMOptions> toPTX(
      "kvq-to-ptx",
      "Lower kvq operations to GPU kernels in PTX and to host code that "
      "launches "
      "them",
      buildKVQToPTXPipeline);
}
