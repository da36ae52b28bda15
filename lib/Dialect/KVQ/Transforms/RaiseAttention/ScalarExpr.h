//===- ScalarExpr.h - Tensors as scalar expressions -----------------------===//
//
// An element of a tensor as an expression over its indices, whatever the
// operations that computed it: a generic, a named operation, a transpose, a
// broadcast or a reshape is a step from an element to elements of its operands.
// Reductions end a step: what is reduced is asked for with names for the
// indices that it runs over.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_SCALAREXPR_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_SCALAREXPR_H

#include "IndexSpace.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <deque>

namespace kvq::raise {

struct Expr {
  enum Kind {
    /// `constant`, a FloatAttr or IntegerAttr.
    Constant,
    /// `index`, as a value of type index.
    Position,
    /// `value`, a scalar that is there outside of the attention.
    Scalar,
    /// The element `indices` of the tensor `value`.
    Load,
    /// `op` applied to `operands`.
    Apply
  };

  Kind kind;
  mlir::Attribute constant;
  Index index;
  mlir::Value value;
  Indices indices;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<const Expr *, 3> operands;

  template <typename Op>
  bool is() const {
    return kind == Apply && mlir::isa<Op>(op);
  }

  /// The type of the scalar.
  mlir::Type getType() const;
};

/// What one element of the result of a reduction is: `init` combined with
/// `body` at all of the reduced indices.
struct Reduction {
  mlir::Operation *combiner;
  const Expr *init, *body;
};

/// Makes and analyzes expressions of one attempt at raising, and owns them.
class ExprContext {
public:
  IndexSpace space;

  const Expr *load(mlir::Value tensor, Indices indices);

  /// One step from an element to what its producer computes it from; null if
  /// the producer is a reduction or unknown, or if the attempt takes too long.
  const Expr *expand(const Expr *expr);

  /// As `expand`, and steps through slices, concatenations and insertions to
  /// the tensor that has the element, where sizes are known. An index may then
  /// run over a part of a dimension only.
  const Expr *expandSlices(const Expr *expr);

  /// The same value without the slices, concatenations and insertions that it
  /// goes through, by elements of what they were made of.
  const Expr *skipSlices(const Expr *expr);

  /// The number of indices that the producer of an element reduces over; none
  /// if it is no reduction.
  std::optional<unsigned> getNumReduced(const Expr *expr) const;

  /// The number of elements that the producer of an element reduces, if known.
  std::optional<int64_t> getNumReducedElements(const Expr *expr) const;

  /// Makes names for the indices that the producer of an element reduces over.
  Indices createReducedIndices(const Expr *expr);

  /// What the producer of an element reduces, at the given reduced indices.
  std::optional<Reduction> expandReduction(const Expr *expr,
                                           mlir::ArrayRef<Index> reduced);

  /// Steps through operations that only move elements, and through casts if
  /// `casts`, up to the first that does not.
  const Expr *stripViews(const Expr *expr, bool casts = true);

  /// Whether two expressions are the same but for casts between float types.
  bool isSame(const Expr *lhs, const Expr *rhs);

  /// Adds the digits that an expression is over.
  void collectDigits(const Expr *expr, DigitSet &digits);

  /// Adds the digits that are left when all steps are taken: not those that
  /// elements are only repeated along.
  void collectSourceDigits(const Expr *expr, DigitSet &digits);

  /// Expressions that are known to have a product of two tensors in them, or
  /// not to.
  llvm::DenseMap<const Expr *, bool> knownDots;

  /// Whether a value differs along any of the digits.
  bool dependsOn(const Expr *expr, const DigitSet &digits);

  /// Whether a value differs along none but the digits.
  bool isOver(const Expr *expr, mlir::ArrayRef<Digit> digits);

  /// The value of an expression of constants.
  std::optional<double> getConstant(const Expr *expr);

  /// Whether the value is one number for all elements, known outside.
  bool isUniform(const Expr *expr);

private:
  const Expr *expandLinalg(const Expr *expr, mlir::linalg::LinalgOp op);
  const Expr *expandReshape(const Expr *expr);
  const Expr *expandSlice(const Expr *expr, mlir::tensor::ExtractSliceOp op);
  const Expr *expandInsertion(const Expr *expr, mlir::tensor::InsertSliceOp op);
  const Expr *expandConcat(const Expr *expr, mlir::tensor::ConcatOp op);
  std::optional<Indices> getLoopIndices(const Expr *expr,
                                        mlir::linalg::LinalgOp op,
                                        mlir::ArrayRef<Index> reduced);
  const Expr *convertBody(mlir::linalg::LinalgOp op, mlir::Value value,
                          mlir::ArrayRef<Index> loops,
                          llvm::DenseMap<mlir::Value, const Expr *> &done);
  const Expr *convertScalar(mlir::Value value, unsigned depth = 0);
  std::optional<Index> getIndex(const Expr *expr);

  Expr *create(Expr::Kind kind);
  /// Whether the attempt takes too long.
  bool isTooLarge() const;
  bool isSame(const Expr *lhs, const Expr *rhs, unsigned depth);

  void collectSourceDigits(const Expr *expr, DigitSet &digits,
                           llvm::SmallPtrSetImpl<const Expr *> &seen);

  std::deque<Expr> exprs;
  llvm::DenseMap<const Expr *, const Expr *> expanded, expandedSlices;
};

/// Takes conversions between float types off.
const Expr *stripCasts(const Expr *expr);

} // namespace kvq::raise

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_SCALAREXPR_H
