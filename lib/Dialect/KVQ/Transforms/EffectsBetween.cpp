//===- EffectsBetween.cpp - What may run between two operations -----------===//

#include "EffectsBetween.h"
#include "ViewChain.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace kvq;

using IsObstacle = llvm::function_ref<bool(Operation *)>;

/// Asks `op` and everything nested in it.
static Operation *findIn(Operation *op, IsObstacle isObstacle) {
  Operation *found = nullptr;
  op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    if (!isObstacle(nested))
      return WalkResult::advance();
    found = nested;
    return WalkResult::interrupt();
  });
  return found;
}

/// Asks the operations from `begin` up to, without, `end`.
static Operation *findIn(Block::iterator begin, Block::iterator end,
                         IsObstacle isObstacle) {
  for (Operation &op : llvm::make_range(begin, end))
    if (Operation *found = findIn(&op, isObstacle))
      return found;
  return nullptr;
}

/// Asks what may run after `from` and before `to`, which are in one region.
static Operation *findInRegion(Operation *from, Operation *to,
                               IsObstacle isObstacle) {
  Block *begin = from->getBlock(), *end = to->getBlock();
  // A way around that comes back to this block runs `from` again.
  if (begin == end)
    return findIn(std::next(from->getIterator()), to->getIterator(),
                  isObstacle);
  if (Operation *found =
          findIn(std::next(from->getIterator()), begin->end(), isObstacle))
    return found;
  // All that can be reached is asked, blocks past `to` too: they may lead back.
  llvm::SmallPtrSet<Block *, 8> seen{begin};
  SmallVector<Block *> pending(begin->getSuccessors());
  while (!pending.empty()) {
    Block *block = pending.pop_back_val();
    if (!seen.insert(block).second)
      continue;
    llvm::append_range(pending, block->getSuccessors());
    if (Operation *found = findIn(block->begin(), block->end(), isObstacle))
      return found;
  }
  return nullptr;
}

Operation *kvq::findBetween(Operation *from, Operation *to,
                            IsObstacle isObstacle) {
  Region *region = from->getParentRegion();
  Operation *outer = to;
  // Upwards to the region of `from`: what stands before each ancestor runs
  // before `to`, and all of a region that may be entered again.
  while (outer->getParentRegion() != region) {
    Operation *parent = outer->getParentOp();
    Operation *found;
    if (isa<scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(parent) &&
        outer->getParentRegion()->hasOneBlock())
      found =
          findIn(outer->getBlock()->begin(), outer->getIterator(), isObstacle);
    else
      found = findIn(parent, isObstacle);
    if (found)
      return found;
    outer = parent;
  }
  return findInRegion(from, outer, isObstacle);
}

Operation *kvq::findWriterBetween(Operation *from, Operation *to, Value value,
                                  HandleAliasAnalysis &analysis) {
  if (isa<CacheType>(value.getType()))
    return findBetween(
        from, to, [&](Operation *op) { return analysis.mayWrite(op, value); });
  if (isa<BaseMemRefType>(value.getType()))
    return findBetween(from, to, [&](Operation *op) {
      return !isMemoryEffectFree(op) && analysis.getModRef(op, value).isMod();
    });
  return nullptr;
}

/// The handle or memref that shows what a global scale is: through memref.cast,
/// accessors, handles that are made where they are used, and loops that do not
/// change a handle.
static Value getGlobalScaleSource(Value value) {
  for (;;) {
    if (auto cast = value.getDefiningOp<memref::CastOp>())
      value = cast.getSource();
    else if (auto accessor = value.getDefiningOp<CacheGlobalScaleOp>())
      value = accessor.getCache();
    else if (auto make = value.getDefiningOp<MakeCacheOp>();
             make && make.getGlobalScale())
      value = make.getGlobalScale();
    else if (Value source = getLoopInvariantSource(value))
      value = source;
    else
      return value;
  }
}

bool kvq::isGlobalScaleOf(Value scale, Value handle, Operation *at,
                          HandleAliasAnalysis &analysis) {
  auto load = scale.getDefiningOp<memref::LoadOp>();
  if (!load || load.getMemRefType().getRank() != 0 ||
      getGlobalScaleSource(load.getMemref()) != getGlobalScaleSource(handle))
    return false;
  return !findBetween(load, at, [&](Operation *op) {
    return analysis.mayWriteGlobalScale(op, load.getMemref());
  });
}
