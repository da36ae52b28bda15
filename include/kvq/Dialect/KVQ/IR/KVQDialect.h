//===- KVQDialect.h - The kvq dialect -------------------------------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQDIALECT_H
#define KVQ_DIALECT_KVQ_IR_KVQDIALECT_H

#include "mlir/IR/Dialect.h"

#include "kvq/Dialect/KVQ/IR/KVQDialect.h.inc"

#endif // KVQ_DIALECT_KVQ_IR_KVQDIALECT_H
