//===- BufferizableOpInterfaceImpl.h - Bufferization of kvq ops -----------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kvq {

/// Attaches BufferizableOpInterface to the operations of the dialect, from
/// tensors to memrefs; handles pass through.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
