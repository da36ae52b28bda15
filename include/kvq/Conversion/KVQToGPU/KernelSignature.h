//===- KernelSignature.h - What a caller must know of a kernel ------------===//
//
// A kernel is `void k(pointers, i64 byte strides, i32 sizes, f32 scalars)`. Its
// signature says what each parameter is and how to launch it. It is attached to
// the kernel as the attribute `kvq.kernel` and stays there down to `llvm.func`:
// the launch manifest is made from it, and the host code that kvq emits is made
// from the same formulas.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_CONVERSION_KVQTOGPU_KERNELSIGNATURE_H
#define KVQ_CONVERSION_KVQTOGPU_KERNELSIGNATURE_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <array>
#include <optional>
#include <string>

namespace kvq {

/// The attribute of a kernel that holds its signature.
inline constexpr llvm::StringLiteral kKernelSignatureAttrName = "kvq.kernel";

/// What a parameter is. The order is that of the parameters of a kernel.
enum class KernelParameterKind {
  /// The address of an operand's first element in device-accessible memory.
  Pointer,
  /// Memory that the launch provides: `KernelSignature::workspaceBytes`.
  Workspace,
  /// The address of an error word, four i64 (kind, index, value, limit of
  /// kvq/Support/RuntimeError.h) that are zero before the first launch; or
  /// null. The first error is kept.
  ErrorWord,
  /// i64: a distance in an operand, in bytes.
  Stride,
  /// i32: the size of a dimension of an operand.
  Size,
  /// f32.
  Scalar,
};

/// The name of a kind in attributes and manifests, "error_word".
llvm::StringRef stringifyKernelParameterKind(KernelParameterKind kind);

/// A parameter of a kernel.
struct KernelParameter {
  /// Unique in the kernel: "k_data", "k_data_stride_page".
  std::string name;
  KernelParameterKind kind;
  /// Pointer: bytes that the address must be a multiple of.
  int64_t alignment = 0;
  /// Pointer: whether the kernel reads and writes.
  bool isRead = false, isWritten = false;
  /// Pointer: the type of the operand. Its offset means nothing.
  mlir::MemRefType type;
  /// Stride and Size: the name of the pointer that it belongs to, and the
  /// dimension of the operand.
  std::string of;
  int64_t dimension = 0;
};

/// A cache that a kernel works on.
struct KernelCache {
  /// Its parts are the pointers `PREFIXdata`, `PREFIXscales` and
  /// `PREFIXglobal_scale`, as far as the format has them.
  std::string prefix;
  /// A kvq::CacheType.
  mlir::Type type;
};

/// A kernel's parameters and launch rules. Formulas are affine maps without
/// dimensions whose symbols are the sizes, in the order of the parameters of
/// kind Size; symbols may be multiplied.
struct KernelSignature {
  /// The operation that the kernel implements, "kvq.quantize_append".
  std::string operation;
  llvm::SmallVector<KernelParameter> parameters;
  llvm::SmallVector<KernelCache> caches;
  /// () [sizes] -> (x, y, z). A result below 1 means 1.
  mlir::AffineMap grid;
  std::array<int32_t, 3> block = {1, 1, 1};
  /// Bytes of dynamic shared memory.
  int64_t sharedBytes = 0;
  /// () [sizes] -> (bytes); null without a workspace.
  mlir::AffineMap workspaceBytes;
  /// Whether the workspace must be zero before the launch.
  bool isWorkspaceZeroed = false;

  /// The attribute `kvq.kernel` of this signature, and back. `fromAttribute`
  /// returns nothing for what is no signature.
  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;
  static std::optional<KernelSignature>
  fromAttribute(mlir::Attribute attribute);
};

} // namespace kvq

#endif // KVQ_CONVERSION_KVQTOGPU_KERNELSIGNATURE_H
