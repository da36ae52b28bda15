//===- DecomposeSoftmax.cpp - Lower linalg.softmax ------------------------===//

#include "kvq/Conversion/DecomposeSoftmax/DecomposeSoftmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace kvq {
#define GEN_PASS_DEF_DECOMPOSESOFTMAX
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;

namespace {

struct DecomposeSoftmaxPass
    : public kvq::impl::DecomposeSoftmaxBase<DecomposeSoftmaxPass> {
  void runOnOperation() override {
    SmallVector<linalg::SoftmaxOp> softmaxes;
    getOperation()->walk(
        [&](linalg::SoftmaxOp op) { softmaxes.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::SoftmaxOp op : softmaxes) {
      if (!op.hasPureTensorSemantics()) {
        op.emitOpError() << "has an operand of type "
                         << op.getInputOperandType() << " or "
                         << op.getOutputOperandType()
                         << ", accepted are tensors";
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
      if (failed(results))
        return signalPassFailure();
      rewriter.replaceOp(op, *results);
    }
  }
};

} // namespace
