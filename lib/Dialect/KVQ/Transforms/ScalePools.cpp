//===- ScalePools.cpp - Caches that share block scales --------------------===//

#include "ScalePools.h"
#include "kvq/Dialect/KVQ/Analysis/HandleAliasAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace kvq;

namespace {

/// Joins classes by where their scales may lie.
class PoolCollector {
public:
  PoolCollector(ModuleOp module, ArrayRef<CacheClass> classes);

  SmallVector<ScalePool> collect();

private:
  /// A class, a root of memory, or a function whose unknown memory is meant,
  /// each with a side: keys and values never share bytes.
  using Node = std::pair<const void *, unsigned>;

  static Node getNode(const CacheClass &cacheClass) {
    return {&cacheClass, unsigned(cacheClass.getType().getSide())};
  }
  /// The node of everything in a function that memory of unknown origin may
  /// share bytes with.
  static Node getUnknown(Value value, unsigned side) {
    return {value.getParentRegion()->getParentOfType<FunctionOpInterface>(),
            side};
  }

  void joinRoots(Node node, Value value);
  void joinCallers(Node node, BlockArgument argument);
  void split(const ScalePool &pool, SmallVectorImpl<ScalePool> &pools);
  bool mayShare(const CacheClass &lhs, const CacheClass &rhs);
  bool mayShare(Value lhs, Value rhs);
  Value getOrigin(Value memref);

  /// The memref that holds the scales of a cache, or its data while it has no
  /// scales yet.
  static Value getMemory(MakeCacheOp make) {
    return make.getScales() ? make.getScales() : make.getData();
  }

  ArrayRef<CacheClass> classes;
  HandleAliasAnalysis aliases;
  llvm::EquivalenceClasses<Node> nodes;
  /// The nodes of unknown memory that occur.
  llvm::DenseSet<Node> unknown;
  /// Arguments of functions whose callers were joined.
  llvm::DenseSet<Node> followed;
  llvm::DenseMap<Operation *, SmallVector<func::CallOp>> calls;
};

} // namespace

PoolCollector::PoolCollector(ModuleOp module, ArrayRef<CacheClass> classes)
    : classes(classes), aliases(module) {
  SymbolTableCollection symbols;
  module.walk([&](func::CallOp call) {
    if (auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
            call, call.getCalleeAttr()))
      calls[callee].push_back(call);
  });
}

void PoolCollector::joinRoots(Node node, Value value) {
  const HandleAliasAnalysis::Roots &roots = aliases.getRoots(value);
  if (roots.anything) {
    Node all = getUnknown(value, node.second);
    unknown.insert(all);
    nodes.unionSets(node, all);
  }
  // Asking for the roots of others may move these.
  SmallVector<Value> values(roots.values.begin(), roots.values.end());
  for (Value root : values) {
    nodes.unionSets(node, {root.getAsOpaquePointer(), node.second});
    if (auto argument = dyn_cast<BlockArgument>(root))
      joinCallers({root.getAsOpaquePointer(), node.second}, argument);
  }
}

void PoolCollector::joinCallers(Node node, BlockArgument argument) {
  auto it = calls.find(argument.getOwner()->getParentOp());
  if (it == calls.end() || !isa<MemRefType>(argument.getType()) ||
      !followed.insert(node).second)
    return;
  for (func::CallOp call : it->second)
    joinRoots(node, call.getOperand(argument.getArgNumber()));
}

/// Whether constants keep two slices of one memref apart in some dimension.
/// Offsets that are no constants may take one value in turn, in a loop.
static bool areApart(memref::SubViewOp lhs, memref::SubViewOp rhs) {
  auto isBefore = [](OpFoldResult offset, OpFoldResult size,
                     OpFoldResult next) {
    std::optional<int64_t> begin = getConstantIntValue(offset),
                           length = getConstantIntValue(size),
                           other = getConstantIntValue(next);
    return begin && length && other && *begin + *length <= *other;
  };
  for (auto [offset, size, step, otherOffset, otherSize, otherStep] : llvm::zip(
           lhs.getMixedOffsets(), lhs.getMixedSizes(), lhs.getMixedStrides(),
           rhs.getMixedOffsets(), rhs.getMixedSizes(), rhs.getMixedStrides()))
    if (isConstantIntValue(step, 1) && isConstantIntValue(otherStep, 1) &&
        (isBefore(offset, size, otherOffset) ||
         isBefore(otherOffset, otherSize, offset)))
      return true;
  return false;
}

