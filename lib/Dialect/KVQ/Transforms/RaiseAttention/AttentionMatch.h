//===- AttentionMatch.h - The parts of attention in linalg ----------------===//
//
// Matching goes from the result up: the product of weights and values
// (matchAttention), the softmax (SoftmaxMatch.cpp), the scores with scale,
// soft-cap and masks (ScoresMatch.cpp), the product of queries and keys, what
// each digit of an index means (Roles.cpp), and last the logarithms of sums
// that are returned as well (LogSumMatch.cpp). Nothing is changed on the way;
// BuildAttention.cpp makes the operation of a complete match.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_ATTENTIONMATCH_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_ATTENTIONMATCH_H

#include "ScalarExpr.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"

namespace kvq::raise {

/// constant * product of factors / product of divisors.
struct Product {
  double constant = 1;
  llvm::SmallVector<const Expr *, 4> factors, divisors;
};

/// Adds the factors of an expression (or with `inverted` of its reciprocal) to
/// a product. With `steps`, goes on to what the tensors were computed from, as
/// long as that is a product or an exponential.
void flattenProduct(ExprContext &context, const Expr *expr, Product &product,
                    bool steps, bool inverted = false);

/// A number or tensor element that scores are multiplied or divided by.
struct Factor {
  const Expr *expr;
  bool divide;
};

/// What is done to scores after they are scaled.
struct Mask {
  /// A bias that is added, or a condition.
  const Expr *expr;
  bool isCondition;
  /// What a bias is multiplied by.
  double multiplier = 1;
  /// Whether a condition keeps the score where it is true or where it is false,
  /// and the score it leaves otherwise.
  bool keepsTrue = true;
  double fill = 0;
};

/// The scores before softmax: masks over softcap(scale * dot).
struct Scores {
  double scale = 1;
  /// Numbers and elements that depend on the query only.
  llvm::SmallVector<Factor, 2> factors;
  /// 0 for none.
  double softcap = 0;
  llvm::SmallVector<Mask, 2> masks;
  /// The product of queries and keys, and the index that it sums over.
  const Expr *dot = nullptr;
};

/// The softmax that a product of weights is.
struct Softmax {
  /// The scores, and what they are multiplied by before the exponential.
  const Expr *scores = nullptr;
  double multiplier = 1;
  /// What is subtracted from the scores, and what the weights are divided by;
  /// null for none, and for linalg.softmax.
  const Expr *maximum = nullptr, *sum = nullptr;
  /// A further score, of no key, that joins the sum; null for none.
  const Expr *sink = nullptr;
  /// Whether the weights are divided by their sum.
  bool normalized = false;
};

/// A tensor with the logarithms of the sums of weights that has uses past the
/// attention, and its indices in digits of the match.
struct LogSum {
  mlir::Value tensor;
  Indices indices;
};

/// What kvq.attention calls the dimensions, each as digits.
struct Roles {
  Digits batch, kvHead, group, query, key, headDim, valueDim;

  /// Query heads, as head h reads KV head h div group.
  Digits getHeads() const {
    Digits heads = kvHead;
    heads.append(group);
    return heads;
  }
};

/// One attempt at finding attention.
struct Match {
  Match() = default;
  Match(const Match &) = delete;

  ExprContext context;
  /// The operation whose result attention replaces.
  mlir::Operation *root = nullptr;
  /// The indices of the result, and those that the values are summed over.
  Indices resultIndices, keyIndices;
  Softmax softmax;
  Scores scores;
  Product values, queries, keys;
  Roles roles;
  /// The operation that computes the scores first.
  mlir::Operation *dotOp = nullptr;
  llvm::SmallVector<LogSum, 1> logSums;
  /// Why this is not attention, if it is near to it.
  std::optional<Report> obstacle;

  /// Notes why this is not attention.
  template <RemarkId id, typename... Args>
  llvm::LogicalResult fail(Args &&...args) {
    obstacle = Report::get<id>(std::forward<Args>(args)...);
    return llvm::failure();
  }

  /// Whether a value differs from key to key.
  bool dependsOnKey(const Expr *expr) {
    DigitSet keys;
    for (const Index &index : keyIndices)
      keys.insert(context.space.canonicalize(index));
    return context.dependsOn(expr, keys);
  }
};

/// Matches the product of weights and values that `root` computes, or divides
/// by the sum of weights. Fails with an obstacle if there is a softmax between
/// two products, and silently if not.
llvm::LogicalResult matchAttention(Match &match, mlir::Operation *root);

/// Whether an operation may be the product of weights and values.
bool mayBeProduct(mlir::linalg::LinalgOp op);

/// Whether an element is a sum of products of two tensors.
bool isDot(ExprContext &context, const Expr *expr);

/// Whether the value is computed from such a sum by elementwise operations.
bool hasDot(ExprContext &context, const Expr *expr);

/// Whether a product has a factor that may be a softmax over the keys.
bool hasSoftmax(Match &match, const Product &weights);

llvm::FailureOr<Softmax> matchSoftmax(Match &match, const Product &weights);

/// Matches what makes the scores of match.softmax, into match.scores.
llvm::LogicalResult matchScores(Match &match);

/// Whether the elements of a tensor are the natural logarithms of the sums that
/// the weights are divided by: what kvq.attention calls lse.
std::optional<LogSum> matchLogSum(Match &match, mlir::Value tensor);

/// Matches the product of queries and keys, and finds the roles of digits.
llvm::LogicalResult matchOperands(Match &match);
llvm::LogicalResult matchRoles(Match &match);

/// Which keys a query sees, by position: low <= key - query - length <= high,
/// or without the query.
struct Band {
  std::optional<int64_t> low, high;
  /// The length of a sequence, or null for none.
  const Expr *length = nullptr;
  bool hasQuery = true;
};

/// Returns the band that a mask admits, if it is one.
std::optional<Band> matchBand(Match &match, const Mask &mask);

/// What the masks are as operands of kvq.attention.
struct MaskPlan {
  bool causal = false;
  int64_t windowLeft = -1, windowRight = -1;
  /// The sequences' lengths less `lengthOffset`, or null for none.
  const Expr *length = nullptr;
  int64_t lengthOffset = 0;
  /// Those that have to be computed.
  llvm::SmallVector<Mask, 2> masks;
};

/// Fails if what a row without keys gives cannot be had.
llvm::FailureOr<MaskPlan> planMasks(Match &match, bool zeroMaskedRows);

/// Makes kvq.attention before the root, and returns its result in the form of
/// the root's, then its lse in the form of each of match.logSums.
llvm::SmallVector<mlir::Value>
buildAttention(Match &match, const MaskPlan &masks, mlir::OpBuilder &builder);

/// The last tensor, going up from an element, that holds all of the element's
/// digits in dimensions of their own and is of a type that attention takes;
/// null if there is none. With `factors`, goes on through multiplication by a
/// number.
const Expr *findSource(Match &match, const Expr *expr,
                       llvm::SmallVectorImpl<Factor> *factors);

} // namespace kvq::raise

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_ATTENTIONMATCH_H
