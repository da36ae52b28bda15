//===- InitAllPasses.h - Register the passes and pipelines ----------------===//

#ifndef KVQ_INITALLPASSES_H
#define KVQ_INITALLPASSES_H

#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

namespace kvq {

/// Registers kvq's passes and pipelines, and the upstream passes that users
/// of kvq-opt combine with them.
inline void registerAllPasses() {
  registerKVQTransformsPasses();
  mlir::registerTransformsPasses();
}

} // namespace kvq

#endif // KVQ_INITALLPASSES_H
