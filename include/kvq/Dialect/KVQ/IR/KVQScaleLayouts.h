//===- KVQScaleLayouts.h - Emit the positions of block scales -------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQSCALELAYOUTS_H
#define KVQ_DIALECT_KVQ_IR_KVQSCALELAYOUTS_H

#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "mlir/IR/Builders.h"
#include <utility>

namespace kvq {

/// Emits where `layout`, which is decided, keeps scale `column` of row `row`
/// of a page and head, as getScalePosition computes it. All are of one type,
/// index or an integer or vectors of them, and count from 0; `columns` is the
/// width of the scale matrix. Returns row and column in the scales buffer.
std::pair<mlir::Value, mlir::Value>
emitScalePosition(mlir::OpBuilder &builder, mlir::Location loc,
                  ScaleLayout layout, mlir::Value row, mlir::Value column,
                  mlir::Value columns);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_IR_KVQSCALELAYOUTS_H