/// Where a memref is made: through casts, and to the caller if there is one.
Value PoolCollector::getOrigin(Value memref) {
  llvm::SmallPtrSet<Value, 4> seen;
  while (seen.insert(memref).second) {
    if (auto cast = memref.getDefiningOp<memref::CastOp>()) {
      memref = cast.getSource();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(memref);
    auto function =
        argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                 : func::FuncOp();
    auto it = calls.find(function);
    if (!function || function.isPublic() || it == calls.end() ||
        it->second.size() != 1)
      break;
    memref = it->second.front().getOperand(argument.getArgNumber());
  }
  return memref;
}

bool PoolCollector::mayShare(Value lhs, Value rhs) {
  auto left = getOrigin(lhs).getDefiningOp<memref::SubViewOp>();
  auto right = getOrigin(rhs).getDefiningOp<memref::SubViewOp>();
  if (left && right &&
      getOrigin(left.getSource()) == getOrigin(right.getSource()))
    return !areApart(left, right);
  auto getFunction = [](Value value) {
    return value.getParentRegion()->getParentOfType<FunctionOpInterface>();
  };
  return getFunction(lhs) != getFunction(rhs) ||
         !aliases.alias(lhs, rhs).isNo();
}

bool PoolCollector::mayShare(const CacheClass &lhs, const CacheClass &rhs) {
  // Handles that come from elsewhere than from memrefs are not told apart.
  if (lhs.made.empty() || rhs.made.empty() || !lhs.arguments.empty() ||
      !rhs.arguments.empty())
    return true;
  for (MakeCacheOp left : lhs.made)
    for (MakeCacheOp right : rhs.made)
      if (mayShare(getMemory(left), getMemory(right)))
        return true;
  return false;
}

/// Splits a pool into what is connected by classes that may share memory.
void PoolCollector::split(const ScalePool &pool,
                          SmallVectorImpl<ScalePool> &pools) {
  llvm::EquivalenceClasses<const CacheClass *> parts;
  for (auto [index, cacheClass] : llvm::enumerate(pool)) {
    parts.insert(cacheClass);
    for (const CacheClass *other : ArrayRef(pool).take_front(index))
      if (!parts.isEquivalent(cacheClass, other) &&
          mayShare(*cacheClass, *other))
        parts.unionSets(cacheClass, other);
  }
  llvm::MapVector<const CacheClass *, ScalePool> collected;
  for (const CacheClass *cacheClass : pool)
    collected[parts.getLeaderValue(cacheClass)].push_back(cacheClass);
  for (auto &[leader, part] : collected)
    pools.push_back(std::move(part));
}

SmallVector<ScalePool> PoolCollector::collect() {
  SmallVector<const CacheClass *> scaled;
  for (const CacheClass &cacheClass : classes)
    if (CacheType type = cacheClass.getType();
        type.getScaleLayout() || type.isUndecided())
      scaled.push_back(&cacheClass);

  for (const CacheClass *cacheClass : scaled) {
    Node node = getNode(*cacheClass);
    nodes.insert(node);
    for (MakeCacheOp make : cacheClass->made)
      joinRoots(node, getMemory(make));
    // The arguments among the values, with those of functions that are called.
    for (Value value : cacheClass->values)
      if (auto argument = dyn_cast<BlockArgument>(value))
        if (argument.getOwner()->isEntryBlock() &&
            isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
          joinRoots(node, value);
  }
  if (!unknown.empty())
    for (const CacheClass *cacheClass : scaled)
      for (Value value : cacheClass->values) {
        Node node = getNode(*cacheClass);
        Node all = getUnknown(value, node.second);
        if (unknown.contains(all))
          nodes.unionSets(node, all);
      }

  llvm::MapVector<Node, ScalePool> collected;
  for (const CacheClass *cacheClass : scaled)
    collected[nodes.getLeaderValue(getNode(*cacheClass))].push_back(cacheClass);
  SmallVector<ScalePool> pools;
  for (auto &[leader, pool] : collected) {
    llvm::SmallSet<ScaleLayout, 4> layouts;
    for (const CacheClass *cacheClass : pool)
      if (!cacheClass->getType().isUndecided())
        layouts.insert(*cacheClass->getType().getScaleLayout());
    if (layouts.size() > 1)
      split(pool, pools);
    else
      pools.push_back(std::move(pool));
  }
  return pools;
}

SmallVector<ScalePool> kvq::collectScalePools(ModuleOp module,
                                              ArrayRef<CacheClass> classes) {
  return PoolCollector(module, classes).collect();
}
