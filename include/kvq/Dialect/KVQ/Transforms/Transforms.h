//===- Transforms.h - What the optimizing passes do -----------------------===//
//
// What the optimizing passes do to one operation, function or module, for the
// passes and for the operations of the transform dialect.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_TRANSFORMS_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_TRANSFORMS_H

#include "kvq/Dialect/KVQ/Analysis/HandleAliasAnalysis.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kvq {

/// What came of an attempt to fuse an operation.
class FusionOutcome {
public:
  /// There is nothing to fuse.
  static FusionOutcome notApplicable() { return FusionOutcome(); }

  static FusionOutcome fused(mlir::Operation *op) {
    FusionOutcome outcome;
    outcome.op = op;
    return outcome;
  }

  /// Something is in the way; nothing was changed.
  FusionOutcome(Report miss) : miss(std::move(miss)) {}

  /// The fused operation, or null.
  mlir::Operation *getFused() const { return op; }

  bool isMiss() const { return miss.has_value(); }
  const Report &getMiss() const { return *miss; }

  /// Reports a miss at `op`, as an error with `require`. Fails iff it was one.
  mlir::LogicalResult reportMiss(mlir::Operation *op, bool require) const {
    return miss ? miss->emit(op, require) : mlir::success();
  }

private:
  FusionOutcome() = default;

  mlir::Operation *op = nullptr;
  std::optional<Report> miss;
};

/// Replaces an append of rows that a kvq.quantize makes by a quantize_append.
FusionOutcome fuseQuantizeAppend(mlir::RewriterBase &rewriter, AppendOp append,
                                 HandleAliasAnalysis &analysis);

/// Replaces an attention over the rows that two kvq.gather make by a
/// dequant_attention.
FusionOutcome fuseDequantAttention(mlir::RewriterBase &rewriter,
                                   AttentionOp attention,
                                   HandleAliasAnalysis &analysis);

/// Replaces attention in linalg by kvq.attention. Returns what was made; what
/// is near to attention is reported as a remark.
llvm::SmallVector<AttentionOp>
raiseAttention(mlir::RewriterBase &rewriter, mlir::FunctionOpInterface function,
               const RaiseAttentionOptions &options);

/// Chooses and checks the MMA kinds of an attention. The chip has to be one of
/// the table. Fails with an error where a kind is not legal.
mlir::LogicalResult selectMMA(DequantAttentionOp op,
                              const SelectMMAOptions &options);

/// An attention in parts, and what merges them.
struct SplitAttention {
  DequantAttentionOp parts;
  MergeStatesOp merge;
};

/// Splits an attention along the cached tokens, into `result`, unless something
/// is in the way, which is returned.
std::optional<Report> splitKV(mlir::RewriterBase &rewriter,
                              DequantAttentionOp op,
                              const SplitKVOptions &options,
                              SplitAttention &result);

/// Retargets the caches of a module to other formats. Fails with an error.
mlir::LogicalResult
convertCacheFormat(mlir::ModuleOp module,
                   const ConvertCacheFormatOptions &options);

/// Gives the caches of a module block scales and scale layouts. Fails with an
/// error.
mlir::LogicalResult assignBlockScales(mlir::ModuleOp module,
                                      const AssignBlockScalesOptions &options);

/// Erases the operations that define `values`, if nothing needs them, and then
/// those that define their operands. The values may be gone after it.
void eraseDeadProducers(mlir::RewriterBase &rewriter, mlir::ValueRange values);

/// Whether a tensor is computed from a result of an operation that `matches`.
/// Looks at a bounded number of operations nearby, through tensors.
bool isDerivedFrom(mlir::Value value,
                   llvm::function_ref<bool(mlir::Operation *)> matches);

template <typename OpTy>
bool isDerivedFrom(mlir::Value value) {
  return isDerivedFrom(value,
                       [](mlir::Operation *op) { return mlir::isa<OpTy>(op); });
}

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_TRANSFORMS_H
