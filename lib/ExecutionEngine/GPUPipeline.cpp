//===- GPUPipeline.cpp - Lower a module for a GPU -------------------------===//

#include "kvq/ExecutionEngine/GPUPipeline.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"

using namespace kvq;
using namespace mlir;

LogicalResult kvq::lowerForGPU(ModuleOp module, StringRef chip) {
  PassManager manager(module.getContext(), module.getOperationName());
  KVQToNVVMOptions options;
  options.chip = chip.str();
  buildKVQToPTXPipeline(manager, options);
  return manager.run(module);
}
