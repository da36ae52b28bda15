//===- NpyHeader.h - Parser of .npy headers ---------------------*- C++ -*-===//

#ifndef KVQ_LIB_SUPPORT_NPYHEADER_H
#define KVQ_LIB_SUPPORT_NPYHEADER_H

#include "kvq/Support/Npy.h"

namespace kvq::detail {

/// What a header says about the bytes that follow it.
struct NpyHeader {
  NpyType type{NpyKind::Raw, 0};
  /// The length of the runs whose bytes are reversed with respect to this
  /// machine: an element, or a half of a complex one; 0 if none are.
  uint32_t swapSize = 0;
  bool fortranOrder = false;
  llvm::SmallVector<int64_t> shape;
  /// Where the data begins, in bytes from the start of the file.
  size_t dataOffset = 0;
};

/// Parses the magic number, the version and the dictionary.
llvm::Expected<NpyHeader> parseNpyHeader(llvm::StringRef bytes,
                                         llvm::StringRef name);

} // namespace kvq::detail

#endif // KVQ_LIB_SUPPORT_NPYHEADER_H
