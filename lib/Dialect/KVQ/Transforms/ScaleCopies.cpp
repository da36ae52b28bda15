//===- ScaleCopies.cpp - Copies of block scales in another layout ---------===//

#include "ScaleCopies.h"
#include "EffectsBetween.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace kvq;

/// Returns the operation to make the copy before: `reader`, or the outermost
/// loop around it that neither defines nor writes the cache.
Operation *ScaleCopies::hoist(Value cache, Operation *reader) {
  Operation *place = reader;
  while (auto loop = place->getParentOfType<LoopLikeOpInterface>()) {
    if (!loop.isDefinedOutsideOfLoop(cache))
      break;
    WalkResult writes = loop->walk([&](Operation *op) {
      return aliases.mayWrite(op, cache) ? WalkResult::interrupt()
                                         : WalkResult::advance();
    });
    if (writes.wasInterrupted())
      break;
    place = loop;
  }
  return place;
}

Value ScaleCopies::get(TypedValue<CacheType> cache, CacheType type,
                       Operation *reader) {
  SmallVector<MakeCacheOp> &made = copies[cache];
  for (MakeCacheOp copy : made)
    if (copy.getType() == type &&
        dominance.properlyDominates(copy.getOperation(), reader) &&
        !findWriterBetween(copy, reader, cache, aliases))
      return copy;

  OpBuilder builder(hoist(cache, reader));
  Location loc = reader->getLoc();
  CacheType from = cache.getType();
  Value data = CacheDataOp::create(builder, loc, from.getDataType(), cache);
  Value scales =
      CacheScalesOp::create(builder, loc, from.getScalesType(), cache);
  Value pages = memref::DimOp::create(builder, loc, scales, 0);
  Value copied = memref::AllocOp::create(
      builder, loc,
      MemRefType::get(type.getScalesShape(), type.getFormat().getScaleType()),
      pages);
  ConvertScaleLayoutOp::create(builder, loc, TypeRange(), scales, copied,
                               *from.getScaleLayout(), *type.getScaleLayout(),
                               type.getKvLayout());
  Value globalScale;
  if (MemRefType scaleType = from.getGlobalScaleType())
    globalScale = CacheGlobalScaleOp::create(builder, loc, scaleType, cache);
  auto copy =
      MakeCacheOp::create(builder, loc, type, data, copied, globalScale);
  made.push_back(copy);
  return copy;
}
