//===- PackColumns.h - Regions packed into columns --------------*- C++ -*-===//

#ifndef KVQ_LIB_DIALECT_TCGEN05_TRANSFORMS_PACKCOLUMNS_H
#define KVQ_LIB_DIALECT_TCGEN05_TRANSFORMS_PACKCOLUMNS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace kvq::tcgen05 {

/// A region that needs columns.
struct ColumnRequest {
  int64_t words = 0;
  int64_t alignment = 1;
  /// Where the region is already, if it is.
  std::optional<int64_t> fixed;
  /// Requests whose columns must not overlap with these ones.
  llvm::BitVector conflicts;
};

/// Returns the first column of each request. The highest column in use is
/// lowest, rounded up to what can be allocated, for up to `exhaustiveLimit`
/// requests; more are placed by first fit, largest first.
llvm::SmallVector<int64_t> packColumns(llvm::ArrayRef<ColumnRequest> requests);

inline constexpr size_t exhaustiveLimit = 8;

/// Returns the columns that an allocation of at least `words` has: a power of
/// two from 32 on.
int64_t allocationSize(int64_t words);

} // namespace kvq::tcgen05

#endif // KVQ_LIB_DIALECT_TCGEN05_TRANSFORMS_PACKCOLUMNS_H
