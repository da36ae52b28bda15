//===- QuantizeRow.h - Emit the quantization of one row -------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_QUANTIZEROW_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_QUANTIZEROW_H

#include "VectorBuilder.h"
#include "kvq/Dialect/KVQ/IR/KVQInterfaces.h"

namespace kvq::detail {

/// A row of values to quantize and where its elements go.
struct QuantizeRow {
  /// Loads `lanes` values from `d` on in f32.
  llvm::function_ref<mlir::Value(mlir::Value d, int64_t lanes)> load;
  /// The memref of the elements with the indices of the row, to which that of
  /// an element is appended.
  mlir::Value data;
  llvm::SmallVector<mlir::Value> dataIndices;
  /// Stores the scale of block `s`.
  llvm::function_ref<void(mlir::Value s, mlir::Value scale)> storeScale;
};

/// Emits the quantization of a row of `size` values, whose blocks lie along
/// it. `globalScale` is an f32 or null.
void emitQuantizeRow(VectorBuilder &b, KVFormatInterface format,
                     bool fourOverSix, mlir::Value globalScale,
                     mlir::Value size, const QuantizeRow &row);

/// Emits loops over [0, size) in steps of a vector's lanes and, for what is
/// left, of one. `body` gets the first element and the number of lanes.
void emitRuns(VectorBuilder &b, mlir::Value size, int64_t lanes,
              llvm::function_ref<void(mlir::Value, int64_t)> body);

/// Whether neighbours of the innermost dimension are neighbours in memory.
bool isContiguous(mlir::Value memref);

/// Loads or stores `lanes` elements. One of a single lane is a scalar.
mlir::Value loadRun(VectorBuilder &b, mlir::Value memref,
                    mlir::ValueRange indices, int64_t lanes);
void storeRun(VectorBuilder &b, mlir::Value value, mlir::Value memref,
              mlir::ValueRange indices);

} // namespace kvq::detail

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_QUANTIZEROW_H
