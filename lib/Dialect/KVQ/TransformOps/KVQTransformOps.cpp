//===- KVQTransformOps.cpp - Transform operations of kvq ------------------===//

#include "kvq/Dialect/KVQ/TransformOps/KVQTransformOps.h"
#include "kvq/Conversion/KVQToVector/KVQToVector.h"
#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "kvq/Dialect/KVQ/Transforms/Decompose.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::transform_dialect;

/// Replaces an operation on tensors by linalg; fails with an error at it.
static LogicalResult decomposeTensors(RewriterBase &rewriter,
                                      linalg::AggregatedOpInterface op) {
  rewriter.setInsertionPoint(op);
  FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
  if (failed(values))
    return failure();
  rewriter.replaceOp(op, *values);
  return success();
}

/// Replaces an operation on memrefs and handles by loops.
static LogicalResult decomposeBuffers(RewriterBase &rewriter, Operation *op) {
  RewritePatternSet patterns(op->getContext());
  populateDecomposePatterns(patterns);
  GreedyRewriteConfig config;
  config.setListener(
      static_cast<RewriterBase::Listener *>(rewriter.getListener()));
  config.enableFolding(false);
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  bool changed = false;
  (void)applyOpPatternsGreedily(op, std::move(patterns), config, &changed);
  return success(changed);
}

DiagnosedSilenceableFailure
DecomposeOp::applyToOne(transform::TransformRewriter &rewriter,
                        Operation *target,
                        transform::ApplyToEachResultList &results,
                        transform::TransformState &state) {
  auto aggregated = dyn_cast<linalg::AggregatedOpInterface>(target);
  bool isOurs = target->getDialect() ==
                target->getContext()->getLoadedDialect<KVQDialect>();
  LogicalResult result = failure();
  if (isOurs && aggregated && target->getNumResults() != 0)
    result = decomposeTensors(rewriter, aggregated);
  else if (isOurs)
    result = decomposeBuffers(rewriter, target);
  if (succeeded(result))
    return DiagnosedSilenceableFailure::success();
  DiagnosedSilenceableFailure diag =
      emitSilenceableError()
      << "does not decompose '" << target->getName().getStringRef()
      << "', accepted are attention, merge_states, quantize and dequantize on "
         "tensors, and operations of kvq on memrefs and on handles whose scale "
         "layout is decided";
  diag.attachNote(target->getLoc()) << "target";
  return diag;
}

/// A silenceable failure about a target, with a note at it.
static DiagnosedSilenceableFailure
failAt(transform::TransformOpInterface transform, Operation *target,
       const Twine &why) {
  DiagnosedSilenceableFailure diag =
      emitSilenceableFailure(transform.getOperation())
      << "'" << target->getName().getStringRef() << "' op " << why;
  diag.attachNote(target->getLoc()) << "target";
  return diag;
}

/// A silenceable failure with what is in the way of an action on a target.
static DiagnosedSilenceableFailure
failAt(transform::TransformOpInterface transform, Operation *target,
       const Report &miss) {
  DiagnosedSilenceableFailure diag =
      failAt(transform, target, Twine(miss.getText()));
  if (auto obstacle = miss.getObstacle())
    diag.attachNote(obstacle->second)
        << obstacle->first << " is in the way here";
  return diag;
}

/// Fuses one operation, if it is an `OpTy`; what is in the way is a silenceable
/// failure.
template <typename OpTy>
static DiagnosedSilenceableFailure
fuseOne(transform::TransformOpInterface transform,
        transform::TransformRewriter &rewriter, Operation *target,
        transform::ApplyToEachResultList &results,
        FusionOutcome (*fuse)(RewriterBase &, OpTy, HandleAliasAnalysis &)) {
  auto op = dyn_cast<OpTy>(target);
  if (!op)
    return failAt(transform, target,
                  "is not fused: accepted is '" + OpTy::getOperationName() +
                      "'");
  HandleAliasAnalysis analysis(target);
  FusionOutcome outcome = fuse(rewriter, op, analysis);
  if (Operation *fused = outcome.getFused()) {
    results.push_back(fused);
    return DiagnosedSilenceableFailure::success();
  }
  if (outcome.isMiss())
    return failAt(transform, target, outcome.getMiss());
  return failAt(
      transform, target,
      "is not fused: it does not use what kvq.quantize or kvq.gather make");
}

DiagnosedSilenceableFailure
FuseQuantizeAppendOp::applyToOne(transform::TransformRewriter &rewriter,
                                 Operation *target,
                                 transform::ApplyToEachResultList &results,
                                 transform::TransformState &state) {
  return fuseOne<AppendOp>(*this, rewriter, target, results,
                           fuseQuantizeAppend);
}

DiagnosedSilenceableFailure
FuseDequantAttentionOp::applyToOne(transform::TransformRewriter &rewriter,
                                   Operation *target,
                                   transform::ApplyToEachResultList &results,
                                   transform::TransformState &state) {
  return fuseOne<AttentionOp>(*this, rewriter, target, results,
                              fuseDequantAttention);
}

/// The effects of an action in place on what a handle stands for.
static void
getInPlaceEffects(OpOperand &target, ResultRange produced,
                  SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(target, effects);
  transform::producesHandle(produced, effects);
  transform::modifiesPayload(effects);
}

void RaiseAttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  getInPlaceEffects(getTargetMutable(), getOperation()->getOpResults(),
                    effects);
}

DiagnosedSilenceableFailure
RaiseAttentionOp::apply(transform::TransformRewriter &rewriter,
                        transform::TransformResults &results,
                        transform::TransformState &state) {
  SmallVector<Operation *> raised;
  for (Operation *target : state.getPayloadOps(getTarget())) {
    auto function = dyn_cast<FunctionOpInterface>(target);
    if (!function)
      return failAt(*this, target, "is no function to raise attention in");
    for (AttentionOp attention :
         raiseAttention(rewriter, function, {getZeroMaskedRows()}))
      raised.push_back(attention);
  }
  results.set(cast<OpResult>(getAttention()), raised);
  return DiagnosedSilenceableFailure::success();
}

/// Does an action to a module, which reports its own errors.
static DiagnosedSilenceableFailure
applyToModule(transform::TransformOpInterface transform, Operation *target,
              transform::ApplyToEachResultList &results,
              function_ref<LogicalResult(ModuleOp)> action) {
  auto module = dyn_cast<ModuleOp>(target);
  if (!module)
    return failAt(transform, target, "is no 'builtin.module' with caches");
  if (failed(action(module)))
    return DiagnosedSilenceableFailure::definiteFailure();
  results.push_back(module);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
ConvertCacheFormatOp::applyToOne(transform::TransformRewriter &rewriter,
                                 Operation *target,
                                 transform::ApplyToEachResultList &results,
                                 transform::TransformState &state) {
  return applyToModule(*this, target, results, [&](ModuleOp module) {
    return convertCacheFormat(module,
                              {getKeyFormat().str(), getValueFormat().str(),
                               getFormatsFile().str(), getGlobalScale().str(),
                               getScaleLayout().str(), getStrict()});
  });
}

DiagnosedSilenceableFailure
AssignBlockScalesOp::applyToOne(transform::TransformRewriter &rewriter,
                                Operation *target,
                                transform::ApplyToEachResultList &results,
                                transform::TransformState &state) {
  return applyToModule(*this, target, results, [&](ModuleOp module) {
    return assignBlockScales(module, {getChip().str(), getValueReader().str(),
                                      getGlobalScale().str(),
                                      getMaxError().convertToDouble(),
                                      getMaxStoredError().convertToDouble()});
  });
}

void SelectMMAOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  getInPlaceEffects(getTargetMutable(), getOperation()->getOpResults(),
                    effects);
}

DiagnosedSilenceableFailure
SelectMMAOp::applyToOne(transform::TransformRewriter &rewriter,
                        Operation *target,
                        transform::ApplyToEachResultList &results,
                        transform::TransformState &state) {
  auto attention = dyn_cast<DequantAttentionOp>(target);
  if (!attention)
    return failAt(*this, target,
                  "has no MMA kinds: accepted is 'kvq.dequant_attention'");
  if (failed(
          selectMMA(attention, {getChip().str(), getQk().str(), getPv().str(),
                                getMaxError().convertToDouble()})))
    return DiagnosedSilenceableFailure::definiteFailure();
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
SplitKVOp::applyToOne(transform::TransformRewriter &rewriter, Operation *target,
                      transform::ApplyToEachResultList &results,
                      transform::TransformState &state) {
  auto attention = dyn_cast<DequantAttentionOp>(target);
  if (!attention || attention.getKvSplit())
    return failAt(*this, target,
                  "is not split: accepted is 'kvq.dequant_attention' without "
                  "kv_split");
  SplitAttention split;
  if (std::optional<Report> miss =
          splitKV(rewriter, attention,
                  {int64_t(getSplitLength()), int64_t(getMaxQueries()),
                   getSplitDynamic()},
                  split))
    return failAt(*this, target, *miss);
  results.push_back(split.parts);
  results.push_back(split.merge);
  return DiagnosedSilenceableFailure::success();
}

void ApplyDecomposePatternsOp::populatePatterns(RewritePatternSet &patterns) {
  populateDecomposePatterns(patterns);
}

void ApplyToVectorPatternsOp::populatePatterns(RewritePatternSet &patterns) {
  populateKVQToVectorPatterns(patterns);
}

namespace {

class KVQTransformDialectExtension
    : public transform::TransformDialectExtension<
          KVQTransformDialectExtension> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KVQTransformDialectExtension)

  using Base::Base;

  void init() {
    declareGeneratedDialect<arith::ArithDialect>();
    declareGeneratedDialect<KVQDialect>();
    declareGeneratedDialect<linalg::LinalgDialect>();
    declareGeneratedDialect<math::MathDialect>();
    declareGeneratedDialect<memref::MemRefDialect>();
    declareGeneratedDialect<scf::SCFDialect>();
    declareGeneratedDialect<tensor::TensorDialect>();
    declareGeneratedDialect<vector::VectorDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "kvq/Dialect/KVQ/TransformOps/KVQTransformOps.cpp.inc"
        >();
  }
};

} // namespace

void kvq::registerTransformDialectExtension(DialectRegistry &registry) {
  registry.addExtensions<KVQTransformDialectExtension>();
}

#define GET_OP_CLASSES
#include "kvq/Dialect/KVQ/TransformOps/KVQTransformOps.cpp.inc"
