//===- KVQ.td - Umbrella of the kvq dialect ---------------*- tablegen -*-===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQ_TD
#define KVQ_DIALECT_KVQ_IR_KVQ_TD

include "kvq/Dialect/KVQ/IR/KVQDialect.td"
include "kvq/Dialect/KVQ/IR/KVQInterfaces.td"
include "kvq/Dialect/KVQ/IR/KVQAttributes.td"
include "kvq/Dialect/KVQ/IR/KVQTypes.td"
include "kvq/Dialect/KVQ/IR/KVQOps.td"

#endif // KVQ_DIALECT_KVQ_IR_KVQ_TD
