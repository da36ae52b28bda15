//===- AxisTrace.cpp - Where the axes of a cached array go ----------------===//

#include "AxisTrace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// Scalar factors
//===----------------------------------------------------------------------===//

/// Whether every value of the type is one of f32.
static bool isNarrowFloat(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type);
}

Value ScalarFactor::materialize(OpBuilder &builder, Location loc) const {
  Type f32 = builder.getF32Type();
  if (!value)
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(static_cast<float>(
                                         constant.getValueAsDouble())));
  Value scalar = value;
  if (isa<RankedTensorType>(scalar.getType()))
    scalar = tensor::ExtractOp::create(builder, loc, scalar);
  if (scalar.getType() != f32)
    scalar = arith::ExtFOp::create(builder, loc, f32, scalar);
  return scalar;
}

std::optional<ScalarFactor> kvq::getUniformValue(Value value, Operation *op) {
  if (!isNarrowFloat(getElementTypeOrSelf(value.getType())))
    return std::nullopt;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseFPElementsAttr>(constant);
        elements && elements.isSplat())
      return ScalarFactor{{}, elements.getSplatValue<FloatAttr>()};
    if (auto number = dyn_cast<FloatAttr>(constant))
      return ScalarFactor{{}, number};
    return std::nullopt;
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getRank() != 0) {
    if (auto splat = value.getDefiningOp<tensor::SplatOp>())
      return getUniformValue(splat.getInput(), op);
    if (auto fill = value.getDefiningOp<linalg::FillOp>())
      return getUniformValue(fill.value(), op);
    if (auto broadcast = value.getDefiningOp<linalg::BroadcastOp>();
        broadcast && broadcast.hasPureTensorSemantics())
      return getUniformValue(broadcast.getInput(), op);
    if (auto cast = value.getDefiningOp<tensor::CastOp>())
      return getUniformValue(cast.getSource(), op);
    return std::nullopt;
  }
  // A value of a region of the operation is not there outside of it.
  if (op->isAncestor(value.getParentRegion()->getParentOp()))
    return std::nullopt;
  return ScalarFactor{value, {}};
}

//===----------------------------------------------------------------------===//
// Which operand an operation moves
//===----------------------------------------------------------------------===//

namespace {

/// What the body of a linalg operation does to the elements of one input.
struct ElementBody {
  OpOperand *input = nullptr;
  SmallVector<ScalarFactor, 1> factors;
};

} // namespace

/// Reads a body that casts, multiplies and divides one element.
static std::optional<ElementBody> readBody(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || !op.hasPureTensorSemantics() ||
      op.getNumParallelLoops() != op.getNumLoops())
    return std::nullopt;
  Block *block = op.getBlock();
  ElementBody body;
  Value value = block->getTerminator()->getOperand(0);
  auto getUniform = [&](Value scalar) -> std::optional<ScalarFactor> {
    if (auto extend = scalar.getDefiningOp<arith::ExtFOp>())
      if (extend->getBlock() == block)
        scalar = extend.getIn();
    auto argument = dyn_cast<BlockArgument>(scalar);
    if (argument && argument.getOwner() == block)
      scalar = op->getOperand(argument.getArgNumber());
    return getUniformValue(scalar, op);
  };
  for (;;) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != block)
        return std::nullopt;
      body.input = op.getMatchingOpOperand(argument);
      if (!op.isDpsInput(body.input) ||
          !isa<RankedTensorType>(body.input->get().getType()))
        return std::nullopt;
      std::reverse(body.factors.begin(), body.factors.end());
      return body;
    }
    Operation *definition = value.getDefiningOp();
    if (definition->getBlock() != block || !isNarrowFloat(value.getType()))
      return std::nullopt;
    if (isa<arith::ExtFOp, arith::TruncFOp>(definition)) {
      value = definition->getOperand(0);
    } else if (auto multiply = dyn_cast<arith::MulFOp>(definition)) {
      value = multiply.getLhs();
      std::optional<ScalarFactor> factor = getUniform(multiply.getRhs());
      if (!factor) {
        value = multiply.getRhs();
        factor = getUniform(multiply.getLhs());
      }
      if (!factor)
        return std::nullopt;
      body.factors.push_back(*factor);
    } else if (auto divide = dyn_cast<arith::DivFOp>(definition)) {
      std::optional<ScalarFactor> factor = getUniform(divide.getRhs());
      if (!factor)
        return std::nullopt;
      factor->divide = true;
      body.factors.push_back(*factor);
      value = divide.getLhs();
    } else {
      return std::nullopt;
    }
  }
}

/// Reads arith operations on whole tensors.
static std::optional<ElementBody> readElementwise(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()) ||
      !isNarrowFloat(getElementTypeOrSelf(op->getResult(0).getType())))
    return std::nullopt;
  ElementBody body;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    body.input = &op->getOpOperand(0);
    return body;
  }
  if (!isa<arith::MulFOp, arith::DivFOp>(op))
    return std::nullopt;
  bool divide = isa<arith::DivFOp>(op);
  for (unsigned factor : {1u, 0u}) {
    std::optional<ScalarFactor> found =
        getUniformValue(op->getOperand(factor), op);
    if (!found)
      continue;
    if (divide && factor == 0)
      return std::nullopt;
    found->divide = divide;
    body.factors.push_back(*found);
    body.input = &op->getOpOperand(1 - factor);
    return body;
  }
  return std::nullopt;
}

