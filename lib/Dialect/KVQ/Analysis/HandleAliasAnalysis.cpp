//===- HandleAliasAnalysis.cpp - Which handles share bytes ----------------===//

#include "kvq/Dialect/KVQ/Analysis/HandleAliasAnalysis.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace kvq;

/// The values that reach `value`, which is a result of `op` or an argument of
/// one of its regions; nothing if they cannot be enumerated.
static std::optional<SmallVector<Value>>
getPredecessorValues(RegionBranchOpInterface op, Value value) {
  for (RegionBranchPoint point : op.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(point, successors);
    for (RegionSuccessor successor : successors) {
      ValueRange inputs = successor.getSuccessorInputs();
      auto it = llvm::find(inputs, value);
      if (it == inputs.end())
        continue;
      SmallVector<Value> values;
      op.getPredecessorValues(successor, std::distance(inputs.begin(), it),
                              values);
      return values;
    }
  }
  return std::nullopt;
}

/// With `globalScales`, also collects those that handles were made with.
void HandleAliasAnalysis::addRoots(Value value, Roots &roots,
                                   llvm::SmallPtrSetImpl<Value> &visited,
                                   SmallVectorImpl<Value> *globalScales) {
  if (!visited.insert(value).second)
    return;
  auto addAll = [&](std::optional<SmallVector<Value>> sources) {
    if (!sources || sources->empty()) {
      roots.anything = true;
      return;
    }
    for (Value source : *sources)
      addRoots(source, roots, visited, globalScales);
  };

  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Block *block = argument.getOwner();
    Operation *parent = block->getParentOp();
    if (block->isEntryBlock()) {
      if (auto function = dyn_cast<FunctionOpInterface>(parent)) {
        roots.values.insert(value);
        if (function.getArgAttr(argument.getArgNumber(),
                                KVQDialect::getMayAliasAttrName()))
          roots.anything = true;
        return;
      }
      auto branch = dyn_cast<RegionBranchOpInterface>(parent);
      if (!branch) {
        roots.anything = true;
        return;
      }
      return addAll(getPredecessorValues(branch, value));
    }
    SmallVector<Value> sources;
    for (auto it = block->pred_begin(), end = block->pred_end(); it != end;
         ++it) {
      auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator());
      Value source;
      if (branch)
        source = branch.getSuccessorOperands(
            it.getSuccessorIndex())[argument.getArgNumber()];
      if (!source) {
        roots.anything = true;
        return;
      }
      sources.push_back(source);
    }
    return addAll(sources);
  }

  Operation *op = value.getDefiningOp();
  if (auto make = dyn_cast<MakeCacheOp>(op)) {
    // An append writes data and scales; a global scale is only read through a
    // handle, and many handles may have one.
    addRoots(make.getData(), roots, visited, globalScales);
    if (make.getScales())
      addRoots(make.getScales(), roots, visited, globalScales);
    if (make.getGlobalScale() && globalScales)
      globalScales->push_back(make.getGlobalScale());
    return;
  }
  if (auto view = dyn_cast<ViewLikeOpInterface>(op))
    return addRoots(view.getViewSource(), roots, visited, globalScales);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    addRoots(select.getTrueValue(), roots, visited, globalScales);
    return addRoots(select.getFalseValue(), roots, visited, globalScales);
  }
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return addAll(getPredecessorValues(branch, value));
  // A new buffer is a root of its own; anything else could be any memory.
  if (hasEffect<MemoryEffects::Allocate>(op, value)) {
    roots.values.insert(value);
    return;
  }
  roots.anything = true;
}

const HandleAliasAnalysis::Roots &HandleAliasAnalysis::getRoots(Value value) {
  auto it = cache.find(value);
  if (it != cache.end())
    return it->second;
  Roots roots;
  llvm::SmallPtrSet<Value, 8> visited;
  addRoots(value, roots, visited);
  return cache.try_emplace(value, std::move(roots)).first->second;
}

AliasResult HandleAliasAnalysis::alias(Value lhs, Value rhs) {
  if (lhs == rhs)
    return AliasResult::MustAlias;
  auto left = dyn_cast<CacheType>(lhs.getType());
  auto right = dyn_cast<CacheType>(rhs.getType());
  if (left && right && left.getSide() != right.getSide())
    return AliasResult::NoAlias;
  // The reference of one query may move in the map by the other.
  Roots leftRoots = getRoots(lhs);
  const Roots &rightRoots = getRoots(rhs);
  if (leftRoots.anything || rightRoots.anything)
    return AliasResult::MayAlias;
  for (Value root : leftRoots.values)
    if (rightRoots.values.contains(root))
      return AliasResult::MayAlias;
  return AliasResult::NoAlias;
}

ModRefResult HandleAliasAnalysis::getModRef(Operation *op, Value handle) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface) {
    // The nested operations of a loop or a branch speak for themselves.
    if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return ModRefResult::getNoModRef();
    return ModRefResult::getModAndRef();
  }
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  ModRefResult result = ModRefResult::getNoModRef();
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (isa<MemoryEffects::Allocate>(effect.getEffect()))
      continue;
    Value value = effect.getValue();
    if (value && alias(value, handle).isNo())
      continue;
    if (isa<MemoryEffects::Read>(effect.getEffect()))
      result = result.merge(ModRefResult::getRef());
    else
      result = result.merge(ModRefResult::getMod());
  }
  return result;
}

bool HandleAliasAnalysis::mayWrite(Operation *op, Value handle) {
  if (isMemoryEffectFree(op))
    return false;
  if (getModRef(op, handle).isMod())
    return true;
  Roots roots;
  llvm::SmallPtrSet<Value, 8> visited;
  SmallVector<Value> globalScales;
  addRoots(handle, roots, visited, &globalScales);
  return llvm::any_of(globalScales, [&](Value globalScale) {
    return mayWriteGlobalScale(op, globalScale);
  });
}

bool HandleAliasAnalysis::mayWriteGlobalScale(Operation *op,
                                              Value globalScale) {
  if (isMemoryEffectFree(op))
    return false;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return getModRef(op, globalScale).isMod();
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::any_of(
      effects, [&](const MemoryEffects::EffectInstance &effect) {
        Value value = effect.getValue();
        return !isa<MemoryEffects::Allocate, MemoryEffects::Read>(
                   effect.getEffect()) &&
               (!value || (!isa<CacheType>(value.getType()) &&
                           !alias(value, globalScale).isNo()));
      });
}
