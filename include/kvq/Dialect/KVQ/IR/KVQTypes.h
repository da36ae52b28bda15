//===- KVQTypes.h - Types of the kvq dialect ------------------------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQTYPES_H
#define KVQ_DIALECT_KVQ_IR_KVQTYPES_H

#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

#define GET_TYPEDEF_CLASSES
#include "kvq/Dialect/KVQ/IR/KVQTypes.h.inc"

#endif // KVQ_DIALECT_KVQ_IR_KVQTYPES_H
