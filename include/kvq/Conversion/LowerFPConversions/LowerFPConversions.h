//===- LowerFPConversions.h - Low-bit float conversions -------------------===//

#ifndef KVQ_CONVERSION_LOWERFPCONVERSIONS_LOWERFPCONVERSIONS_H
#define KVQ_CONVERSION_LOWERFPCONVERSIONS_LOWERFPCONVERSIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace kvq {

#define GEN_PASS_DECL_LOWERFPCONVERSIONS
#include "kvq/Conversion/Passes.h.inc"

/// Adds the patterns of `kvq-lower-fp-conversions`.
void populateLowerFPConversionsPatterns(mlir::RewritePatternSet &patterns);

/// True if `type` is an element type whose bits the functions below know:
/// f4E2M1FN, f8E4M3FN, f8E8M0FNU, f16, bf16, f32.
bool hasFloatBits(mlir::Type type);

/// Builds the widening of `value` (scalar or shaped, of an element type with
/// `hasFloatBits`) to the bits of the equal f32, as i32 of the same shape.
/// Exact; integer operations only, but for conversions of small integers.
mlir::Value buildF32Bits(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value);

/// Builds the narrowing of f32 bits (i32, scalar or shaped) to a value of
/// element type `elementType` by the rules of `kvq-lower-fp-conversions`.
/// `elementType` must satisfy `hasFloatBits` and must not be f16.
mlir::Value buildFromF32Bits(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value bits, mlir::Type elementType);

} // namespace kvq

#endif // KVQ_CONVERSION_LOWERFPCONVERSIONS_LOWERFPCONVERSIONS_H
