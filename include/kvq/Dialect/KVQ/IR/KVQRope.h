//===- KVQRope.h - Emit rotary position embeddings ------------------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQROPE_H
#define KVQ_DIALECT_KVQ_IR_KVQROPE_H

#include "mlir/IR/Builders.h"

namespace kvq {

/// The bits of the NaN that a rotation gives, whatever NaN went in.
inline constexpr int32_t kRotatedNaN = 0x7fc00000;

/// Emits the rotation of a pair of channels, f32 scalars or vectors:
/// (x0 * cos - x1 * sin, x1 * cos + x0 * sin), each product and each sum
/// rounded to f32, with subnormals whatever the modes of a processor.
std::pair<mlir::Value, mlir::Value>
emitRotation(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x0,
             mlir::Value x1, mlir::Value cos, mlir::Value sin);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_IR_KVQROPE_H
