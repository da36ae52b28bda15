//===- VerifyHandles.cpp - Lifetimes of cache handles ---------------------===//

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kvq {
#define GEN_PASS_DEF_VERIFYHANDLES
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

/// Whether a handle occurs in a type that is not a handle itself, such as a
/// tuple.
static bool containsHandle(Type type) {
  if (isa<CacheType>(type))
    return false;
  return type
      .walk([](Type nested) {
        return isa<CacheType>(nested) ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether an operation may take a handle as an operand.
static bool mayTakeHandle(Operation *op) {
  if (op->hasTrait<OpTrait::ReturnLike>() &&
      isa<FunctionOpInterface>(op->getParentOp()))
    return false;
  return isa<KVQDialect>(op->getDialect()) ||
         isa<CallOpInterface, RegionBranchOpInterface,
             RegionBranchTerminatorOpInterface, BranchOpInterface,
             arith::SelectOp>(op);
}

/// Whether a result of an operation may be a handle.
static bool mayMakeHandle(Operation *op) {
  return isa<MakeCacheOp, arith::SelectOp, RegionBranchOpInterface>(op);
}

static LogicalResult verifySignature(FunctionOpInterface function) {
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (isa<CacheType>(type))
      return function.emitError()
             << "result #" << index << " is a handle of type " << type
             << "; a handle is not returned from a function, pass it down as "
                "an argument";
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto cache = dyn_cast<CacheType>(type);
    if (!cache || !cache.isUndecided() || !function.isPublic())
      continue;
    InFlightDiagnostic diag = function.emitError();
    diag << "argument #" << index << " of a public function has ";
    if (cache.getScaleLayout())
      diag << "an undecided scale layout in " << type
           << ", expected linear, interleaved_4 or blocked_128x4";
    else
      diag << "undecided block scales in " << type
           << ", expected a format such as nvfp4 or mxfp4";
    return diag << ", as callers cannot see what is decided";
  }
  return success();
}

static LogicalResult verifyOperation(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return verifySignature(function);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Type type = operand.getType();
    if (containsHandle(type))
      return op->emitOpError() << "operand #" << index << " of type " << type
                               << " holds a handle; handles are not stored";
    if (!isa<CacheType>(type) || mayTakeHandle(op))
      continue;
    InFlightDiagnostic diag = op->emitOpError();
    if (op->hasTrait<OpTrait::ReturnLike>())
      diag << "returns a handle of type " << type
           << "; a handle is not returned from a function, pass it down as an "
              "argument";
    else
      diag << "takes a handle of type " << type
           << "; accepted are operations of the kvq dialect, calls, loops, "
              "branches and selects";
    diag.attachNote(operand.getLoc()) << "the handle is defined here";
    return diag;
  }
  for (auto [index, type] : llvm::enumerate(op->getResultTypes())) {
    if (containsHandle(type))
      return op->emitOpError() << "result #" << index << " of type " << type
                               << " holds a handle; handles are not stored";
    if (isa<CacheType>(type) && !mayMakeHandle(op))
      return op->emitOpError()
             << "makes a handle of type " << type
             << "; handles come from kvq.make_cache, arguments, loops, "
                "branches and selects";
  }
  return success();
}

namespace {

struct VerifyHandlesPass
    : public kvq::impl::VerifyHandlesBase<VerifyHandlesPass> {
  void runOnOperation() override {
    bool failedAny = false;
    getOperation()->walk(
        [&](Operation *op) { failedAny |= failed(verifyOperation(op)); });
    if (failedAny)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
