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

/// Fuses one operation, if it is an `OpTy`; what is in the way is a silenceable
/// failure.
template <typename OpTy>
static DiagnosedSilenceableFailure
fuseOne(transform::TransformOpInterface transform,
        transform::TransformRewriter &rewriter, Operation *target,
        transform::ApplyToEachResultList &results,
        FusionOutcome (*fuse)(RewriterBase &, OpTy, HandleAliasAnalysis &)) {
  auto fail = [&](const Twine &why) {
    DiagnosedSilenceableFailure diag =
        emitSilenceableFailure(transform.getOperation())
        << "'" << target->getName().getStringRef() << "' op " << why;
    diag.attachNote(target->getLoc()) << "target";
    return diag;
  };
  auto op = dyn_cast<OpTy>(target);
  if (!op)
    return fail("is not fused: accepted is '" + OpTy::getOperationName() + "'");
  HandleAliasAnalysis analysis(target);
  FusionOutcome outcome = fuse(rewriter, op, analysis);
  if (Operation *fused = outcome.getFused()) {
    results.push_back(fused);
    return DiagnosedSilenceableFailure::success();
  }
  if (!outcome.isMiss())
    return fail(
        "is not fused: it does not use what kvq.quantize or kvq.gather make");
  DiagnosedSilenceableFailure diag = fail(outcome.getMiss().getText());
  if (auto obstacle = outcome.getMiss().getObstacle())
    diag.attachNote(obstacle->second)
        << obstacle->first << " is in the way here";
  return diag;
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
