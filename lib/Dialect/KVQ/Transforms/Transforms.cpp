//===- Transforms.cpp - Helpers of rewrites of single operations ----------===//

#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <deque>

using namespace mlir;
using namespace kvq;

void kvq::eraseDeadProducers(RewriterBase &rewriter, ValueRange values) {
  // Each operation enters at most once at a time, so none is erased twice.
  llvm::SmallSetVector<Operation *, 8> pending;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      pending.insert(op);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    SmallVector<Value> operands(op->getOperands());
    rewriter.eraseOp(op);
    for (Value operand : operands)
      if (Operation *producer = operand.getDefiningOp())
        pending.insert(producer);
  }
}

bool kvq::isDerivedFrom(Value value,
                        llvm::function_ref<bool(Operation *)> matches) {
  // What stands between is a few operations; a walk through the whole model
  // for each layer would take quadratic time.
  constexpr unsigned limit = 32;
  llvm::SmallPtrSet<Value, 16> seen;
  std::deque<Value> pending{value};
  while (!pending.empty() && seen.size() < limit) {
    Value next = pending.front();
    pending.pop_front();
    if (!isa<TensorType>(next.getType()) || !seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op) {
      auto loop = dyn_cast<LoopLikeOpInterface>(
          cast<BlockArgument>(next).getOwner()->getParentOp());
      auto argument = cast<BlockArgument>(next);
      if (loop && loop.getTiedLoopInit(argument)) {
        pending.push_back(loop.getTiedLoopInit(argument)->get());
        if (OpOperand *yielded = loop.getTiedLoopYieldedValue(argument))
          pending.push_back(yielded->get());
      }
      continue;
    }
    if (matches(op))
      return true;
    llvm::append_range(pending, op->getOperands());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          llvm::append_range(pending, block.getTerminator()->getOperands());
  }
  return false;
}
