//===- InitAllExtensions.h - Register the interface implementations -------===//

#ifndef KVQ_INITALLEXTENSIONS_H
#define KVQ_INITALLEXTENSIONS_H

#include "kvq/Conversion/RuntimeChecks/RuntimeVerifiableOpInterfaceImpl.h"
#include "kvq/Conversion/TCGen05ToNVVM/TCGen05ToNVVM.h"
#include "kvq/Dialect/KVQ/TransformOps/KVQTransformOps.h"
#include "kvq/Dialect/KVQ/Transforms/AggregatedOpInterfaceImpl.h"
#include "kvq/Dialect/KVQ/Transforms/BufferizableOpInterfaceImpl.h"
#include "kvq/Dialect/KVQ/Transforms/TilingInterfaceImpl.h"
#include "kvq/Pipelines/Pipelines.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/TransformOps/DialectExtension.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/RuntimeOpVerification.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/RuntimeOpVerification.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/RuntimeOpVerification.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/DialectRegistry.h"

namespace kvq {

/// Registers what kvq adds to its own dialects and to the transform dialect:
/// enough for a tool that has the models of upstream's dialects.
inline void registerOwnExtensions(mlir::DialectRegistry &registry) {
  registerAggregatedOpInterfaceExternalModels(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
  registerConvertTCGen05ToLLVMInterface(registry);
  registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  registerTilingInterfaceExternalModels(registry);
  registerTransformDialectExtension(registry);
}

/// Registers the external interface models that the pipelines need: promised
/// interfaces that nobody registers abort at their first use.
inline void registerAllExtensions(mlir::DialectRegistry &registry) {
  registerOwnExtensions(registry);
  registerGPUExtensions(registry);
  mlir::arith::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  mlir::cf::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::linalg::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::linalg::registerTransformDialectExtension(registry);
  mlir::linalg::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  mlir::linalg::registerTilingInterfaceExternalModels(registry);
  mlir::memref::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  mlir::scf::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::tensor::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::tensor::registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  mlir::vector::registerBufferizableOpInterfaceExternalModels(registry);
}

} // namespace kvq

#endif // KVQ_INITALLEXTENSIONS_H