Value kvq::getTracedOperand(Operation *op) {
  if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
          tensor::ExtractSliceOp, tensor::ReshapeOp>(op))
    return op->getOperand(0);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    std::optional<ElementBody> body = readBody(linalgOp);
    return body ? body->input->get() : Value();
  }
  std::optional<ElementBody> body = readElementwise(op);
  return body ? body->input->get() : Value();
}

//===----------------------------------------------------------------------===//
// Following axes
//===----------------------------------------------------------------------===//

AxisTrace::AxisTrace(ArrayRef<int64_t> shape)
    : axes(shape.size()), sizes(shape), cuts(shape.size()) {
  for (auto [index, size] : llvm::enumerate(shape))
    if (size != 1)
      axes[index].push_back({static_cast<int64_t>(index), 1, size});
}

/// Joins digits that are next to each other in the index as well.
void AxisTrace::merge(Axis &axis) {
  Axis merged;
  for (const Part &part : axis) {
    if (!merged.empty() && merged.back().axis == part.axis && part.axis != -1 &&
        !ShapedType::isDynamic(part.size) &&
        merged.back().stride == part.stride * part.size) {
      int64_t outer = merged.back().size;
      merged.back() = {part.axis, part.stride,
                       ShapedType::isDynamic(outer) ? outer
                                                    : outer * part.size};
      continue;
    }
    merged.push_back(part);
  }
  axis = std::move(merged);
}

/// Splits an axis into dimensions of given sizes.
LogicalResult AxisTrace::expand(const Axis &axis, ArrayRef<int64_t> sizes,
                                SmallVectorImpl<Axis> &result) {
  Axis rest = axis;
  SmallVector<Axis> pieces(sizes.size());
  for (int64_t piece = sizes.size() - 1; piece >= 0; --piece) {
    // The outermost dimension that is not 1 takes all that is left, which is
    // the only one that may be dynamic.
    bool last = llvm::all_of(sizes.take_front(piece),
                             [](int64_t size) { return size == 1; });
    if (last && sizes[piece] != 1) {
      pieces[piece] = rest;
      rest.clear();
      continue;
    }
    if (ShapedType::isDynamic(sizes[piece]))
      return failure();
    int64_t wanted = sizes[piece];
    while (wanted != 1) {
      if (rest.empty())
        return failure();
      Part &part = rest.back();
      bool dynamic = ShapedType::isDynamic(part.size);
      if (!dynamic && wanted % part.size == 0) {
        wanted /= part.size;
        pieces[piece].insert(pieces[piece].begin(), part);
        rest.pop_back();
        continue;
      }
      if (!dynamic && part.size % wanted != 0)
        return failure();
      pieces[piece].insert(pieces[piece].begin(),
                           Part{part.axis, part.stride, wanted});
      part.stride *= wanted;
      if (!dynamic)
        part.size /= wanted;
      wanted = 1;
    }
  }
  if (!rest.empty())
    return failure();
  llvm::append_range(result, pieces);
  return success();
}

LogicalResult AxisTrace::followSlice(Operation *op) {
  auto slice = cast<tensor::ExtractSliceOp>(op);
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<Axis, 4> result;
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  SmallVector<OpFoldResult> extents = slice.getMixedSizes();
  SmallVector<OpFoldResult> strides = slice.getMixedStrides();
  for (unsigned dim = 0, rank = axes.size(); dim != rank; ++dim) {
    int64_t whole = slice.getSourceType().getDimSize(dim);
    auto isSourceSize = [&](OpFoldResult size) {
      if (std::optional<int64_t> constant = getConstantIntValue(size))
        return *constant == whole;
      auto dimOp = cast<Value>(size).getDefiningOp<tensor::DimOp>();
      return dimOp && dimOp.getSource() == slice.getSource() &&
             dimOp.getConstantIndex() == int64_t(dim);
    };
    if (isOneInteger(strides[dim]) && isZeroInteger(offsets[dim]) &&
        isSourceSize(extents[dim])) {
      if (!dropped.test(dim))
        result.push_back(axes[dim]);
      continue;
    }
    // A cut, of an axis that is here as it was at first.
    Axis axis = axes[dim];
    merge(axis);
    if (!isOneInteger(strides[dim]) || axis.size() != 1 || axis[0].axis == -1 ||
        cuts[axis[0].axis] || !isWhole(axis, axis[0].axis))
      return failure();
    int64_t size =
        getConstantIntValue(extents[dim]).value_or(ShapedType::kDynamic);
    int64_t index = axis[0].axis;
    cuts[index] = AxisCut{offsets[dim], extents[dim]};
    sizes[index] = size;
    if (dropped.test(dim))
      continue;
    result.emplace_back();
    if (size != 1)
      result.back().push_back({index, 1, size});
  }
  axes = std::move(result);
  return success();
}

