//===- KVQToCPU.cpp - The CPU exit ----------------------------------------===//

#include "kvq/Conversion/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Async/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvq;

/// From tensors to memrefs, with run-time checks and deallocations in place.
static void addBufferization(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  // What callers pass and get back is contiguous.
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createInsertRuntimeChecks());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  bufferization::BufferDeallocationPipelineOptions deallocation;
  bufferization::buildBufferDeallocationPipeline(pm, deallocation);
  pm.addPass(createConvertBufferizationToMemRefPass());
}

/// From parallel loops to tasks of the async runtime.
static void addThreads(OpPassManager &pm) {
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

/// From memrefs, loops and vectors to the LLVM dialect.
static void addToLLVM(OpPassManager &pm, bool threads) {
  pm.addPass(createLowerFPConversions());
  pm.addPass(createLegalizeStorage());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  if (threads)
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
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void kvq::buildKVQToCPUPipeline(OpPassManager &pm,
                                const KVQToCPUOptions &options) {
  bool threads = options.threads && !options.reference;
  pm.addPass(createVerifyHandles());
  addBufferization(pm);
  if (options.reference)
    pm.addNestedPass<func::FuncOp>(createDecompose());
  else
    pm.addNestedPass<func::FuncOp>(createConvertKVQToVector());
  pm.addPass(createExpandHandles());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  if (threads)
    addThreads(pm);
  addToLLVM(pm, threads);
}
