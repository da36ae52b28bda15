//===- CacheAccess.h - Emit addresses in a paged cache --------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_CACHEACCESS_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_CACHEACCESS_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/IR/Builders.h"

namespace kvq {

/// A token's place in a cache, both of type index.
struct TokenPlace {
  /// The physical page.
  mlir::Value page;
  /// The token's place within the page.
  mlir::Value offset;
};

/// Emits the place that slot = page * page_size + offset names; the slot is an
/// index that is not negative.
TokenPlace emitPlaceOfSlot(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value slot, int64_t pageSize);

/// Emits the place of token `position` of a sequence, whose row of the memref
/// `blockTable` is `sequence`. Reads one entry of the table. The position is
/// an index that is not negative.
TokenPlace emitPlaceOfPosition(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value blockTable, mlir::Value sequence,
                               mlir::Value position, int64_t pageSize);

/// The parts of a handle and the indices of tokens in them.
class CacheAccess {
public:
  /// Emits the accessors of `cache`, which fold where it is made of parts of
  /// the same types, and the load of the global scale.
  CacheAccess(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::TypedValue<CacheType> cache);

  CacheType getType() const { return type; }
  KVFormatInterface getFormat() const { return type.getFormat(); }
  mlir::Value getData() const { return data; }

  /// The scales, null for a format without block scales.
  mlir::Value getScales() const { return scales; }

  /// The global scale as an f32, null for a format without one.
  mlir::Value getGlobalScale() const { return globalScale; }

  /// Returns the indices of element `d` of a token and head in the data.
  llvm::SmallVector<mlir::Value>
  getDataIndices(TokenPlace token, mlir::Value head, mlir::Value d) const;

  /// Emits the indices in the scales of the scale at (`row`, `column`) of the
  /// scale matrix of a page and head. With blocks along head_dim the row is
  /// the token's offset.
  llvm::SmallVector<mlir::Value>
  emitScaleIndices(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value page, mlir::Value head, mlir::Value row,
                   mlir::Value column) const;

  /// Emits the indices in the scales of the scale of element `d`.
  llvm::SmallVector<mlir::Value>
  emitScaleIndicesOfElement(mlir::OpBuilder &builder, mlir::Location loc,
                            TokenPlace token, mlir::Value head,
                            mlir::Value d) const;

private:
  CacheType type;
  mlir::Value data, scales, globalScale;
};

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_CACHEACCESS_H
