//===- HostBuffer.h - Memory behind a tensor or memref argument -*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_HOSTBUFFER_H
#define KVQ_EXECUTIONENGINE_HOSTBUFFER_H

#include "kvq/ExecutionEngine/HostType.h"

namespace kvq {

/// A memref descriptor as MLIR lays it out on a 64-bit machine, as words: the
/// allocated and the aligned pointer, the offset, the sizes, the strides (in
/// stored elements).
using Descriptor = llvm::SmallVector<int64_t>;

/// Returns the number of words of a descriptor of this rank.
inline size_t descriptorSize(size_t rank) { return 3 + 2 * rank; }

/// Copies what a descriptor refers to, in C order.
llvm::Expected<NpyArray> readDescriptor(llvm::ArrayRef<int64_t> descriptor,
                                        NpyType type, size_t rank);

/// The memory of one argument, laid out as its type demands.
class HostBuffer {
public:
  /// Takes over an array. Fails with "expected X, found Y" if it is no value of
  /// the type, and if the memref's layout cannot be made: overlapping
  /// elements, negative strides, odd strides of 4-bit elements.
  static llvm::Expected<HostBuffer> create(const HostType &type,
                                           NpyArray array);

  const Descriptor &descriptor() const { return words; }
  size_t sizeInBytes() const { return storage.sizeInBytes(); }

  /// The type and the shape of the array that came in, and that `read` makes.
  NpyType arrayType() const { return type; }
  llvm::ArrayRef<int64_t> arrayShape() const { return shape; }

  /// Copies the contents to an array of the type and shape that came in.
  llvm::Expected<NpyArray> read() const;

private:
  HostBuffer(NpyArray storage) : storage(std::move(storage)) {}

  NpyArray storage;
  Descriptor words;
  NpyType type{NpyKind::Raw, 0};
  llvm::SmallVector<int64_t> shape;
  /// Whether the array that came in has each 4-bit element in a byte.
  bool isUnpacked = false;
};

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_HOSTBUFFER_H
