//===- FuseQuantizeAppend.cpp - quantize + append to quantize_append ------===//
//
// The rows are quantized where they are written. Transposes, reshapes, casts
// and slices between the two move whole rows and are done on the values
// instead.
//
//===----------------------------------------------------------------------===//

#include "EffectsBetween.h"
#include "FoldRope.h"
#include "ViewChain.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace kvq {
#define GEN_PASS_DEF_FUSEQUANTIZEAPPEND
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

/// Returns the quantize that writes a memref, seen through views, or null.
static QuantizeOp findWritingQuantize(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  SmallVector<Value> pending{memref};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      auto quantize = dyn_cast<QuantizeOp>(use.getOwner());
      if (quantize && quantize.isDpsInit(&use))
        return quantize;
      if (auto view = dyn_cast<ViewLikeOpInterface>(use.getOwner());
          view && view.getViewSource() == value)
        pending.push_back(view->getResult(0));
    }
  }
  return {};
}

/// The values that an operation converts, all of them and in place, from f16 or
/// bf16 to a wider type, or null.
static Value getWidened(Operation *op) {
  auto isNarrow = [](Value value) {
    return isa<RankedTensorType>(value.getType()) &&
           isa<BFloat16Type, Float16Type>(
               getElementTypeOrSelf(value.getType()));
  };
  if (auto extend = dyn_cast_or_null<arith::ExtFOp>(op))
    return isNarrow(extend.getIn()) ? extend.getIn() : Value();
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || !generic.hasPureTensorSemantics() ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !isNarrow(generic.getDpsInputs()[0]))
    return {};
  Block *body = generic.getBody();
  auto extend =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::ExtFOp>();
  return extend && extend.getIn() == body->getArgument(0)
             ? generic.getDpsInputs()[0]
             : Value();
}

/// Takes widening casts off values: quantization converts to f32 exactly.
static Value stripWidening(Value value) {
  while (Value narrow = getWidened(value.getDefiningOp()))
    value = narrow;
  return value;
}

/// Folds a rotary position embedding, or reports why not.
static void tryFoldRope(RewriterBase &rewriter, QuantizeAppendOp append) {
  if (std::optional<Report> miss = foldRope(rewriter, append))
    (void)miss->emit(append);
}

FusionOutcome kvq::fuseQuantizeAppend(RewriterBase &rewriter, AppendOp append,
                                      HandleAliasAnalysis &analysis) {
  if (!isa<RankedTensorType>(append.getData().getType())) {
    QuantizeOp quantize = findWritingQuantize(append.getData());
    if (!quantize)
      return FusionOutcome::notApplicable();
    return Report::get<RemarkId::AppendOfMemRefs>().at(quantize);
  }
  ViewChain data(append.getData());
  auto result = dyn_cast<OpResult>(data.getBase());
  auto quantize =
      result ? dyn_cast<QuantizeOp>(result.getOwner()) : QuantizeOp();
  if (!quantize) {
    Operation *obstacle = data.getBase().getDefiningOp();
    if (!isDerivedFrom<QuantizeOp>(data.getBase()))
      return FusionOutcome::notApplicable();
    if (!obstacle)
      obstacle = data.getBase().getParentRegion()->getParentOp();
    return Report::get<RemarkId::AppendOfChangedRows>().at(obstacle);
  }
  if (result.getResultNumber() != 0)
    return Report::get<RemarkId::AppendOfOtherScales>().at(quantize);
  if (Operation *obstacle = data.findOpOnRows())
    return Report::get<RemarkId::AppendOfSplitRows>().at(obstacle);
  if (append.getScales()) {
    ViewChain scales(append.getScales());
    auto scalesResult = dyn_cast<OpResult>(scales.getBase());
    if (!scalesResult || scalesResult.getOwner() != quantize ||
        scalesResult.getResultNumber() != 1)
      return Report::get<RemarkId::AppendOfOtherScales>().at(quantize);
    if (Operation *obstacle = scales.findOpOnRows())
      return Report::get<RemarkId::AppendOfSplitRows>().at(obstacle);
    if (!data.movesRowsAs(scales))
      return Report::get<RemarkId::AppendOfOtherScales>().at(quantize);
  }

  Value handle = append.getCache();
  KVFormatInterface format = append.getCache().getType().getFormat();
  if (quantize.getFormat() != format)
    return Report::get<RemarkId::AppendOfOtherFormat>(
               Attribute(quantize.getFormat()), Attribute(format))
        .at(quantize);
  if (Value scale = quantize.getGlobalScale())
    if (!isGlobalScaleOf(scale, handle, append, analysis))
      return Report::get<RemarkId::AppendGlobalScaleUnknown>().at(quantize);
  Value input = quantize.getInput();
  if (isa<MemRefType>(input.getType()))
    return Report::get<RemarkId::AppendOfMemRefs>().at(quantize);

  rewriter.setInsertionPoint(append);
  Value rows = data.replay(rewriter, stripWidening(input));
  auto fused = QuantizeAppendOp::create(
      rewriter, append.getLoc(), rows, handle, append.getSlotMapping(),
      append.getBlockTable(), append.getPositions(), append.getBatchIndices(),
      quantize.getRounding(), quantize.getFourOverSix());
  fused->setDiscardableAttrs(append->getDiscardableAttrDictionary());
  SmallVector<Value> rowsBefore(
      append.getOperands().take_front(append.getScales() ? 2 : 1));
  report<RemarkId::FusedQuantizeAppend>(fused);
  rewriter.eraseOp(append);
  eraseDeadProducers(rewriter, rowsBefore);
  tryFoldRope(rewriter, fused);
  return FusionOutcome::fused(fused);
}

namespace {

struct FuseQuantizeAppendPass
    : public kvq::impl::FuseQuantizeAppendBase<FuseQuantizeAppendPass> {
  using FuseQuantizeAppendBase::FuseQuantizeAppendBase;

  void runOnOperation() override {
    HandleAliasAnalysis &analysis = getAnalysis<HandleAliasAnalysis>();
    SmallVector<AppendOp> appends;
    SmallVector<QuantizeAppendOp> fused;
    getOperation()->walk([&](Operation *op) {
      if (auto append = dyn_cast<AppendOp>(op))
        appends.push_back(append);
      else if (auto append = dyn_cast<QuantizeAppendOp>(op))
        fused.push_back(append);
    });
    IRRewriter rewriter(&getContext());
    for (AppendOp op : appends)
      if (failed(fuseQuantizeAppend(rewriter, op, analysis)
                     .reportMiss(op, require)))
        signalPassFailure();
    for (QuantizeAppendOp op : fused)
      tryFoldRope(rewriter, op);
  }
};

} // namespace
