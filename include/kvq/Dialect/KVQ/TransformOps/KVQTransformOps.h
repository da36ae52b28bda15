//===- KVQTransformOps.h - Transform operations of kvq --------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_H
#define KVQ_DIALECT_KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "kvq/Dialect/KVQ/TransformOps/KVQTransformOps.h.inc"

namespace kvq {

/// Adds the operations `transform.kvq.*` and `transform.apply_patterns.kvq.*`
/// to the transform dialect.
void registerTransformDialectExtension(mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_H
