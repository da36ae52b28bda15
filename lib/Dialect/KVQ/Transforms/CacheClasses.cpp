//===- CacheClasses.cpp - Handles that have one type ----------------------===//

#include "CacheClasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace kvq;

Operation *CacheClass::getReportOp() const {
  if (!made.empty())
    return made.front();
  Value value = arguments.empty() ? values.front() : Value(arguments.front());
  if (Operation *op = value.getDefiningOp())
    return op;
  return cast<BlockArgument>(value).getOwner()->getParentOp();
}

std::string CacheClass::describe() const {
  if (!made.empty() || arguments.empty())
    return "a cache";
  return "argument #" + std::to_string(arguments.front().getArgNumber());
}

namespace {

/// Joins values by how handles flow.
class Collector {
public:
  explicit Collector(ModuleOp module) : module(module) {}

  SmallVector<CacheClass> collect();

private:
  static bool isHandle(Value value) { return isa<CacheType>(value.getType()); }

  void add(Value value) {
    if (isHandle(value) && order.insert({value, order.size()}).second)
      classes.insert(value.getAsOpaquePointer());
  }
  void join(Value lhs, Value rhs) {
    if (!isHandle(lhs) || !isHandle(rhs))
      return;
    add(lhs);
    add(rhs);
    classes.unionSets(lhs.getAsOpaquePointer(), rhs.getAsOpaquePointer());
  }

  void visit(Operation *op);
  void visitCall(func::CallOp call);
  void visitRegions(RegionBranchOpInterface op);
  /// Notes for all handles among the operands that they leave what is known.
  void escape(Operation *op);

  ModuleOp module;
  SymbolTableCollection symbols;
  llvm::EquivalenceClasses<const void *> classes;
  /// Values by when they were first seen.
  llvm::MapVector<Value, size_t> order;
  llvm::MapVector<Value, Operation *> escapes;
  llvm::DenseSet<Operation *> called;
};

} // namespace

void Collector::escape(Operation *op) {
  for (Value operand : op->getOperands())
    if (isHandle(operand))
      escapes.insert({operand, op});
}

void Collector::visitCall(func::CallOp call) {
  // A handle that a function returns comes from anywhere.
  for (Value result : call.getResults())
    if (isHandle(result))
      escapes.insert({result, call});
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || callee.isExternal())
    return escape(call);
  called.insert(callee);
  for (auto [operand, argument] :
       llvm::zip(call.getOperands(), callee.getArguments()))
    join(operand, argument);
}

void Collector::visitRegions(RegionBranchOpInterface op) {
  for (RegionBranchPoint point : op.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(point, successors);
    for (RegionSuccessor successor : successors) {
      ValueRange inputs = successor.getSuccessorInputs();
      for (auto [index, input] : llvm::enumerate(inputs)) {
        if (!isHandle(input))
          continue;
        SmallVector<Value> sources;
        op.getPredecessorValues(successor, index, sources);
        for (Value source : sources)
          join(source, input);
      }
    }
  }
}

void Collector::visit(Operation *op) {
  for (Value result : op->getResults())
    add(result);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        add(argument);
  if (auto call = dyn_cast<func::CallOp>(op))
    return visitCall(call);
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return visitRegions(branch);
  if (auto branch = dyn_cast<BranchOpInterface>(op)) {
    for (auto [index, successor] : llvm::enumerate(op->getSuccessors())) {
      SuccessorOperands operands = branch.getSuccessorOperands(index);
      for (auto [number, argument] : llvm::enumerate(successor->getArguments()))
        if (Value operand = operands[number])
          join(operand, argument);
    }
    return;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    join(select.getTrueValue(), select.getResult());
    join(select.getFalseValue(), select.getResult());
    return;
  }
  if (auto copy = dyn_cast<CopyPagesOp>(op))
    return join(copy.getSource(), copy.getDest());
  bool leavesFunction = op->hasTrait<OpTrait::ReturnLike>() &&
                        isa<FunctionOpInterface>(op->getParentOp());
  if (leavesFunction || (!isa<KVQDialect>(op->getDialect()) &&
                         !isa<RegionBranchTerminatorOpInterface>(op)))
    escape(op);
}

SmallVector<CacheClass> Collector::collect() {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  // Functions that something else than a call names may be called with
  // anything.
  llvm::DenseSet<Operation *> named;
  if (std::optional<SymbolTable::UseRange> uses =
          SymbolTable::getSymbolUses(module))
    for (SymbolTable::SymbolUse use : *uses)
      if (!isa<func::CallOp>(use.getUser()))
        if (Operation *function = symbols.lookupNearestSymbolFrom(
                use.getUser(), use.getSymbolRef()))
          named.insert(function);

  llvm::MapVector<const void *, CacheClass> collected;
  for (auto [value, index] : order) {
    CacheClass &cacheClass =
        collected[classes.getLeaderValue(value.getAsOpaquePointer())];
    cacheClass.values.push_back(value);
    if (auto it = escapes.find(value);
        it != escapes.end() && !cacheClass.external)
      cacheClass.external = it->second;
    if (auto make = value.getDefiningOp<MakeCacheOp>())
      cacheClass.made.push_back(make);
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || !argument.getOwner()->isEntryBlock())
      continue;
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function)
      continue;
    if (!isa<func::FuncOp>(function.getOperation()) || named.contains(function))
      cacheClass.external = function;
    if (function.isPublic())
      cacheClass.isPublic = true;
    if (function.isPublic() || !called.contains(function))
      cacheClass.arguments.push_back(argument);
  }
  SmallVector<CacheClass> result;
  for (auto &[leader, cacheClass] : collected)
    result.push_back(std::move(cacheClass));
  return result;
}

SmallVector<CacheClass> kvq::collectCacheClasses(ModuleOp module) {
  return Collector(module).collect();
}
