//===- ScalarExpr.cpp - Tensors as scalar expressions ---------------------===//

#include "ScalarExpr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kvq::raise;

/// An attempt that makes more expressions than this is given up. Attention
/// takes some hundred; a long chain of elementwise operations on the scores
/// some thousand.
static constexpr size_t largestNumExprs = 20000;

Type Expr::getType() const {
  switch (kind) {
  case Constant:
    return cast<TypedAttr>(constant).getType();
  case Position:
    return IndexType::get(value ? value.getContext() : op->getContext());
  case Scalar:
    return value.getType();
  case Load:
    return getElementTypeOrSelf(value.getType());
  case Apply:
    // Operations on tensors are applied to their elements.
    return getElementTypeOrSelf(op->getResult(0).getType());
  }
  llvm_unreachable("unknown kind of expression");
}

const Expr *kvq::raise::stripCasts(const Expr *expr) {
  while (expr->is<arith::ExtFOp>() || expr->is<arith::TruncFOp>())
    expr = expr->operands[0];
  return expr;
}

bool ExprContext::isTooLarge() const { return exprs.size() > largestNumExprs; }

Expr *ExprContext::create(Expr::Kind kind) {
  exprs.emplace_back();
  exprs.back().kind = kind;
  return &exprs.back();
}

const Expr *ExprContext::load(Value tensor, Indices indices) {
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [dim, index] : llvm::enumerate(indices))
    index = type.getDimSize(dim) == 1 ? Index(0) : space.canonicalize(index);
  Expr *expr = create(Expr::Load);
  expr->value = tensor;
  expr->indices = std::move(indices);
  return expr;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Whether an operation is applied to scalars inside of a body.
static bool isScalarOp(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0;
}

std::optional<Index> ExprContext::getIndex(const Expr *expr) {
  if (expr->kind == Expr::Position)
    return expr->index;
  if (auto value = dyn_cast_or_null<IntegerAttr>(expr->constant))
    return Index(value.getInt());
  if (expr->is<arith::IndexCastOp>() || expr->is<arith::IndexCastUIOp>())
    return getIndex(expr->operands[0]);
  if (expr->kind != Expr::Apply || expr->operands.size() != 2)
    return std::nullopt;
  std::optional<Index> lhs = getIndex(expr->operands[0]);
  std::optional<Index> rhs = getIndex(expr->operands[1]);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr->is<arith::AddIOp>())
    return *lhs + *rhs;
  if (expr->is<arith::MulIOp>() && rhs->isConstant())
    return *lhs * rhs->constant;
  if (expr->is<arith::DivUIOp>() && rhs->isConstant())
    if (auto divided = space.divide(*lhs, rhs->constant))
      return divided->first;
  if (expr->is<arith::RemUIOp>() && rhs->isConstant())
    if (auto divided = space.divide(*lhs, rhs->constant))
      return divided->second;
  return std::nullopt;
}

const Expr *ExprContext::convertScalar(Value value, unsigned depth) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)) &&
      isa<FloatAttr, IntegerAttr>(constant)) {
    Expr *expr = create(Expr::Constant);
    expr->constant = constant;
    return expr;
  }
  Operation *op = value.getDefiningOp();
  // Deep chains of scalars are a value like any other.
  if (op && isScalarOp(op) && depth < 8) {
    Expr *expr = create(Expr::Apply);
    expr->op = op;
    for (Value operand : op->getOperands())
      expr->operands.push_back(convertScalar(operand, depth + 1));
    return expr;
  }
  if (auto extract = dyn_cast_or_null<tensor::ExtractOp>(op)) {
    Indices indices;
    for (Value operand : extract.getIndices()) {
      std::optional<Index> index = getIndex(convertScalar(operand, depth + 1));
      if (!index)
        break;
      indices.push_back(*index);
    }
    if (indices.size() == extract.getIndices().size())
      return load(extract.getTensor(), indices);
  }
  Expr *expr = create(Expr::Scalar);
  expr->value = value;
  return expr;
}

