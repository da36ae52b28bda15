//===- ExprEmitter.h - Compute expressions in linalg ----------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_EXPREMITTER_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_EXPREMITTER_H

#include "ScalarExpr.h"

namespace kvq::raise {

/// Computes expressions, as a scalar or for all values of some digits.
class ExprEmitter {
public:
  ExprEmitter(ExprContext &context, mlir::OpBuilder &builder,
              mlir::Location loc)
      : context(context), builder(builder), loc(loc) {}

  /// Emits the scalar of an expression that depends on no digits.
  mlir::Value emitUniform(const Expr *expr) {
    return emit(builder, expr, {}, Inputs());
  }

  /// Emits scalar operations; `emit` computes one of the expressions.
  using Body = llvm::function_ref<mlir::Value(
      mlir::OpBuilder &, llvm::function_ref<mlir::Value(const Expr *)> emit)>;

  /// Emits a tensor with a dimension for each of `digits`, in their order,
  /// whose elements `body` computes from `exprs`.
  mlir::Value emitTensor(llvm::ArrayRef<Digit> digits,
                         llvm::ArrayRef<const Expr *> exprs, mlir::Type element,
                         Body body);

private:
  /// Steps up from a tensor that repeats elements along other digits.
  const Expr *dropRepetition(const Expr *expr, llvm::ArrayRef<Digit> digits);
  void collectLoads(const Expr *expr, llvm::ArrayRef<Digit> digits,
                    llvm::SmallVectorImpl<const Expr *> &loads);

  using Inputs = llvm::DenseMap<const Expr *, mlir::Value>;

  mlir::Value emit(mlir::OpBuilder &b, const Expr *expr,
                   llvm::ArrayRef<Digit> digits, const Inputs &inputs);
  mlir::Value emitIndex(mlir::OpBuilder &b, const Index &index,
                        llvm::ArrayRef<Digit> digits);
  std::optional<std::pair<mlir::Value, mlir::AffineMap>>
  getInput(const Expr *load, llvm::ArrayRef<Digit> digits);

  ExprContext &context;
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Emits a number as f32.
mlir::Value emitToF32(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);

} // namespace kvq::raise

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_EXPREMITTER_H
