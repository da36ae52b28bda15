//===- HostType.h - How values cross into compiled code ---------*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_HOSTTYPE_H
#define KVQ_EXECUTIONENGINE_HOSTTYPE_H

#include "kvq/Support/NpyElement.h"
#include "mlir/IR/BuiltinTypes.h"

namespace kvq {

/// How a value of one IR type is represented on the host: a scalar, or an array
/// that a tensor or memref of the IR is made from.
///
/// Arrays of `f4E2M1FN` hold two elements in a byte, the even one in the low
/// nibble, so that their innermost size is half the logical one.
struct HostType {
  /// Describes an IR type, or says why values of it cannot be passed.
  static llvm::Expected<HostType> get(mlir::Type type);

  /// The type in the IR: a scalar, a ranked tensor or a ranked memref.
  mlir::Type type;
  bool isScalar = false;
  bool isMemRef = false;
  /// Whether two elements share a byte.
  bool isPacked = false;
  /// What an element is.
  NpyElement element = NpyElement::UInt8;
  /// Whether the IR gives an integer no sign, so that either will do.
  bool isSignless = false;
  /// The logical shape, and for a memref its layout in elements. Entries may be
  /// `mlir::ShapedType::kDynamic`; `strides` is empty for the identity layout.
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;

  /// Returns this memref type with the strides and the offset that it leaves
  /// open filled in, in elements. Fails with "expected X, found Y" where they
  /// are not what the type says, and for types without a strided layout.
  llvm::Expected<HostType> withLayout(llvm::ArrayRef<int64_t> newStrides,
                                      int64_t newOffset) const;

  /// The size of a stored element in bytes; of a pair for packed ones.
  unsigned elementSize() const { return getStoredType(element).size; }

  /// The shape of the array that stores a value of this type, -1 where any size
  /// will do.
  llvm::SmallVector<int64_t> storedShape() const;

  /// The type of arrays that hold results: NumPy's own where it has one,
  /// ml_dtypes' for bf16, uint8 for what has 8 bits or less.
  NpyType resultType() const;

  /// Whether an array of this type and shape is a value, as it is stored here.
  bool accepts(NpyType found, llvm::ArrayRef<int64_t> foundShape) const;

  /// Whether an array is a value with each 4-bit element in a byte of its own,
  /// as ml_dtypes keeps them.
  bool acceptsUnpacked(NpyType found, llvm::ArrayRef<int64_t> foundShape) const;

  /// Says which arrays are accepted: "float32 (?, 64)".
  std::string describeAccepted() const;
};

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_HOSTTYPE_H
