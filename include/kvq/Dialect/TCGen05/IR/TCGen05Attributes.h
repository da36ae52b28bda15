//===- TCGen05Attributes.h - Attributes of the kvq_tcgen05 dialect --------===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05ATTRIBUTES_H
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05ATTRIBUTES_H

#include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "kvq/Dialect/TCGen05/IR/TCGen05Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.h.inc"

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05ATTRIBUTES_H
