//===- AxisTrace.h - Where the axes of a cached array go ------------------===//
//
// From gather to attention, front ends transpose, reshape, cast, slice and
// repeat heads. An AxisTrace follows the axes of the array through these
// operations, so that what attention gets can be compared with what the cache
// holds, however it was brought there.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_AXISTRACE_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_AXISTRACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace kvq {

/// A number that all elements of an array are multiplied or divided by.
struct ScalarFactor {
  /// A float scalar or a tensor of rank 0, or null for the constant.
  mlir::Value value;
  mlir::FloatAttr constant;
  bool divide = false;

  /// Makes the number as an f32.
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// Returns the number that all elements of a tensor or a scalar are, if it is
/// known to be one number that is there outside of `op`.
std::optional<ScalarFactor> getUniformValue(mlir::Value value,
                                            mlir::Operation *op);

/// A part of a slice: `size` of an axis from `offset`, with stride 1.
struct AxisCut {
  mlir::OpFoldResult offset, size;
};

/// The value that an operation moves, casts or scales, or null.
mlir::Value getTracedOperand(mlir::Operation *op);

class AxisTrace {
public:
  /// Starts at an array of a shape.
  explicit AxisTrace(llvm::ArrayRef<int64_t> shape);

  /// Follows the axes through an operation for which `getTracedOperand` is not
  /// null. Fails if it does what a trace cannot express.
  mlir::LogicalResult follow(mlir::Operation *op);

  unsigned getRank() const { return axes.size(); }

  /// Whether dimension `dim` of the current array is axis `axis` of the first
  /// one, whole but for a cut.
  bool isAxis(unsigned dim, unsigned axis) const;

  /// As `isAxis`, where each index of the axis may occur several times in a
  /// row.
  bool isRepeatedAxis(unsigned dim, unsigned axis) const;

  const std::optional<AxisCut> &getCut(unsigned axis) const {
    return cuts[axis];
  }

  /// The size of an axis, after a cut.
  int64_t getSize(unsigned axis) const { return sizes[axis]; }

  llvm::ArrayRef<ScalarFactor> getFactors() const { return factors; }

private:
  /// Some digits of the index of an axis: index = digit * stride + others.
  /// With axis -1, repetitions.
  struct Part {
    int64_t axis, stride, size;
  };
  /// From the outermost to the innermost; empty for a size of 1.
  using Axis = llvm::SmallVector<Part, 2>;

  mlir::LogicalResult expand(const Axis &axis, llvm::ArrayRef<int64_t> sizes,
                             llvm::SmallVectorImpl<Axis> &result);
  mlir::LogicalResult followSlice(mlir::Operation *op);
  mlir::LogicalResult followLinalg(mlir::Operation *op);
  static void merge(Axis &axis);
  bool isWhole(llvm::ArrayRef<Part> parts, unsigned axis) const;

  llvm::SmallVector<Axis, 4> axes;
  llvm::SmallVector<int64_t, 4> sizes;
  llvm::SmallVector<std::optional<AxisCut>, 4> cuts;
  llvm::SmallVector<ScalarFactor, 2> factors;
};

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_AXISTRACE_H
