//===- IndexSpace.h - Indices as sums over digits -------------------------===//
//
// Front ends merge and split dimensions at will. Here an index into a tensor is
// a sum of digits with strides: an index of 8 x 6 that was merged from (b, i)
// is b * 6 + i. Where a reshape cuts through a digit, the digit is split in two
// for everybody, so that two indices are the same iff their sums are.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_INDEXSPACE_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_INDEXSPACE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace kvq::raise {

/// A variable that an index is made of, by number.
using Digit = unsigned;
/// Digits in order, from the outermost to the innermost.
using Digits = llvm::SmallVector<Digit, 4>;

/// constant + sum of stride * digit; at most one term per digit, by number.
struct Index {
  struct Term {
    Digit digit;
    int64_t stride;
    bool operator==(const Term &other) const {
      return digit == other.digit && stride == other.stride;
    }
  };
  int64_t constant = 0;
  llvm::SmallVector<Term, 2> terms;

  Index(int64_t constant = 0) : constant(constant) {}
  bool isConstant() const { return terms.empty(); }
  bool operator==(const Index &other) const {
    return constant == other.constant && terms == other.terms;
  }
};

using Indices = llvm::SmallVector<Index, 4>;

Index operator+(const Index &lhs, const Index &rhs);
Index operator*(const Index &index, int64_t factor);

class IndexSpace {
public:
  /// Makes a digit for dimension `dim` of a tensor, and returns its index: the
  /// constant 0 if the size is 1.
  Index create(int64_t size, mlir::Value tensor, unsigned dim);

  /// Rewrites an index in terms of digits that are not split.
  Index canonicalize(const Index &index) const;

  /// Divides by a positive constant, splitting digits as necessary. Fails if
  /// quotient or remainder is no sum of digits.
  std::optional<std::pair<Index, Index>> divide(const Index &index,
                                                int64_t divisor);

  /// Computes an affine expression of a map whose dimensions have values.
  std::optional<Index> apply(mlir::AffineExpr expr, mlir::ArrayRef<Index> dims);

  /// The digits of an index that runs over all of a dimension of `size`, from
  /// the outermost to the innermost; none for a size of 1. Fails if the index
  /// is something else.
  std::optional<Digits> getDigits(const Index &index, int64_t size);

  /// The least and the largest value of an index, if its digits have known
  /// sizes.
  std::optional<std::pair<int64_t, int64_t>> getRange(const Index &index) const;

  /// The size of a digit, or ShapedType::kDynamic.
  int64_t getSize(Digit digit) const { return digits[digit].size; }

  /// The size of a digit as an attribute or a value.
  mlir::OpFoldResult emitSize(mlir::OpBuilder &builder, mlir::Location loc,
                              Digit digit) const;

private:
  struct Info {
    int64_t size;
    /// The digit has the size of this dimension, divided by `divisor`.
    mlir::Value tensor;
    unsigned dim;
    int64_t divisor = 1;
    /// The two digits this one is split in: high * size of low + low.
    std::optional<std::pair<Digit, Digit>> parts;
  };

  bool split(Digit digit, int64_t lowSize);

  llvm::SmallVector<Info> digits;
};

/// The digits of a set.
class DigitSet {
public:
  void insert(const Index &index) {
    for (const Index::Term &term : index.terms)
      insert(term.digit);
  }
  void insert(Digit digit) {
    if (digit >= bits.size())
      bits.resize(digit + 1);
    bits.set(digit);
  }
  void erase(Digit digit) {
    if (digit < bits.size())
      bits.reset(digit);
  }
  bool contains(Digit digit) const {
    return digit < bits.size() && bits.test(digit);
  }
  bool contains(const DigitSet &other) const { return !other.bits.test(bits); }
  bool containsAny(const Index &index) const {
    return llvm::any_of(index.terms, [&](const Index::Term &term) {
      return contains(term.digit);
    });
  }
  void insert(const DigitSet &other) { bits |= other.bits; }
  bool intersects(const DigitSet &other) const {
    return bits.anyCommon(other.bits);
  }
  bool empty() const { return bits.none(); }

private:
  llvm::SmallBitVector bits;
};

} // namespace kvq::raise

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_INDEXSPACE_H
