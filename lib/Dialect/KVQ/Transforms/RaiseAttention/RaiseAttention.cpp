//===- RaiseAttention.cpp - Attention in linalg to kvq.attention ----------===//
//
// Each product of two tensors is tried as the product of weights and values.
// The other files of this folder find out, by algebra on the elements rather
// than by the shape of the operations, whether it is one.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace kvq {
#define GEN_PASS_DEF_RAISEATTENTION
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;
using namespace kvq::raise;

/// Finds what an expression reads and a set of operations makes.
static Operation *findMaker(const Expr *expr,
                            const SetVector<Operation *> &makers) {
  if (expr->kind == Expr::Load || expr->kind == Expr::Scalar) {
    Operation *def = expr->value.getDefiningOp();
    return def && makers.contains(def) ? def : nullptr;
  }
  for (const Expr *operand : expr->operands)
    if (Operation *found = findMaker(operand, makers))
      return found;
  return nullptr;
}

/// Whether an operation comes after the root, so that it can use what attention
/// returns.
static bool isAfterRoot(const Match &match, Operation *op) {
  Operation *ancestor = match.root->getBlock()->findAncestorOpInBlock(*op);
  return ancestor && match.root->isBeforeInBlock(ancestor);
}

/// Finds something that uses the scores or what is computed from them, other
/// than the attention that becomes of them; null if nothing does. What uses the
/// logarithm of the sum of weights can have it from attention: notes which
/// tensors that is.
static Operation *findOtherUser(Match &match) {
  Operation *dotOp = match.dotOp, *root = match.root;
  SetVector<Operation *> pending;
  pending.insert(dotOp);
  for (unsigned i = 0; i < pending.size(); ++i) {
    std::optional<LogSum> logSum;
    if (pending[i]->getNumResults() == 1 &&
        llvm::any_of(pending[i]->getUsers(),
                     [&](Operation *user) { return isAfterRoot(match, user); }))
      logSum = matchLogSum(match, pending[i]->getResult(0));
    if (logSum)
      match.logSums.push_back(*logSum);
    for (Operation *user : pending[i]->getUsers()) {
      if (user == root || isOpTriviallyDead(user) ||
          (logSum && isAfterRoot(match, user)))
        continue;
      // What is left without users is the end of another path.
      if (user->use_empty())
        return user;
      pending.insert(user);
    }
  }
  // Operands of the attention that come from the scores.
  SmallVector<const Expr *> exprs;
  for (const Product *operand : {&match.queries, &match.keys, &match.values}) {
    llvm::append_range(exprs, operand->factors);
    llvm::append_range(exprs, operand->divisors);
  }
  for (const Mask &mask : match.scores.masks)
    exprs.push_back(mask.expr);
  for (const Factor &factor : match.scores.factors)
    exprs.push_back(factor.expr);
  if (match.softmax.sink)
    exprs.push_back(match.softmax.sink);
  for (const Expr *expr : exprs)
    if (Operation *maker = findMaker(expr, pending))
      return maker;
  return nullptr;
}

/// Finds the operation that divides a product by the sum of weights, through
/// operations that only move elements.
static Operation *findDivision(Operation *product) {
  for (Operation *op = product; op->hasOneUse();) {
    Operation *user = *op->user_begin();
    if (user->getNumResults() != 1 || user->getNumRegions() > 1 ||
        !isa<RankedTensorType>(user->getResult(0).getType()))
      return nullptr;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
    if (linalgOp && linalgOp.getNumReductionLoops() != 0)
      return nullptr;
    if (!linalgOp && !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                          tensor::CastOp, arith::DivFOp, arith::MulFOp>(user))
      return nullptr;
    ExprContext context;
    Indices indices;
    auto type = cast<RankedTensorType>(user->getResult(0).getType());
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      indices.push_back(context.space.create(size, user->getResult(0), dim));
    Product quotient;
    flattenProduct(context, context.load(user->getResult(0), indices), quotient,
                   /*steps=*/true);
    bool isProduct = quotient.factors.size() == 1 &&
                     quotient.factors[0]->kind == Expr::Load &&
                     quotient.factors[0]->value == product->getResult(0);
    if (!isProduct)
      return nullptr;
    if (!quotient.divisors.empty())
      return user;
    op = user;
  }
  return nullptr;
}

