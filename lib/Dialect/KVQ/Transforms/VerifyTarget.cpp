//===- VerifyTarget.cpp - Check that a chip can do what is asked ----------===//

#include "TargetRules.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kvq {
#define GEN_PASS_DEF_VERIFYTARGET
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

static LogicalResult verifyDecided(Operation *op) {
  std::string undecided = describeUndecided(op);
  if (undecided.empty())
    return success();
  return reportError<RemarkId::BlockScalesUndecided>(op, undecided);
}

static LogicalResult verifyAttention(DequantAttentionOp op, StringRef chip) {
  if (op.getQkAttr() &&
      failed(verifyMMAKind(op, chip, MMAProduct::QK, op.getQkAttr())))
    return failure();
  if (op.getPvAttr() &&
      failed(verifyMMAKind(op, chip, MMAProduct::PV, op.getPvAttr())))
    return failure();
  return success();
}

namespace {

struct VerifyTargetPass : public kvq::impl::VerifyTargetBase<VerifyTargetPass> {
  using VerifyTargetBase::VerifyTargetBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyChip(getOperation(), chip, /*allowCPU=*/true)))
      return signalPassFailure();
    getOperation()->walk([&](Operation *op) {
      if (!isa<KVQDialect>(op->getDialect()))
        return;
      auto attention = dyn_cast<DequantAttentionOp>(op);
      if (failed(verifyDecided(op)) ||
          (attention && chip != "cpu" &&
           failed(verifyAttention(attention, chip))))
        signalPassFailure();
    });
  }
};

} // namespace
