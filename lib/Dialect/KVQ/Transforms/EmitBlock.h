//===- EmitBlock.h - Emit the quantization of one block -------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_EMITBLOCK_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_EMITBLOCK_H

#include "kvq/Dialect/KVQ/IR/KVQInterfaces.h"
#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"

namespace kvq::decompose {

/// Where the elements of one row of head_dim values come from and go to.
struct RowAccess {
  /// Loads value `d` in f32.
  llvm::function_ref<mlir::Value(mlir::Value d)> load;
  /// Stores the encoded element `d`.
  llvm::function_ref<void(mlir::Value d, mlir::Value element)> storeElement;
  /// Stores the scale of block `s` of the row.
  llvm::function_ref<void(mlir::Value s, mlir::Value scale)> storeScale;
};

/// Emits the scale of the block of values `begin` to `end` - 1 of a row, which
/// `load` gives in f32. `globalScale` is an f32 or null.
mlir::Value emitScaleOfBlock(LoopBuilder &b, KVFormatInterface format,
                             bool fourOverSix, mlir::Value globalScale,
                             mlir::Value begin, mlir::Value end,
                             llvm::function_ref<mlir::Value(mlir::Value)> load);

/// Emits the quantization of a row of `size` values whose blocks lie along it.
/// `globalScale` is an f32 or null.
void emitQuantizeRow(LoopBuilder &b, KVFormatInterface format, bool fourOverSix,
                     mlir::Value globalScale, mlir::Value size,
                     const RowAccess &row);

} // namespace kvq::decompose

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_EMITBLOCK_H