namespace {

/// Raises the attention of a function.
class Raiser {
public:
  Raiser(RewriterBase &rewriter, const RaiseAttentionOptions &options)
      : rewriter(rewriter), options(options) {}

  SmallVector<AttentionOp> run(FunctionOpInterface function);

private:
  AttentionOp tryRaise(Operation *product);
  AttentionOp raise(Match &match);
  void eraseWithOperands(Operation *root);

  RewriterBase &rewriter;
  const RaiseAttentionOptions &options;
  llvm::DenseSet<Operation *> erased;
};

} // namespace

/// Erases an operation, and what only it used.
void Raiser::eraseWithOperands(Operation *root) {
  SetVector<Operation *> pending;
  pending.insert(root);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        pending.insert(def);
    // Operations outside that a body uses.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp();
            def && !op->isProperAncestor(def))
          pending.insert(def);
    });
    erased.insert(op);
    rewriter.eraseOp(op);
  }
}

/// Makes kvq.attention of a match, and returns it; null with an obstacle.
AttentionOp Raiser::raise(Match &match) {
  if (Operation *user = findOtherUser(match)) {
    (void)match.fail<RemarkId::AttentionScoresUsed>();
    match.obstacle->at(user);
    return {};
  }
  FailureOr<MaskPlan> masks = planMasks(match, options.zeroMaskedRows);
  if (failed(masks))
    return {};
  rewriter.setInsertionPoint(match.root);
  SmallVector<Value> results = buildAttention(match, *masks, rewriter);
  Operation *attention = rewriter.getInsertionPoint()->getPrevNode();
  rewriter.replaceAllUsesWith(match.root->getResult(0), results.front());
  for (auto [logSum, lse] :
       llvm::zip_equal(match.logSums, ArrayRef(results).drop_front()))
    rewriter.replaceUsesWithIf(logSum.tensor, lse, [&](OpOperand &use) {
      return isAfterRoot(match, use.getOwner());
    });
  eraseWithOperands(match.root);
  for (const LogSum &logSum : match.logSums)
    if (Operation *op = logSum.tensor.getDefiningOp(); !erased.contains(op))
      eraseWithOperands(op);
  // The views of the result come after it.
  while (!isa<AttentionOp>(attention))
    attention = attention->getPrevNode();
  report<RemarkId::RaisedAttention>(attention);
  return cast<AttentionOp>(attention);
}

/// Raises what `product` is the last product of, if that is attention.
AttentionOp Raiser::tryRaise(Operation *product) {
  Operation *root = product;
  for (;;) {
    Match match;
    if (succeeded(matchAttention(match, root)))
      if (AttentionOp attention = raise(match))
        return attention;
    if (!match.obstacle)
      return {};
    if (match.obstacle->getId() == RemarkId::AttentionNotNormalized &&
        root == product) {
      root = findDivision(product);
      if (root)
        continue;
      root = product;
    }
    (void)match.obstacle->emit(root);
    return {};
  }
}

SmallVector<AttentionOp> Raiser::run(FunctionOpInterface function) {
  SmallVector<Operation *> products;
  function->walk([&](linalg::LinalgOp op) {
    if (mayBeProduct(op))
      products.push_back(op);
  });
  SmallVector<AttentionOp> raised;
  for (Operation *op : products)
    if (!erased.contains(op))
      if (AttentionOp attention = tryRaise(op))
        raised.push_back(attention);
  return raised;
}

SmallVector<AttentionOp>
kvq::raiseAttention(RewriterBase &rewriter, FunctionOpInterface function,
                    const RaiseAttentionOptions &options) {
  return Raiser(rewriter, options).run(function);
}

namespace {

struct RaiseAttentionPass
    : public kvq::impl::RaiseAttentionBase<RaiseAttentionPass> {
  using RaiseAttentionBase::RaiseAttentionBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    raiseAttention(rewriter, getOperation(), {zeroMaskedRows});
  }
};

} // namespace
