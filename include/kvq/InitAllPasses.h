//===- InitAllPasses.h - Register the passes and pipelines ----------------===//

#ifndef KVQ_INITALLPASSES_H
#define KVQ_INITALLPASSES_H

#include "kvq/Conversion/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/TCGen05/Transforms/Passes.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Transform/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

namespace kvq {

/// Registers kvq's passes and pipelines, and the upstream passes that users
/// of kvq-opt combine with them.
inline void registerAllPasses() {
  registerKVQTransformsPasses();
  registerKVQConversionPasses();
  tcgen05::registerKVQTCGen05TransformsPasses();
  registerPipelines();
  mlir::registerTransformsPasses();
  mlir::transform::registerTransformPasses();
  mlir::bufferization::registerBufferizationPasses();
  mlir::bufferization::registerBufferizationPipelines();
}

} // namespace kvq

#endif // KVQ_INITALLPASSES_H
