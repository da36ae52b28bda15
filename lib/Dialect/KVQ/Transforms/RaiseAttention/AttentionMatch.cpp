//===- AttentionMatch.cpp - Find attention above a product ----------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

/// Makes an index for each dimension of the root's result.
static const Expr *loadResult(Match &match) {
  OpResult result = match.root->getResult(0);
  // The root itself goes away; these have the same sizes.
  Value sizes = match.root->getOperand(0);
  if (auto op = dyn_cast<linalg::LinalgOp>(match.root))
    sizes = op.getDpsInits()[0];
  auto type = cast<RankedTensorType>(result.getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    match.resultIndices.push_back(match.context.space.create(size, sizes, dim));
  return match.context.load(result, match.resultIndices);
}

/// Whether the operand is a weight of the model.
static bool isConstant(const Product &operand) {
  return llvm::all_of(operand.factors, [](const Expr *factor) {
    return factor->kind == Expr::Load &&
           matchPattern(factor->value, m_Constant());
  });
}

/// Splits the product that the root sums into weights and values, and finds the
/// softmax of the weights.
static FailureOr<Softmax> matchWeights(Match &match, const Product &product,
                                       ArrayRef<const Expr *> divisors) {
  ExprContext &context = match.context;
  bool isNear = false;
  for (const Expr *candidate : product.factors) {
    Product weights;
    flattenProduct(context, candidate, weights, /*steps=*/true);
    if (!hasSoftmax(match, weights))
      continue;
    isNear = true;
    for (const Expr *divisor : product.divisors)
      flattenProduct(context, divisor, weights, /*steps=*/true,
                     /*inverted=*/true);
    llvm::append_range(weights.divisors, divisors);
    FailureOr<Softmax> softmax = matchSoftmax(match, weights);
    if (failed(softmax))
      continue;
    match.obstacle.reset();
    match.values = product;
    match.values.divisors.clear();
    llvm::erase(match.values.factors, candidate);
    if (match.values.factors.empty())
      return match.fail<RemarkId::AttentionProduct>();
    return softmax;
  }
  if (isNear && !match.obstacle)
    return match.fail<RemarkId::AttentionWeightsChanged>();
  return failure();
}

LogicalResult kvq::raise::matchAttention(Match &match, Operation *root) {
  match.root = root;
  ExprContext &context = match.context;
  const Expr *sum = loadResult(match);
  SmallVector<const Expr *> divisors;
  if (!context.getNumReduced(sum)) {
    // A division after the product.
    Product quotient;
    flattenProduct(context, sum, quotient, /*steps=*/true);
    if (quotient.factors.size() != 1 || quotient.divisors.empty() ||
        quotient.constant != 1)
      return failure();
    sum = quotient.factors[0];
    llvm::append_range(divisors, quotient.divisors);
    if (!context.getNumReduced(sum))
      return failure();
  }
  match.keyIndices = context.createReducedIndices(sum);
  std::optional<Reduction> reduction =
      context.expandReduction(sum, match.keyIndices);
  if (!reduction || !isa<arith::AddFOp>(reduction->combiner))
    return failure();
  Product product;
  flattenProduct(context, reduction->body, product, /*steps=*/false);
  if (llvm::all_of(match.keyIndices,
                   [](const Index &index) { return index.isConstant(); })) {
    bool isNear = llvm::any_of(product.factors, [&](const Expr *factor) {
      Product weights;
      flattenProduct(context, factor, weights, /*steps=*/true);
      return hasSoftmax(match, weights);
    });
    return isNear ? match.fail<RemarkId::AttentionSingleKey>() : failure();
  }
  FailureOr<Softmax> softmax = matchWeights(match, product, divisors);
  if (failed(softmax))
    return failure();
  match.softmax = *softmax;
  if (!softmax->normalized)
    return match.fail<RemarkId::AttentionNotNormalized>();
  if (context.getConstant(reduction->init) != 0.0)
    return match.fail<RemarkId::AttentionAccumulator>("weights and values");
  Type element = getElementTypeOrSelf(root->getResult(0).getType());
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return match.fail<RemarkId::AttentionType>(element);
  if (failed(matchScores(match)) || failed(matchOperands(match)) ||
      failed(matchRoles(match)))
    return failure();
  if (isConstant(match.keys) && isConstant(match.values))
    return match.fail<RemarkId::AttentionConstantKeys>();
  return success();
}
