//===- MaskEvaluator.h - Values of a mask by position ---------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_MASKEVALUATOR_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_MASKEVALUATOR_H

#include "ScalarExpr.h"

namespace kvq::raise {

/// Computes a mask that depends on nothing but constants and the positions of
/// query and key.
class MaskEvaluator {
public:
  MaskEvaluator(ExprContext &context, const Expr *expr,
                llvm::ArrayRef<Digit> query, llvm::ArrayRef<Digit> key);

  /// Whether the mask depends on nothing else.
  bool isPossible() const { return possible; }

  /// The value at a pair of positions, 0 or 1 for a condition. None if it is
  /// not a number that a double holds.
  std::optional<double> evaluate(int64_t query, int64_t key);

private:
  void check(const Expr *expr);
  std::optional<double> evaluate(const Expr *expr);
  std::optional<double> evaluateApply(const Expr *expr);
  std::optional<double> evaluateLoad(const Expr *expr);
  int64_t evaluate(const Index &index) const;
  void assign(llvm::ArrayRef<Digit> digits, int64_t value);

  ExprContext &context;
  const Expr *expr;
  llvm::SmallVector<Digit> query, key;
  bool possible = true;
  llvm::DenseMap<Digit, int64_t> values;
};

} // namespace kvq::raise

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_MASKEVALUATOR_H
