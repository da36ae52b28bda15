//===- OperandChecks.h - What an operation's operands must satisfy --------===//

#ifndef KVQ_LIB_CONVERSION_RUNTIMECHECKS_OPERANDCHECKS_H
#define KVQ_LIB_CONVERSION_RUNTIMECHECKS_OPERANDCHECKS_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace kvq {

/// Lists the run-time checks of an operation in buffer form, sizes before
/// contents.
class OperandChecks {
public:
  /// Emits a check and returns its i32 status. It may read anything that the
  /// checks before it have found good.
  using Check = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location)>;

  /// With `onHost` the list is that of an operation that runs on a device:
  /// checks that look into memory are left out.
  OperandChecks(mlir::ModuleOp module, mlir::Operation *op, bool onHost = false)
      : module(module), op(op), onHost(onHost) {}

  /// Returns the checks in the order in which they run. Fails with an error if
  /// the module has a symbol where a check belongs.
  mlir::FailureOr<llvm::SmallVector<Check>> collect();

  /// Emits `status` == 0.
  static mlir::Value isZero(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value status);

  /// Emits checks, each of which runs only if `status` (i32) and those before
  /// it are 0. Returns the first status that is not 0, or 0.
  static mlir::Value emit(mlir::OpBuilder &b, mlir::Location loc,
                          llvm::ArrayRef<Check> checks, mlir::Value status);

  /// Moves `ops`, which have no results, into a branch at the builder's place
  /// that is taken if `status` is 0.
  static void guard(mlir::OpBuilder &b, llvm::ArrayRef<mlir::Operation *> ops,
                    mlir::Value status);

private:
  using Operands = std::function<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Location)>;

  /// Adds a call of a function of the library of checks.
  void addCall(llvm::StringRef name, Operands operands);

  /// The same, of one that reads memory.
  void addReadingCall(llvm::StringRef name, Operands operands);

  /// Requires size `dim` of `value` to be size `otherDim` of `other`, times
  /// `factor` and plus `more`. Null values and static sizes need no check.
  void addSize(mlir::Value value, unsigned dim, mlir::Value other,
               unsigned otherDim, int64_t more = 0, int64_t factor = 1);

  /// Requires size `dim` of `value` to be a multiple of `factor`.
  void addMultiple(mlir::Value value, unsigned dim, int64_t factor);

  /// Requires the global scale of a handle, if it has one, to be positive and
  /// finite.
  void addGlobalScale(mlir::Value handle);

  void addFor(QuantizeOp op);
  void addFor(DequantizeOp op);
  void addFor(ConvertScaleLayoutOp op);
  void addFor(MakeCacheOp op);
  void addFor(AppendOp op);
  void addFor(QuantizeAppendOp op);
  void addFor(CopyPagesOp op);
  void addFor(GatherOp op);
  void addFor(AttentionOp op);
  void addFor(DequantAttentionOp op);
  void addFor(MergeStatesOp op);

  void addQuantization(mlir::Value values, mlir::Value data, mlir::Value scales,
                       mlir::Value globalScale, KVFormatInterface format);
  void addAddressing(PagedBatchOpInterface op, mlir::Value rows,
                     mlir::Value cache);
  void addBlockTable(mlir::Value blockTable, mlir::Value seqLens,
                     mlir::ValueRange caches);
  void addQueries(mlir::Value q, mlir::Value qoIndptr, mlir::Value output,
                  mlir::Value lse, mlir::Value sinks, unsigned leading);

  mlir::ModuleOp module;
  mlir::Operation *op;
  llvm::SmallVector<Check> checks;
  bool onHost;
  bool failed = false;
};

} // namespace kvq

#endif // KVQ_LIB_CONVERSION_RUNTIMECHECKS_OPERANDCHECKS_H