const Expr *
ExprContext::convertBody(linalg::LinalgOp op, Value value,
                         ArrayRef<Index> loops,
                         llvm::DenseMap<Value, const Expr *> &done) {
  const Expr *&known = done[value];
  if (known)
    return known;
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    if (!isa<RankedTensorType>(operand->get().getType()))
      return done[value] = convertScalar(operand->get());
    Indices indices;
    for (AffineExpr result : op.getMatchingIndexingMap(operand).getResults()) {
      std::optional<Index> index = space.apply(result, loops);
      if (!index)
        return nullptr;
      indices.push_back(*index);
    }
    return done[value] = load(operand->get(), indices);
  }
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock())
    return done[value] = convertScalar(value);
  if (auto position = dyn_cast<linalg::IndexOp>(def)) {
    Expr *expr = create(Expr::Position);
    expr->index = loops[position.getDim()];
    expr->op = def;
    return done[value] = expr;
  }
  if (matchPattern(value, m_Constant()))
    return done[value] = convertScalar(value);

  SmallVector<const Expr *> operands;
  if (!isScalarOp(def) && !isa<tensor::ExtractOp>(def))
    return nullptr;
  for (Value operand : def->getOperands()) {
    if (isa<RankedTensorType>(operand.getType()))
      continue;
    const Expr *expr = convertBody(op, operand, loops, done);
    if (!expr)
      return nullptr;
    operands.push_back(expr);
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(def)) {
    Indices indices;
    for (const Expr *operand : operands) {
      std::optional<Index> index = getIndex(operand);
      if (!index)
        return nullptr;
      indices.push_back(*index);
    }
    return done[value] = load(extract.getTensor(), indices);
  }
  Expr *expr = create(Expr::Apply);
  expr->op = def;
  expr->operands.assign(operands.begin(), operands.end());
  return done[value] = expr;
}

std::optional<Indices> ExprContext::getLoopIndices(const Expr *expr,
                                                   linalg::LinalgOp op,
                                                   ArrayRef<Index> reduced) {
  AffineMap map = op.getIndexingMapMatchingResult(cast<OpResult>(expr->value));
  SmallVector<std::optional<Index>> loops(op.getNumLoops());
  for (auto [result, index] : llvm::zip_equal(map.getResults(), expr->indices))
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      loops[dim.getPosition()] = index;
    else if (!isa<AffineConstantExpr>(result))
      return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Indices indices;
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (type == utils::IteratorType::reduction) {
      if (reduced.empty())
        return std::nullopt;
      indices.push_back(reduced.front());
      reduced = reduced.drop_front();
    } else if (loops[loop]) {
      indices.push_back(*loops[loop]);
    } else if (sizes[loop] == 1) {
      indices.push_back(0);
    } else {
      return std::nullopt;
    }
  }
  return indices;
}

const Expr *ExprContext::expandLinalg(const Expr *expr, linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() != 0)
    return nullptr;
  std::optional<Indices> loops = getLoopIndices(expr, op, {});
  if (!loops)
    return nullptr;
  unsigned number = cast<OpResult>(expr->value).getResultNumber();
  llvm::DenseMap<Value, const Expr *> done;
  return convertBody(op, op.getBlock()->getTerminator()->getOperand(number),
                     *loops, done);
}

const Expr *ExprContext::expandReshape(const Expr *expr) {
  Operation *op = expr->value.getDefiningOp();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    Indices indices;
    for (const auto &group : expand.getReassociationIndices()) {
      Index index;
      for (int64_t dim : group) {
        int64_t size = expand.getResultType().getDimSize(dim);
        if (dim != group.front() && ShapedType::isDynamic(size))
          return nullptr;
        index = (dim == group.front() ? Index() : index * size) +
                expr->indices[dim];
      }
      indices.push_back(index);
    }
    return load(expand.getSrc(), indices);
  }
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  Indices indices(collapse.getSrcType().getRank());
  for (auto [group, index] :
       llvm::zip_equal(collapse.getReassociationIndices(), expr->indices)) {
    Index rest = index;
    for (int64_t dim : llvm::reverse(group)) {
      // Unit dimensions outside are as good as none.
      if (dim == group.front()) {
        indices[dim] = rest;
        break;
      }
      int64_t size = collapse.getSrcType().getDimSize(dim);
      if (ShapedType::isDynamic(size)) {
        if (llvm::any_of(group, [&](int64_t other) {
              return other < dim &&
                     collapse.getSrcType().getDimSize(other) != 1;
            }))
          return nullptr;
        indices[dim] = rest;
        break;
      }
      auto divided = space.divide(rest, size);
      if (!divided)
        return nullptr;
      std::tie(rest, indices[dim]) = *divided;
    }
  }
  return load(collapse.getSrc(), indices);
}

/// Whether a concatenation repeats one tensor.
static bool isRepetition(tensor::ConcatOp op) {
  return llvm::all_equal(op.getInputs());
}

