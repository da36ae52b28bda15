//===- Decompose.cpp - The pass kvq-decompose -----------------------------===//

#include "kvq/Dialect/KVQ/Transforms/Decompose.h"
#include "DecomposePatterns.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace kvq {
#define GEN_PASS_DEF_DECOMPOSE
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;
using namespace kvq::decompose;

LogicalResult kvq::decompose::checkDecomposable(
    Operation *op, function_ref<InFlightDiagnostic()> emitError) {
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (isa<TensorType>(operand.getType())) {
      if (emitError)
        emitError() << "operand #" << number << " is of type "
                    << operand.getType()
                    << ", kvq-decompose accepts memrefs: bufferize first";
      return failure();
    }
  }
  std::string undecided = describeUndecided(op);
  if (undecided.empty())
    return success();
  if (emitError)
    emitError() << undecided;
  return failure();
}

void kvq::populateDecomposePatterns(RewritePatternSet &patterns) {
  populateQuantizePatterns(patterns);
  populateCachePatterns(patterns);
  populateAttentionPatterns(patterns);
  populateMergeStatesPatterns(patterns);
}

namespace {

struct DecomposePass : public kvq::impl::DecomposeBase<DecomposePass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (op->getDialect() !=
              op->getContext()->getLoadedDialect<KVQDialect>() ||
          isa<MakeCacheOp, CacheDataOp, CacheScalesOp, CacheGlobalScaleOp>(op))
        return WalkResult::advance();
      return WalkResult(
          checkDecomposable(op, [&] { return op->emitOpError(); }));
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    RewritePatternSet patterns(&getContext());
    populateDecomposePatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
