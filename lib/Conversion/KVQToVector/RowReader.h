//===- RowReader.h - Read rows of keys and values as f32 ------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_ROWREADER_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_ROWREADER_H

#include "VectorBuilder.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include <memory>

namespace kvq {

/// Reads rows of keys or values into a buffer of f32.
///
/// A buffer's row may hold the elements in another order, and each without a
/// common factor. A dot product of two rows of one order does not see the
/// order, and whoever reads a buffer element by element asks where they are.
class RowReader {
public:
  virtual ~RowReader() = default;

  /// Elements of a row, of type index.
  virtual mlir::Value emitSize(VectorBuilder &b) = 0;

  /// Lanes of f32 that work on a row at once; a buffer's row has a multiple of
  /// them, and those past the elements are never written.
  static constexpr int64_t lanes = 16;

  /// Emits the read of row `token` of a sequence and KV head into row `row` of
  /// `buffer`, which is [rows, size padded to `lanes`] in f32.
  virtual void emitRow(VectorBuilder &b, mlir::Value sequence,
                       mlir::Value token, mlir::Value head, mlir::Value buffer,
                       mlir::Value row) = 0;

  /// Emits prefetches of row `token`, which exists, for a later emitRow.
  virtual void emitPrefetch(VectorBuilder &b, mlir::Value sequence,
                            mlir::Value token, mlir::Value head) {}

  /// Emits loops that call `body` for each element with its place in a
  /// buffer's row.
  virtual void emitPlaces(
      VectorBuilder &b,
      llvm::function_ref<void(mlir::Value element, mlir::Value place)> body);

  /// What a buffer's elements are to be multiplied by: this power of two, and
  /// the global scale unless that is null.
  virtual double getPowerOfTwo() const { return 1.0; }
  virtual mlir::Value getGlobalScale() const { return {}; }
};

/// Returns the reader of a cache by the pages that `blockTable` lists. Emits
/// the accessors of its parts at the builder's place.
std::unique_ptr<RowReader>
createCacheRowReader(VectorBuilder &b, mlir::TypedValue<CacheType> cache,
                     mlir::Value blockTable);

/// Returns the reader of a memref [B, L, heads, D] of floats.
std::unique_ptr<RowReader> createDenseRowReader(mlir::Value memref);

} // namespace kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_ROWREADER_H
