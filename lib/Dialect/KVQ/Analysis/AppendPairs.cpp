//===- AppendPairs.cpp - The appends of both sides of a layer -------------===//

#include "kvq/Dialect/KVQ/Analysis/AppendPairs.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace kvq;

QuantizeAppendOp kvq::findAppendPartner(QuantizeAppendOp first) {
  Operation *next = first->getNextNode();
  while (next && !isa<QuantizeAppendOp>(next)) {
    if (!isMemoryEffectFree(next))
      return {};
    next = next->getNextNode();
  }
  auto second = dyn_cast_or_null<QuantizeAppendOp>(next);
  if (!second)
    return {};
  CacheType type = first.getCache().getType();
  CacheType other = second.getCache().getType();
  bool isPair = type.getSide() != other.getSide() &&
                type.getPageSize() == other.getPageSize() &&
                first.getSlotMapping() == second.getSlotMapping() &&
                first.getBlockTable() == second.getBlockTable() &&
                first.getPositions() == second.getPositions() &&
                first.getBatchIndices() == second.getBatchIndices();
  return isPair ? second : QuantizeAppendOp();
}
