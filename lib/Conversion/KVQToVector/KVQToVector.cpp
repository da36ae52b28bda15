//===- KVQToVector.cpp - The pass convert-kvq-to-vector -------------------===//

#include "kvq/Conversion/KVQToVector/KVQToVector.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace kvq {
#define GEN_PASS_DEF_CONVERTKVQTOVECTOR
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

LogicalResult
kvq::detail::checkBufferForm(Operation *op,
                             function_ref<InFlightDiagnostic()> emitError) {
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (isa<TensorType>(operand.getType())) {
      if (emitError)
        emitError() << "operand #" << number << " is of type "
                    << operand.getType()
                    << ", convert-kvq-to-vector accepts memrefs: bufferize "
                       "first";
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

void kvq::populateKVQToVectorPatterns(RewritePatternSet &patterns) {
  detail::populateAttentionPatterns(patterns);
  detail::populateCachePatterns(patterns);
  detail::populateMergePatterns(patterns);
  detail::populateQuantizePatterns(patterns);
}

namespace {

struct ConvertKVQToVector
    : public kvq::impl::ConvertKVQToVectorBase<ConvertKVQToVector> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (op->getDialect() !=
              op->getContext()->getLoadedDialect<KVQDialect>() ||
          isa<MakeCacheOp, CacheDataOp, CacheScalesOp, CacheGlobalScaleOp>(op))
        return WalkResult::advance();
      return WalkResult(
          kvq::detail::checkBufferForm(op, [&] { return op->emitOpError(); }));
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    llvm::SmallDenseSet<Operation *> others;
    getOperation()->walk([&](math::TanhOp op) { others.insert(op); });
    RewritePatternSet patterns(&getContext());
    populateKVQToVectorPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    approximateTanh(others);
  }

private:
  /// Replaces the tanh of our soft-caps by a quotient of polynomials: libm has
  /// a scalar function only. Those that were there before stay.
  void approximateTanh(const llvm::SmallDenseSet<Operation *> &others) {
    SmallVector<Operation *> ours;
    getOperation()->walk([&](math::TanhOp op) {
      if (!others.contains(op))
        ours.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populatePolynomialApproximateTanhPattern(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps);
    config.enableFolding(false);
    (void)applyOpPatternsGreedily(ours, std::move(patterns), config);
  }
};

} // namespace
