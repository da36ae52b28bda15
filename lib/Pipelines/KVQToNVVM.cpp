//===- KVQToNVVM.cpp - The portable GPU exit ------------------------------===//

#include "Bufferization.h"
#include "kvq/Conversion/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/TCGen05/Transforms/Passes.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvq;

/// From the kernels' scf, arith, vector and nvgpu to the nvvm dialect.
static void addKernelLowering(OpPassManager &pm) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addNestedPass<gpu::GPUFuncOp>(tcgen05::createTCGen05AllocateTMem());
  kernels.addPass(createConvertTCGen05ToNVVM());
  kernels.addPass(createConvertNVGPUToNVVMPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertGpuOpsToNVVMOps());
  kernels.addPass(createConvertNVVMToLLVMPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

/// From the host's code around the launches to the LLVM dialect and calls of
/// the mgpu functions of MLIR's GPU runtime libraries.
static void addHostLowering(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createGpuToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void kvq::addKVQToKernels(OpPassManager &pm, const KVQToNVVMOptions &options) {
  pm.addPass(createVerifyHandles());
  addBufferization(pm, /*device=*/true);
  ConvertKVQToGPUOptions kernels;
  kernels.chip = options.chip;
  kernels.features = options.features;
  kernels.requireTensorCores = options.requireTensorCores;
  pm.addPass(createConvertKVQToGPU(kernels));
}

/// Makes what the kernels and the host's code have of low-bit types integers.
static void addStorageLowering(OpPassManager &pm) {
  pm.addPass(createLowerFPConversions());
  pm.addPass(createLegalizeStorage());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void kvq::addKernelsToNVVM(OpPassManager &pm) {
  addStorageLowering(pm);
  addKernelLowering(pm);
}

void kvq::buildKVQToNVVMPipeline(OpPassManager &pm,
                                 const KVQToNVVMOptions &options) {
  addKVQToKernels(pm, options);
  pm.addPass(createExpandHandles());
  addStorageLowering(pm);
  addKernelLowering(pm);
  addHostLowering(pm);
}

void kvq::addKernelsToPTX(OpPassManager &pm) {
  pm.addPass(createConvertKernelsToPTX());
}

void kvq::buildKVQToPTXPipeline(OpPassManager &pm,
                                const KVQToNVVMOptions &options) {
  buildKVQToNVVMPipeline(pm, options);
  addKernelsToPTX(pm);
}
