//===- CacheAccess.cpp - Emit addresses in a paged cache ------------------===//

#include "kvq/Dialect/KVQ/Transforms/CacheAccess.h"
#include "kvq/Dialect/KVQ/IR/KVQScaleLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kvq;

TokenPlace kvq::emitPlaceOfSlot(OpBuilder &builder, Location loc, Value slot,
                                int64_t pageSize) {
  Value size = arith::ConstantIndexOp::create(builder, loc, pageSize);
  return {builder.createOrFold<arith::DivUIOp>(loc, slot, size),
          builder.createOrFold<arith::RemUIOp>(loc, slot, size)};
}

TokenPlace kvq::emitPlaceOfPosition(OpBuilder &builder, Location loc,
                                    Value blockTable, Value sequence,
                                    Value position, int64_t pageSize) {
  TokenPlace place = emitPlaceOfSlot(builder, loc, position, pageSize);
  Value entry = memref::LoadOp::create(builder, loc, blockTable,
                                       ValueRange{sequence, place.page});
  place.page =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), entry);
  return place;
}

CacheAccess::CacheAccess(OpBuilder &builder, Location loc,
                         TypedValue<CacheType> cache)
    : type(cache.getType()) {
  data = builder.createOrFold<CacheDataOp>(loc, type.getDataType(), cache);
  if (MemRefType scalesType = type.getScalesType())
    scales = builder.createOrFold<CacheScalesOp>(loc, scalesType, cache);
  if (MemRefType globalScaleType = type.getGlobalScaleType()) {
    Value memref =
        builder.createOrFold<CacheGlobalScaleOp>(loc, globalScaleType, cache);
    globalScale = memref::LoadOp::create(builder, loc, memref);
  }
}

SmallVector<Value> CacheAccess::getDataIndices(TokenPlace token, Value head,
                                               Value d) const {
  if (type.getKvLayout() == KVLayout::NHD)
    return {token.page, token.offset, head, d};
  return {token.page, head, token.offset, d};
}

SmallVector<Value> CacheAccess::emitScaleIndices(OpBuilder &builder,
                                                 Location loc, Value page,
                                                 Value head, Value row,
                                                 Value column) const {
  Value columns =
      arith::ConstantIndexOp::create(builder, loc, type.getScaleColumns());
  auto [atRow, atColumn] = emitScalePosition(
      builder, loc, *type.getScaleLayout(), row, column, columns);
  if (type.getKvLayout() == KVLayout::NHD)
    return {page, atRow, head, atColumn};
  return {page, head, atRow, atColumn};
}

SmallVector<Value> CacheAccess::emitScaleIndicesOfElement(OpBuilder &builder,
                                                          Location loc,
                                                          TokenPlace token,
                                                          Value head,
                                                          Value d) const {
  KVFormatInterface format = type.getFormat();
  Value block =
      arith::ConstantIndexOp::create(builder, loc, format.getBlockSize());
  Value row = token.offset, column = d;
  if (format.getBlockAxis() == BlockAxis::HeadDim)
    column = builder.createOrFold<arith::DivUIOp>(loc, d, block);
  else
    row = builder.createOrFold<arith::DivUIOp>(loc, row, block);
  return emitScaleIndices(builder, loc, token.page, head, row, column);
}
