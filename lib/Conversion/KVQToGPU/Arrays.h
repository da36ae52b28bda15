//===- Arrays.h - Memrefs as rows inside a kernel -------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_ARRAYS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_ARRAYS_H

#include "Elements.h"
#include "KernelLaunch.h"
#include "kvq/Dialect/KVQ/IR/KVQInterfaces.h"

namespace kvq::kernel {

using Values = llvm::SmallVector<mlir::Value>;

/// A memref of any rank and strides as a parameter of a kernel. To be made at
/// the top of the kernel.
class Array {
public:
  /// Rows will be accessed in chunks of `chunk` elements.
  Array(KernelLaunch &kernel, llvm::StringRef name, mlir::Value memref,
        Access access, int64_t chunk = 1);

  mlir::MemRefType getType() const { return type; }
  int64_t getRank() const { return type.getRank(); }
  /// The size of a dimension.
  Size size(int64_t dimension) const;

  /// The address of an element, by `getRank()` indices. Not of one of 4 bits.
  Ptr element(llvm::ArrayRef<I32> indices) const;

  /// A row along the innermost dimension, by the other indices. Only of
  /// floats.
  Row row(llvm::ArrayRef<I32> indices) const;

private:
  Ptr advance(llvm::ArrayRef<I32> indices) const;

  KernelLaunch *kernel;
  std::string name;
  mlir::MemRefType type;
  int64_t chunk;
  Ptr base;
  llvm::SmallVector<I64> strides;
  Pred isAligned;
};

/// The work of a kernel whose threads each do one of a number of equal items:
/// the product of sizes, counted through as in row-major order. There are
/// fewer than 2^32 items.
class Items {
public:
  /// `sizes` are those of the loops, outermost first.
  explicit Items(KernelLaunch &kernel, llvm::ArrayRef<Size> sizes);

  /// Emits `body` for the item of this thread, if there is one, with its index
  /// in each of the sizes.
  void forEach(llvm::function_ref<void(llvm::ArrayRef<I32>)> body) const;

  /// The same with values that the body returns; those of threads without an
  /// item are `others`.
  Values choose(mlir::ValueRange others,
                llvm::function_ref<Values(llvm::ArrayRef<I32>)> body) const;

  /// Launches enough blocks.
  void launch() const;

  /// The threads of a block.
  static constexpr int64_t threads = 256;

private:
  KernelLaunch *kernel;
  llvm::SmallVector<Size> sizes;
};

/// What `then` returns where `condition` is true, `others` elsewhere. There may
/// be no values.
Values chooseOr(KernelBuilder &b, Pred condition, mlir::ValueRange others,
                llvm::function_ref<Values()> then);

/// The number of chunks of `chunk` elements that cover a size.
Size getChunks(KernelLaunch &kernel, Size size, int64_t chunk);

/// The elements that a thread handles at once of a format's rows: a block, or
/// where there are no blocks along the row a fixed number.
int64_t getChunk(KVFormatInterface format);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_ARRAYS_H
