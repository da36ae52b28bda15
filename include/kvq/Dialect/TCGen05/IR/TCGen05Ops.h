//===- TCGen05Ops.h - Operations of the kvq_tcgen05 dialect ---------------===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05OPS_H
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05OPS_H

#include "kvq/Dialect/TCGen05/IR/TCGen05Types.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kvq::tcgen05::detail {

/// Whether `type` is a memref in workgroup memory or an LLVM pointer to it.
bool isSharedMemory(mlir::Type type);

/// The attribute of a column that is a number, null for one that is a value.
mlir::IntegerAttr getColumnAttr(mlir::OpBuilder &builder,
                                mlir::OpFoldResult column);

} // namespace kvq::tcgen05::detail

#define GET_OP_CLASSES
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h.inc"

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05OPS_H
