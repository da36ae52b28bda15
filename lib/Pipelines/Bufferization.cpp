//===- Bufferization.cpp - From tensors to memrefs ------------------------===//

#include "Bufferization.h"
#include "kvq/Conversion/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvq;

void kvq::addBufferization(OpPassManager &pm, bool device) {
  // Neither operations of arith and math on tensors nor softmax have buffers.
  pm.addPass(createDecomposeSoftmax());
  pm.addPass(createConvertElementwiseToLinalgPass());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  // What callers pass and get back is contiguous.
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  InsertRuntimeChecksOptions checks;
  checks.device = device;
  pm.addPass(createInsertRuntimeChecks(checks));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  bufferization::BufferDeallocationPipelineOptions deallocation;
  bufferization::buildBufferDeallocationPipeline(pm, deallocation);
  pm.addPass(createConvertBufferizationToMemRefPass());
}
