//===- Bufferization.h - From tensors to memrefs --------------------------===//

#ifndef KVQ_LIB_PIPELINES_BUFFERIZATION_H
#define KVQ_LIB_PIPELINES_BUFFERIZATION_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace kvq {

/// Adds the passes from tensors to memrefs, with run-time checks and
/// deallocations in place. With `device` the operations of the dialect will run
/// on a device.
void addBufferization(mlir::OpPassManager &pm, bool device);

} // namespace kvq

#endif // KVQ_LIB_PIPELINES_BUFFERIZATION_H
