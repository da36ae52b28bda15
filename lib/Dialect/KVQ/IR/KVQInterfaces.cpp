//===- KVQInterfaces.cpp - Interfaces of the kvq dialect ------------------===//

#include "kvq/Dialect/KVQ/IR/KVQInterfaces.h"
#include "kvq/Dialect/KVQ/IR/KVQTypes.h"

using namespace mlir;
using namespace kvq;

#include "kvq/Dialect/KVQ/IR/KVQAttrInterfaces.cpp.inc"
#include "kvq/Dialect/KVQ/IR/KVQOpInterfaces.cpp.inc"

SmallVector<int64_t> kvq::detail::getScaleShape(ArrayRef<int64_t> dataShape,
                                                int64_t blockSize,
                                                BlockAxis axis) {
  SmallVector<int64_t> shape(dataShape);
  assert(blockSize && (axis == BlockAxis::HeadDim || shape.size() >= 3));
  int64_t &size =
      axis == BlockAxis::HeadDim ? shape.back() : shape[shape.size() - 3];
  if (!ShapedType::isDynamic(size))
    size /= blockSize;
  return shape;
}

/// Checks that size `dim` of `value` is `size` + `more` where both are static.
/// `size` is dynamic before the first call and is set by it.
static LogicalResult checkCount(Operation *op, StringRef name, Value value,
                                int64_t &size, StringRef meaning,
                                int64_t more = 0) {
  if (!value)
    return success();
  int64_t found = cast<ShapedType>(value.getType()).getDimSize(0);
  if (ShapedType::isDynamic(found))
    return success();
  if (ShapedType::isDynamic(size)) {
    size = found - more;
    return success();
  }
  if (found != size + more)
    return op->emitOpError()
           << name << " has " << found << " entries, expected " << size + more
           << " (" << meaning << ")";
  return success();
}

LogicalResult kvq::detail::verifyPagedBatchOp(Operation *op) {
  auto paged = cast<PagedBatchOpInterface>(op);
  Value blockTable = paged.getBlockTable();
  Value positions = paged.getPositions();
  Value batchIndices = paged.getBatchIndices();
  Value slotMapping = paged.getSlotMapping();

  // Operations that write rows address them in exactly one way.
  if (slotMapping && (blockTable || positions || batchIndices))
    return op->emitOpError()
           << "takes either slot_mapping or block_table with positions, found "
              "slot_mapping and "
           << (blockTable ? "block_table"
                          : (positions ? "positions" : "batch_indices"));
  if (batchIndices && !positions)
    return op->emitOpError("has batch_indices without positions");
  if (positions && !blockTable)
    return op->emitOpError("has positions without block_table");

  int64_t rows = ShapedType::kDynamic;
  if (failed(checkCount(op, "positions", positions, rows, "")) ||
      failed(checkCount(op, "batch_indices", batchIndices, rows,
                        "one per position")))
    return failure();

  int64_t batch = ShapedType::kDynamic;
  if (failed(checkCount(op, "block_table", blockTable, batch, "")) ||
      failed(checkCount(op, "seq_lens", paged.getSeqLens(), batch,
                        "one per sequence")) ||
      failed(checkCount(op, "qo_indptr", paged.getQoIndptr(), batch,
                        "one more than sequences", /*more=*/1)))
    return failure();
  if (Value indptr = paged.getQoIndptr())
    if (cast<ShapedType>(indptr.getType()).getDimSize(0) == 0)
      return op->emitOpError("qo_indptr has 0 entries, expected at least 1");
  return success();
}
