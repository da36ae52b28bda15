//===- DecomposePatterns.h - The parts of kvq-decompose -------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_DECOMPOSEPATTERNS_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_DECOMPOSEPATTERNS_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/IR/PatternMatch.h"

namespace kvq::decompose {

/// Checks that `op` can be decomposed: no operand is a tensor, and the scale
/// layouts of its handles are decided. `emitError` begins a diagnostic, and
/// is null where the caller needs none.
mlir::LogicalResult
checkDecomposable(mlir::Operation *op,
                  llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// A pattern that matches what checkDecomposable accepts.
template <typename OpTy>
struct DecomposePattern : public mlir::OpRewritePattern<OpTy> {
  using mlir::OpRewritePattern<OpTy>::OpRewritePattern;

  /// Emits the loops that replace `op`.
  virtual void decompose(OpTy op, mlir::OpBuilder &builder) const = 0;

  mlir::LogicalResult
  matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const final {
    if (failed(checkDecomposable(op, nullptr)))
      return rewriter.notifyMatchFailure(
          op, "operand is a tensor or a cache without a scale layout");
    decompose(op, rewriter);
    rewriter.eraseOp(op);
    return mlir::success();
  }
};

void populateQuantizePatterns(mlir::RewritePatternSet &patterns);
void populateCachePatterns(mlir::RewritePatternSet &patterns);
void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
void populateMergeStatesPatterns(mlir::RewritePatternSet &patterns);

} // namespace kvq::decompose

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_DECOMPOSEPATTERNS_H
