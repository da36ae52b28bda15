//===- Registration.cpp - Names of the pipelines --------------------------===//

#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void kvq::registerPipelines() {
  static mlir::PassPipelineRegistration<KVQToCPUOptions> toCPU(
      "kvq-to-cpu", "Lower kvq operations to the LLVM dialect for the CPU",
      buildKVQToCPUPipeline);
}
