//===- IndexSpace.cpp - Indices as sums over digits -----------------------===//

#include "IndexSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace kvq::raise;

static void addTerm(Index &index, Digit digit, int64_t stride) {
  auto *it = llvm::lower_bound(
      index.terms, digit,
      [](const Index::Term &term, Digit digit) { return term.digit < digit; });
  if (it == index.terms.end() || it->digit != digit) {
    index.terms.insert(it, {digit, stride});
    return;
  }
  it->stride += stride;
  if (it->stride == 0)
    index.terms.erase(it);
}

Index kvq::raise::operator+(const Index &lhs, const Index &rhs) {
  Index sum = lhs;
  sum.constant += rhs.constant;
  for (const Index::Term &term : rhs.terms)
    addTerm(sum, term.digit, term.stride);
  return sum;
}

Index kvq::raise::operator*(const Index &index, int64_t factor) {
  if (factor == 0)
    return 0;
  Index product = index;
  product.constant *= factor;
  for (Index::Term &term : product.terms)
    term.stride *= factor;
  return product;
}

Index IndexSpace::create(int64_t size, Value tensor, unsigned dim) {
  if (size == 1)
    return 0;
  digits.push_back({size, tensor, dim, 1, std::nullopt});
  Index index;
  index.terms.push_back({static_cast<Digit>(digits.size() - 1), 1});
  return index;
}

Index IndexSpace::canonicalize(const Index &index) const {
  if (llvm::none_of(index.terms, [&](const Index::Term &term) {
        return digits[term.digit].parts.has_value();
      }))
    return index;
  Index result = index.constant;
  SmallVector<Index::Term, 2> pending = index.terms;
  while (!pending.empty()) {
    auto [digit, stride] = pending.pop_back_val();
    if (!digits[digit].parts) {
      addTerm(result, digit, stride);
      continue;
    }
    auto [high, low] = *digits[digit].parts;
    pending.push_back({high, stride * digits[low].size});
    pending.push_back({low, stride});
  }
  return result;
}

bool IndexSpace::split(Digit digit, int64_t lowSize) {
  Info info = digits[digit];
  if (lowSize < 2 || info.parts)
    return false;
  int64_t highSize = ShapedType::kDynamic;
  if (!ShapedType::isDynamic(info.size)) {
    if (info.size % lowSize != 0 || info.size == lowSize)
      return false;
    highSize = info.size / lowSize;
  }
  Digit high = digits.size(), low = high + 1;
  digits.push_back(
      {highSize, info.tensor, info.dim, info.divisor * lowSize, std::nullopt});
  digits.push_back({lowSize, info.tensor, info.dim, 1, std::nullopt});
  digits[digit].parts = {high, low};
  return true;
}

std::optional<std::pair<Index, Index>> IndexSpace::divide(const Index &input,
                                                          int64_t divisor) {
  if (divisor <= 0)
    return std::nullopt;
  for (;;) {
    Index index = canonicalize(input);
    Index quotient = index.constant / divisor;
    Index remainder = index.constant % divisor;
    if (remainder.constant < 0)
      return std::nullopt;
    // The largest value of the remainder, if it is bounded.
    std::optional<int64_t> largest = remainder.constant;
    const Index::Term *cut = nullptr;
    for (const Index::Term &term : index.terms) {
      int64_t size = digits[term.digit].size;
      if (term.stride % divisor == 0) {
        addTerm(quotient, term.digit, term.stride / divisor);
        continue;
      }
      if (term.stride < 0)
        return std::nullopt;
      addTerm(remainder, term.digit, term.stride);
      if (!cut || term.stride > cut->stride)
        cut = &term;
      if (ShapedType::isDynamic(size))
        largest = std::nullopt;
      else if (largest)
        largest = *largest + term.stride * (size - 1);
    }
    if (largest && *largest < divisor)
      return std::pair(quotient, remainder);
    // Only the outermost digit of the remainder can be cut.
    if (!cut || divisor % cut->stride != 0 ||
        !split(cut->digit, divisor / cut->stride))
      return std::nullopt;
  }
}

std::optional<Index> IndexSpace::apply(AffineExpr expr, ArrayRef<Index> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Index(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<Index> lhs = apply(binary.getLHS(), dims);
  std::optional<Index> rhs = apply(binary.getRHS(), dims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *lhs + *rhs;
  if (!rhs->isConstant())
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul)
    return *lhs * rhs->constant;
  auto divided = divide(*lhs, rhs->constant);
  if (!divided || expr.getKind() == AffineExprKind::CeilDiv)
    return std::nullopt;
  return expr.getKind() == AffineExprKind::FloorDiv ? divided->first
                                                    : divided->second;
}

std::optional<Digits> IndexSpace::getDigits(const Index &input, int64_t size) {
  Index index = canonicalize(input);
  if (index.constant != 0 || (index.isConstant() && size != 1))
    return std::nullopt;
  llvm::sort(index.terms, [](const Index::Term &lhs, const Index::Term &rhs) {
    return lhs.stride < rhs.stride;
  });
  Digits result;
  int64_t covered = 1;
  for (auto [position, term] : llvm::enumerate(index.terms)) {
    if (term.stride != covered)
      return std::nullopt;
    int64_t &digitSize = digits[term.digit].size;
    bool outermost = position + 1 == index.terms.size();
    if (ShapedType::isDynamic(digitSize)) {
      if (!outermost)
        return std::nullopt;
      // The loops that run over both agree, so this is its size.
      if (!ShapedType::isDynamic(size) && size % covered == 0)
        digitSize = size / covered;
    }
    covered = ShapedType::isDynamic(digitSize) ? ShapedType::kDynamic
                                               : covered * digitSize;
    result.insert(result.begin(), term.digit);
  }
  if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(covered) &&
      covered != size)
    return std::nullopt;
  return result;
}

std::optional<std::pair<int64_t, int64_t>>
IndexSpace::getRange(const Index &input) const {
  Index index = canonicalize(input);
  std::pair<int64_t, int64_t> range(index.constant, index.constant);
  for (const Index::Term &term : index.terms) {
    int64_t size = digits[term.digit].size;
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    (term.stride < 0 ? range.first : range.second) += term.stride * (size - 1);
  }
  return range;
}

OpFoldResult IndexSpace::emitSize(OpBuilder &builder, Location loc,
                                  Digit digit) const {
  const Info &info = digits[digit];
  if (!ShapedType::isDynamic(info.size))
    return builder.getIndexAttr(info.size);
  Value size = builder.createOrFold<tensor::DimOp>(loc, info.tensor, info.dim);
  if (info.divisor != 1) {
    Value divisor = arith::ConstantIndexOp::create(builder, loc, info.divisor);
    size = arith::DivUIOp::create(builder, loc, size, divisor);
  }
  return size;
}