LogicalResult AxisTrace::followLinalg(Operation *op) {
  auto linalgOp = cast<linalg::LinalgOp>(op);
  std::optional<ElementBody> body = readBody(linalgOp);
  if (!body)
    return failure();
  AffineMap out =
      linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
  AffineMap in = linalgOp.getMatchingIndexingMap(body->input);
  if (!out.isPermutation())
    return failure();
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  auto inputType = cast<RankedTensorType>(body->input->get().getType());
  // The loops that an input dimension drives, and what they carry.
  SmallVector<std::optional<Axis>> loops(linalgOp.getNumLoops());
  SmallVector<int64_t> repeats(linalgOp.getNumLoops(), 1);
  for (auto [dim, expr] : llvm::enumerate(in.getResults())) {
    AffineExpr loop = expr;
    int64_t repeat = 1;
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      if (constant.getValue() != 0 || inputType.getDimSize(dim) != 1)
        return failure();
      continue;
    }
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
      auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
      if (binary.getKind() != AffineExprKind::FloorDiv || !divisor)
        return failure();
      loop = binary.getLHS();
      repeat = divisor.getValue();
    }
    auto position = dyn_cast<AffineDimExpr>(loop);
    if (!position || loops[position.getPosition()])
      return failure();
    loops[position.getPosition()] = axes[dim];
    repeats[position.getPosition()] = repeat;
  }
  SmallVector<Axis, 4> result;
  for (int64_t dim = 0; dim < resultType.getRank(); ++dim) {
    unsigned loop = out.getDimPosition(dim);
    Axis axis = loops[loop].value_or(Axis());
    int64_t repeat = loops[loop] ? repeats[loop] : resultType.getDimSize(dim);
    // With floordiv the last index may be repeated fewer times.
    if (loops[loop] && repeat != 1) {
      int64_t size = 1;
      for (const Part &part : axis)
        size = ShapedType::isDynamic(part.size) || ShapedType::isDynamic(size)
                   ? ShapedType::kDynamic
                   : size * part.size;
      if (ShapedType::isDynamic(size) ||
          resultType.getDimSize(dim) != size * repeat)
        return failure();
    }
    if (repeat != 1)
      axis.push_back({-1, 0, repeat});
    result.push_back(std::move(axis));
  }
  axes = std::move(result);
  llvm::append_range(factors, body->factors);
  return success();
}

LogicalResult AxisTrace::follow(Operation *op) {
  if (isa<tensor::CastOp>(op))
    return success();
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    SmallVector<Axis, 4> result;
    for (const ReassociationIndices &group :
         collapse.getReassociationIndices()) {
      result.emplace_back();
      for (int64_t dim : group)
        llvm::append_range(result.back(), axes[dim]);
      merge(result.back());
    }
    axes = std::move(result);
    return success();
  }
  if (auto expandOp = dyn_cast<tensor::ExpandShapeOp>(op)) {
    SmallVector<Axis, 4> result;
    ArrayRef<int64_t> shape = expandOp.getResultType().getShape();
    for (auto [dim, group] :
         llvm::enumerate(expandOp.getReassociationIndices())) {
      SmallVector<int64_t> groupSizes;
      for (int64_t index : group)
        groupSizes.push_back(shape[index]);
      if (failed(expand(axes[dim], groupSizes, result)))
        return failure();
    }
    // Without source dimensions all results are of size 1.
    result.resize(shape.size());
    axes = std::move(result);
    return success();
  }
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    auto type = dyn_cast<RankedTensorType>(reshape.getResult().getType());
    if (!type || llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1)
      return failure();
    Axis all;
    for (const Axis &axis : axes)
      llvm::append_range(all, axis);
    merge(all);
    SmallVector<Axis, 4> result;
    if (failed(expand(all, type.getShape(), result)))
      return failure();
    axes = std::move(result);
    return success();
  }
  if (isa<tensor::ExtractSliceOp>(op))
    return followSlice(op);
  if (isa<linalg::LinalgOp>(op))
    return followLinalg(op);
  std::optional<ElementBody> body = readElementwise(op);
  if (!body)
    return failure();
  llvm::append_range(factors, body->factors);
  return success();
}

bool AxisTrace::isWhole(ArrayRef<Part> parts, unsigned axis) const {
  if (sizes[axis] == 1)
    return parts.empty();
  return parts.size() == 1 && parts[0].axis == int64_t(axis) &&
         parts[0].stride == 1 && parts[0].size == sizes[axis];
}

bool AxisTrace::isAxis(unsigned dim, unsigned axis) const {
  Axis merged = axes[dim];
  merge(merged);
  return isWhole(merged, axis);
}

bool AxisTrace::isRepeatedAxis(unsigned dim, unsigned axis) const {
  Axis merged = axes[dim];
  while (!merged.empty() && merged.back().axis == -1)
    merged.pop_back();
  merge(merged);
  return isWhole(merged, axis);
}
