//===- KVQOptimize.cpp - From a float model to scheduled kvq operations ---===//

#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvq;

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void kvq::buildKVQOptimizePipeline(OpPassManager &pm,
                                   const KVQOptimizeOptions &options) {
  // Tables and lengths that are computed twice become one: the fusions ask.
  addCleanup(pm);
  pm.addNestedPass<func::FuncOp>(createRaiseAttention());
  if (!options.keyFormat.empty() || !options.valueFormat.empty() ||
      !options.formatsFile.empty()) {
    ConvertCacheFormatOptions formats;
    formats.keyFormat = options.keyFormat;
    formats.valueFormat = options.valueFormat;
    formats.formatsFile = options.formatsFile;
    formats.globalScale = options.globalScale;
    formats.scaleLayout = "undecided";
    formats.strict = options.strict;
    pm.addPass(createConvertCacheFormat(formats));
  }
  pm.addPass(createFuseQuantizeAppend({/*require=*/options.strict}));
  pm.addPass(createFuseDequantAttention({/*require=*/options.strict}));
  addCleanup(pm);

  AssignBlockScalesOptions scales;
  scales.chip = options.chip;
  scales.valueReader = options.valueReader;
  scales.globalScale = options.globalScale;
  scales.maxError = options.maxError;
  scales.maxStoredError = options.maxStoredError;
  pm.addPass(createAssignBlockScales(scales));
  // The CPU exit has no MMA kinds, and splits on its own.
  if (options.chip != "cpu") {
    SelectMMAOptions kinds;
    kinds.chip = options.chip;
    kinds.maxError = options.maxError;
    pm.addNestedPass<func::FuncOp>(createSelectMMA(kinds));
    SplitKVOptions split;
    split.splitLength = options.splitLength;
    pm.addNestedPass<func::FuncOp>(createSplitKV(split));
  }
  // Copies of scales and splits make the same sizes and outputs several times.
  addCleanup(pm);
  pm.addPass(createVerifyHandles());
  VerifyTargetOptions target;
  target.chip = options.chip;
  pm.addNestedPass<func::FuncOp>(createVerifyTarget(target));
}