const Expr *ExprContext::expand(const Expr *expr) {
  if (expr->kind != Expr::Load || isTooLarge())
    return nullptr;
  auto it = expanded.find(expr);
  if (it != expanded.end())
    return it->second;
  const Expr *&result = expanded[expr];
  result = nullptr;

  DenseElementsAttr elements;
  if (matchPattern(expr->value, m_Constant(&elements)) && elements.isSplat()) {
    Expr *splat = create(Expr::Constant);
    splat->constant = elements.getSplatValue<Attribute>();
    return expanded[expr] = splat;
  }
  Operation *op = expr->value.getDefiningOp();
  if (!op)
    return nullptr;
  const Expr *step = nullptr;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    step = expandLinalg(expr, linalgOp);
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    step = expandReshape(expr);
  } else if (auto castOp = dyn_cast<tensor::CastOp>(op)) {
    if (isa<RankedTensorType>(castOp.getSource().getType()))
      step = load(castOp.getSource(), expr->indices);
  } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    step = convertScalar(splat.getInput());
  } else if (auto from = dyn_cast<tensor::FromElementsOp>(op)) {
    if (from.getElements().size() == 1)
      step = convertScalar(from.getElements().front());
  } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    auto type = cast<RankedTensorType>(concat.getInputs().front().getType());
    int64_t size = type.getDimSize(concat.getDim());
    if (isRepetition(concat) && !ShapedType::isDynamic(size))
      if (auto divided = space.divide(expr->indices[concat.getDim()], size)) {
        Indices indices = expr->indices;
        indices[concat.getDim()] = divided->second;
        step = load(concat.getInputs().front(), indices);
      }
  } else if (OpTrait::hasElementwiseMappableTraits(op) && isScalarOp(op) &&
             llvm::all_of(op->getOperandTypes(),
                          llvm::IsaPred<RankedTensorType>)) {
    // An operation on scalars that is applied to tensors.
    Expr *apply = create(Expr::Apply);
    apply->op = op;
    for (Value operand : op->getOperands())
      apply->operands.push_back(load(operand, expr->indices));
    step = apply;
  }
  return expanded[expr] = step;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::optional<unsigned> ExprContext::getNumReduced(const Expr *expr) const {
  if (expr->kind != Expr::Load)
    return std::nullopt;
  auto op = expr->value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0)
    return std::nullopt;
  return op.getNumReductionLoops();
}

std::optional<int64_t>
ExprContext::getNumReducedElements(const Expr *expr) const {
  if (!getNumReduced(expr))
    return std::nullopt;
  auto op = expr->value.getDefiningOp<linalg::LinalgOp>();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t count = 1;
  for (auto [size, type] : llvm::zip_equal(sizes, op.getIteratorTypesArray())) {
    if (type != utils::IteratorType::reduction)
      continue;
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    count *= size;
  }
  return count;
}

Indices ExprContext::createReducedIndices(const Expr *expr) {
  auto op = expr->value.getDefiningOp<linalg::LinalgOp>();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Indices indices;
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (type != utils::IteratorType::reduction)
      continue;
    Value tensor;
    unsigned dim = 0;
    if (ShapedType::isDynamic(sizes[loop]) &&
        failed(op.mapIterationSpaceDimToOperandDim(loop, tensor, dim)))
      tensor = {};
    indices.push_back(space.create(sizes[loop], tensor, dim));
  }
  return indices;
}

std::optional<Reduction> ExprContext::expandReduction(const Expr *expr,
                                                      ArrayRef<Index> reduced) {
  if (getNumReduced(expr) != reduced.size() || isTooLarge())
    return std::nullopt;
  auto op = expr->value.getDefiningOp<linalg::LinalgOp>();
  std::optional<Indices> loops = getLoopIndices(expr, op, reduced);
  if (!loops)
    return std::nullopt;
  unsigned number = cast<OpResult>(expr->value).getResultNumber();
  OpOperand *init = op.getDpsInitOperand(number);
  BlockArgument accumulator = op.getMatchingBlockArgument(init);
  Value yielded = op.getBlock()->getTerminator()->getOperand(number);
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || combiner->getBlock() != op.getBlock() ||
      combiner->getNumOperands() != 2 || combiner->getNumResults() != 1)
    return std::nullopt;
  Value other;
  if (combiner->getOperand(0) == accumulator)
    other = combiner->getOperand(1);
  else if (combiner->getOperand(1) == accumulator)
    other = combiner->getOperand(0);
  if (!other || other == accumulator)
    return std::nullopt;
  llvm::DenseMap<Value, const Expr *> done;
  const Expr *body = convertBody(op, other, *loops, done);
  // What is combined must not see the accumulator.
  if (!body || done.contains(accumulator))
    return std::nullopt;
  return Reduction{combiner, load(init->get(), expr->indices), body};
}

const Expr *ExprContext::stripViews(const Expr *expr, bool casts) {
  for (;;) {
    const Expr *step = casts ? stripCasts(expr) : expr;
    if (step->kind != Expr::Load)
      return step;
    const Expr *next = expand(step);
    if (!next)
      return step;
    const Expr *inner = casts ? stripCasts(next) : next;
    if (inner->kind == Expr::Apply || inner->kind == Expr::Position)
      return step;
    expr = inner;
  }
}
