//===- CPUPipeline.cpp - Lower a module for this processor ----------------===//

#include "kvq/ExecutionEngine/CPUPipeline.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"

using namespace kvq;
using namespace mlir;

LogicalResult kvq::lowerForCPU(ModuleOp module, const CPULowering &lowering) {
  PassManager manager(module.getContext(), module.getOperationName());
  KVQToCPUOptions options;
  options.reference = lowering.reference;
  options.threads = lowering.threads;
  buildKVQToCPUPipeline(manager, options);
  return manager.run(module);
}
