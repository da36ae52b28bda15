//===- KVQOps.h - Operations of the kvq dialect ---------------------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQOPS_H
#define KVQ_DIALECT_KVQ_IR_KVQOPS_H

#include "kvq/Dialect/KVQ/IR/KVQTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kvq::detail {

/// Whether `type` is a shaped type of a rank from `min` to `max`.
inline bool hasRank(mlir::Type type, int64_t min, int64_t max) {
  auto shaped = mlir::cast<mlir::ShapedType>(type);
  return shaped.hasRank() && shaped.getRank() >= min && shaped.getRank() <= max;
}

} // namespace kvq::detail

#define GET_OP_CLASSES
#include "kvq/Dialect/KVQ/IR/KVQOps.h.inc"

namespace kvq {

/// Returns what kvq-assign-block-scales has still to decide before code can be
/// made for an operation, for an error: "operand #1 is of type ..., whose scale
/// layout is not decided". Empty if there is nothing.
std::string describeUndecided(mlir::Operation *op);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_IR_KVQOPS_H
