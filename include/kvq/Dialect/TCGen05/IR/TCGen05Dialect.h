//===- TCGen05Dialect.h - The kvq_tcgen05 dialect -------------------------===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05DIALECT_H
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05DIALECT_H

#include "mlir/IR/Dialect.h"

#include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.h.inc"

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05DIALECT_H
