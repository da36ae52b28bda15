//===- TCGen05Types.h - Types of the kvq_tcgen05 dialect ------------------===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05TYPES_H
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05TYPES_H

#include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <array>

#define GET_TYPEDEF_CLASSES
#include "kvq/Dialect/TCGen05/IR/TCGen05Types.h.inc"

namespace kvq::tcgen05 {

/// Lanes and 32-bit columns of the tensor memory of a CTA.
inline constexpr int64_t numLanes = 128, numWordColumns = 512;

/// Returns the 32-bit columns that a tmem or scales type takes.
int64_t getNumWords(mlir::Type region);

/// Returns the 32-bit column of element column `column` of a tmem or scales
/// type, which begins one.
int64_t getWordOf(mlir::Type region, int64_t column);

/// Returns what the first column of a tmem or scales type is a multiple of.
int64_t getWordAlignment(mlir::Type region);

/// Returns the lanes of a tmem or scales type, bit i of word i / 32.
std::array<uint32_t, 4> getLanes(mlir::Type region);

} // namespace kvq::tcgen05

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05TYPES_H
