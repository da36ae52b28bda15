//===- TCGen05.td - Umbrella of the kvq_tcgen05 dialect ---*- tablegen -*-===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05_TD
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05_TD

include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.td"
include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.td"
include "kvq/Dialect/TCGen05/IR/TCGen05Types.td"
include "kvq/Dialect/TCGen05/IR/TCGen05Ops.td"

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05_TD
