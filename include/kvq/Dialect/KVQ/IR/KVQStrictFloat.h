//===- KVQStrictFloat.h - Emit f32 arithmetic that no mode changes --------===//
//
// Arithmetic of f32 whose subnormal inputs and results are kept whatever the
// flush-to-zero and denormals-are-zero modes of a processor are: it is done in
// f64, where every f32, product and quotient of two is normal, and each result
// is rounded to f32 precision. That the double rounding is harmless is argued
// in kvq/Support/StrictFloat.h, which is the same on the host.
//
// Values are scalars or vectors.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQSTRICTFLOAT_H
#define KVQ_DIALECT_KVQ_IR_KVQSTRICTFLOAT_H

#include "mlir/IR/Builders.h"

namespace kvq {

/// Emits the conversion of an f32 to f64, exactly.
mlir::Value emitStrictWiden(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value);

/// Emits the rounding of an f64 to the nearest f32, ties to even. The result
/// is an f64. The sign of a subnormal result that is zero is lost.
mlir::Value emitStrictRound(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value);

/// Emits the same rounding with an f32 as the result, and with the sign of
/// every zero.
mlir::Value emitStrictNarrow(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_IR_KVQSTRICTFLOAT_H
