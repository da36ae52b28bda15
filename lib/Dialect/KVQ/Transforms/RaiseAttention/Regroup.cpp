//===- Regroup.cpp - Views from one grouping of digits to another ---------===//

#include "Regroup.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace kvq::raise;

namespace {

/// A dimension after all have been taken apart: a digit, or none for size 1.
using Atom = std::optional<Digit>;

class Regrouper {
public:
  Regrouper(OpBuilder &builder, Location loc, const IndexSpace &space)
      : builder(builder), loc(loc), space(space) {}

  Value run(Value tensor, ArrayRef<Digits> from, ArrayRef<Digits> to);

private:
  OpFoldResult getSize(Atom atom) {
    return atom ? space.emitSize(builder, loc, *atom)
                : OpFoldResult(builder.getIndexAttr(1));
  }
  Value expand(Value tensor, ArrayRef<ReassociationIndices> groups,
               ArrayRef<Atom> atoms);
  Value transpose(Value tensor, ArrayRef<int64_t> permutation);
  Value collapse(Value tensor, ArrayRef<ReassociationIndices> groups);

  OpBuilder &builder;
  Location loc;
  const IndexSpace &space;
};

} // namespace

static bool areSingle(ArrayRef<ReassociationIndices> groups) {
  return llvm::all_of(groups,
                      [](const auto &group) { return group.size() == 1; });
}

Value Regrouper::expand(Value tensor, ArrayRef<ReassociationIndices> groups,
                        ArrayRef<Atom> atoms) {
  if (areSingle(groups) && groups.size() == atoms.size())
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes;
  SmallVector<int64_t> shape;
  for (Atom atom : atoms)
    sizes.push_back(getSize(atom));
  // A dimension that stays whole keeps the size that its type says.
  for (auto [dim, group] : llvm::enumerate(groups))
    if (group.size() == 1)
      sizes[group[0]] = tensor::getMixedSize(builder, loc, tensor, dim);
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), tensor,
      groups, sizes);
}

Value Regrouper::transpose(Value tensor, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return tensor;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor),
                            permuted;
  for (int64_t dim : permutation)
    permuted.push_back(sizes[dim]);
  Value init = tensor::EmptyOp::create(builder, loc, permuted,
                                       getElementTypeOrSelf(tensor.getType()));
  return linalg::TransposeOp::create(builder, loc, tensor, init, permutation)
      ->getResult(0);
}

Value Regrouper::collapse(Value tensor, ArrayRef<ReassociationIndices> groups) {
  if (areSingle(groups))
    return tensor;
  return tensor::CollapseShapeOp::create(builder, loc, tensor, groups);
}

Value Regrouper::run(Value tensor, ArrayRef<Digits> from, ArrayRef<Digits> to) {
  // Take each dimension apart.
  SmallVector<Atom> atoms;
  SmallVector<ReassociationIndices> parts;
  for (const Digits &digits : from) {
    ReassociationIndices &part = parts.emplace_back();
    for (unsigned i = 0; i < std::max<size_t>(digits.size(), 1); ++i) {
      part.push_back(atoms.size());
      atoms.push_back(digits.empty() ? Atom() : Atom(digits[i]));
    }
  }
  tensor = expand(tensor, parts, atoms);

  // Bring the digits into order. Dimensions of size 1 go where one is wanted
  // as long as there are any.
  SmallVector<int64_t> units, permutation;
  for (auto [position, atom] : llvm::enumerate(atoms))
    if (!atom)
      units.push_back(position);
  auto takeUnit = [&]() -> std::optional<int64_t> {
    if (units.empty())
      return std::nullopt;
    int64_t unit = units.front();
    units.erase(units.begin());
    return unit;
  };
  // For each dimension, how many of those in order it takes; 0 if it has to be
  // made.
  SmallVector<SmallVector<int64_t>> taken;
  for (const Digits &digits : to) {
    SmallVector<int64_t> &group = taken.emplace_back();
    for (Digit digit : digits)
      group.push_back(llvm::find(atoms, Atom(digit)) - atoms.begin());
    if (digits.empty())
      if (std::optional<int64_t> unit = takeUnit())
        group.push_back(*unit);
  }
  // The others vanish in a dimension that there is.
  while (std::optional<int64_t> unit = takeUnit()) {
    auto *it = llvm::find_if(taken, [&](const auto &group) {
      return !group.empty() && *unit < group.back();
    });
    if (it == taken.end())
      it = std::find_if(taken.begin(), taken.end(),
                        [](const auto &group) { return !group.empty(); });
    if (it == taken.end())
      break;
    it->insert(it->begin(), *unit);
  }
  SmallVector<ReassociationIndices> merged;
  for (const auto &group : taken) {
    if (group.empty())
      continue;
    ReassociationIndices &positions = merged.emplace_back();
    for (int64_t atom : group) {
      positions.push_back(permutation.size());
      permutation.push_back(atom);
    }
  }
  tensor = transpose(tensor, permutation);
  // A tensor without any dimension to keep has one element.
  if (merged.empty() && cast<RankedTensorType>(tensor.getType()).getRank() != 0)
    tensor = tensor::CollapseShapeOp::create(builder, loc, tensor,
                                             ArrayRef<ReassociationIndices>());
  else
    tensor = collapse(tensor, merged);

  // Make the dimensions of size 1 that are missing.
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> before;
  unsigned position = 0;
  for (const auto &group : taken) {
    bool exists = !group.empty();
    if (exists) {
      ReassociationIndices &dims = groups.emplace_back();
      llvm::append_range(dims, before);
      before.clear();
      dims.push_back(position);
    } else if (groups.empty() || !before.empty()) {
      before.push_back(position);
    } else {
      groups.back().push_back(position);
    }
    ++position;
  }
  if (llvm::none_of(taken, [](const auto &group) { return group.empty(); }))
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes;
  unsigned source = 0;
  for (const auto &group : taken)
    sizes.push_back(group.empty()
                        ? OpFoldResult(builder.getIndexAttr(1))
                        : tensor::getMixedSize(builder, loc, tensor, source++));
  SmallVector<Value> dynamic;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), tensor,
      groups, sizes);
}

Value kvq::raise::regroup(OpBuilder &builder, Location loc,
                          const IndexSpace &space, Value tensor,
                          ArrayRef<Digits> from, ArrayRef<Digits> to) {
  return Regrouper(builder, loc, space).run(tensor, from, to);
}
