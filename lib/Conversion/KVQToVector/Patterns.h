//===- Patterns.h - The parts of convert-kvq-to-vector --------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_PATTERNS_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_PATTERNS_H

#include "VectorBuilder.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/IR/PatternMatch.h"

namespace kvq::detail {

/// Checks that `op` is in the form that the patterns take: no operand is a
/// tensor, and the scale layouts of its handles are decided. `emitError`
/// begins a diagnostic, and is null where the caller needs none.
mlir::LogicalResult
checkBufferForm(mlir::Operation *op,
                llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// A pattern that matches what checkBufferForm accepts.
template <typename OpTy>
struct ToVectorPattern : public mlir::OpRewritePattern<OpTy> {
  using mlir::OpRewritePattern<OpTy>::OpRewritePattern;

  /// Emits what replaces `op`.
  virtual void emit(OpTy op, VectorBuilder &b) const = 0;

  mlir::LogicalResult
  matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const final {
    if (failed(checkBufferForm(op, nullptr)))
      return rewriter.notifyMatchFailure(
          op, "operand is a tensor or a cache without a scale layout");
    VectorBuilder b(op.getLoc(), rewriter);
    emit(op, b);
    rewriter.eraseOp(op);
    return mlir::success();
  }
};

void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
void populateCachePatterns(mlir::RewritePatternSet &patterns);
void populateMergePatterns(mlir::RewritePatternSet &patterns);
void populateQuantizePatterns(mlir::RewritePatternSet &patterns);

} // namespace kvq::detail

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_PATTERNS_H
