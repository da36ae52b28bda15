//===- RotateRow.h - Emit the rotary embedding of one row -----------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_ROTATEROW_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_ROTATEROW_H

#include "VectorBuilder.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"

namespace kvq::detail {

/// Loads `lanes` channels of a head of a row that is appended, from `d` on, in
/// f32 and rotated as far as the operation rotates them. `d` is a multiple of
/// `lanes`. One of a single lane is a scalar.
mlir::Value loadRotated(VectorBuilder &b, QuantizeAppendOp op, mlir::Value row,
                        mlir::Value head, mlir::Value d, int64_t lanes);

} // namespace kvq::detail

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_ROTATEROW_H
