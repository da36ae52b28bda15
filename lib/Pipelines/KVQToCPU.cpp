//===- KVQToCPU.cpp - The CPU exit ----------------------------------------===//

#include "Bufferization.h"
#include "kvq/Conversion/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Async/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvq;

/// From parallel loops to tasks of the async runtime.
static void addAsync(OpPassManager &pm) {
  AsyncParallelForPassOptions options;
  // As many tasks as the runtime has threads, never fewer iterations than one.
  options.numWorkerThreads = -1;
  // An iteration is work enough for a task.
  options.minTaskSize = 1;
  options.asyncDispatch = true;
  pm.addPass(createAsyncParallelForPass(options));
  pm.addPass(createAsyncToAsyncRuntimePass());
  pm.addPass(createAsyncRuntimeRefCountingPass());
  pm.addPass(createAsyncRuntimeRefCountingOptPass());
}

/// From parallel loops to OpenMP regions.
static void addOpenMP(OpPassManager &pm) {
  pm.addPass(createConvertSCFToOpenMPPass());
  // It wraps bodies in allocation scopes, which end as one block only: they are
  // to go before there are several.
  pm.addPass(createCanonicalizerPass());
}

/// From memrefs, loops and vectors to the LLVM dialect.
static void addToLLVM(OpPassManager &pm, CPUThreads threads) {
  pm.addPass(createLowerFPConversions());
  pm.addPass(createLegalizeStorage());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  if (threads == CPUThreads::Async)
    pm.addPass(createConvertAsyncToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  if (threads == CPUThreads::OpenMP)
    pm.addPass(createConvertOpenMPToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createIsolateFloatMode());
}

void kvq::buildKVQToCPUPipeline(OpPassManager &pm,
                                const KVQToCPUOptions &options) {
  CPUThreads threads =
      options.reference ? CPUThreads::None : options.threads.getValue();
  pm.addPass(createVerifyHandles());
  addBufferization(pm, /*device=*/false);
  if (options.reference)
    pm.addNestedPass<func::FuncOp>(createDecompose());
  else
    pm.addNestedPass<func::FuncOp>(createConvertKVQToVector());
  pm.addPass(createExpandHandles());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  if (threads == CPUThreads::Async)
    addAsync(pm);
  else if (threads == CPUThreads::OpenMP)
    addOpenMP(pm);
  addToLLVM(pm, threads);
}
