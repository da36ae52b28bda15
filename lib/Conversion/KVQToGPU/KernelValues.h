//===- KernelValues.h - Typed values of a kernel --------------------------===//
//
// SSA values that know their type and the builder that they belong to, so that
// the arithmetic of a kernel is written with operators. An operand of an
// operator may be a C++ number. Constants fold.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_KERNELVALUES_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_KERNELVALUES_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kvq::kernel {

class KernelBuilder;

/// The operations behind the operators of integers and floats.
enum class IntegerOp {
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Min,
  Max
};
enum class FloatOp { Add, Sub, Mul, Div, Min, Max };

/// A value and its builder. Empty by default.
class Operand {
public:
  Operand() = default;
  Operand(KernelBuilder &builder, mlir::Value value) : b(&builder), v(value) {}

  explicit operator bool() const { return bool(v); }
  operator mlir::Value() const { return v; }
  KernelBuilder &builder() const { return *b; }

protected:
  KernelBuilder *b = nullptr;
  mlir::Value v;
};

/// A truth value. `&` and `|` evaluate both sides; `!` asks whether there is
/// one.
class Pred : public Operand {
public:
  using Operand::Operand;
  Pred operator&(Pred other) const;
  Pred operator|(Pred other) const;
  Pred negate() const;

  /// this ? a : b, of two values of one type.
  template <typename T>
  T select(T a, T b) const {
    return T(builder(), selectValue(a, b));
  }

private:
  mlir::Value selectValue(mlir::Value a, mlir::Value b) const;
};

/// What I32 and I64 share. Comparison is signed, / % and >> are unsigned, as
/// sizes, indices and bits are.
template <typename T>
class Integer : public Operand {
public:
  using Operand::Operand;

#define KVQ_KERNEL_OPERATOR(SYMBOL, NAME)                                      \
  friend T operator SYMBOL(T a, T c) { return a.apply(IntegerOp::NAME, c); }   \
  friend T operator SYMBOL(T a, int64_t c) {                                   \
    return a.apply(IntegerOp::NAME, a.same(c));                                \
  }
  KVQ_KERNEL_OPERATOR(+, Add)
  KVQ_KERNEL_OPERATOR(-, Sub)
  KVQ_KERNEL_OPERATOR(*, Mul)
  KVQ_KERNEL_OPERATOR(/, Div)
  KVQ_KERNEL_OPERATOR(%, Rem)
  KVQ_KERNEL_OPERATOR(&, And)
  KVQ_KERNEL_OPERATOR(|, Or)
  KVQ_KERNEL_OPERATOR(^, Xor)
  KVQ_KERNEL_OPERATOR(<<, Shl)
  KVQ_KERNEL_OPERATOR(>>, Shr)
#undef KVQ_KERNEL_OPERATOR

#define KVQ_KERNEL_COMPARISON(SYMBOL, PREDICATE)                               \
  friend Pred operator SYMBOL(T a, T c) {                                      \
    return a.compare(mlir::arith::CmpIPredicate::PREDICATE, c);                \
  }                                                                            \
  friend Pred operator SYMBOL(T a, int64_t c) {                                \
    return a.compare(mlir::arith::CmpIPredicate::PREDICATE, a.same(c));        \
  }
  KVQ_KERNEL_COMPARISON(==, eq)
  KVQ_KERNEL_COMPARISON(!=, ne)
  KVQ_KERNEL_COMPARISON(<, slt)
  KVQ_KERNEL_COMPARISON(<=, sle)
  KVQ_KERNEL_COMPARISON(>, sgt)
  KVQ_KERNEL_COMPARISON(>=, sge)
#undef KVQ_KERNEL_COMPARISON

  /// Unsigned comparison.
  Pred isBelow(T other) const {
    return compare(mlir::arith::CmpIPredicate::ult, other);
  }
  Pred isBelow(int64_t other) const { return isBelow(same(other)); }

  /// The signed minimum and maximum.
  T min(T other) const { return apply(IntegerOp::Min, other); }
  T min(int64_t other) const { return apply(IntegerOp::Min, same(other)); }
  T max(T other) const { return apply(IntegerOp::Max, other); }
  T max(int64_t other) const { return apply(IntegerOp::Max, same(other)); }

  /// A constant of this type.
  T same(int64_t value) const;

private:
  T apply(IntegerOp operation, T other) const;
  Pred compare(mlir::arith::CmpIPredicate predicate, T other) const;
};

class F32;
class I64;

class I32 : public Integer<I32> {
public:
  using Integer::Integer;
  /// Sign-extended.
  I64 extend() const;
  /// Zero-extended.
  I64 extendUnsigned() const;
  /// The nearest f32 of the signed integer.
  F32 toF32() const;
  /// The f32 with these bits.
  F32 asF32() const;
};

class I64 : public Integer<I64> {
public:
  using Integer::Integer;
  /// The low 32 bits.
  I32 truncate() const;
};

/// An f32. Every operation is the IEEE one with rounding to nearest even and
/// with subnormals kept; nothing is contracted.
class F32 : public Operand {
public:
  using Operand::Operand;

#define KVQ_KERNEL_OPERATOR(SYMBOL, NAME)                                      \
  friend F32 operator SYMBOL(F32 a, F32 c) {                                   \
    return a.apply(FloatOp::NAME, c);                                          \
  }                                                                            \
  friend F32 operator SYMBOL(F32 a, double c) {                                \
    return a.apply(FloatOp::NAME, a.same(c));                                  \
  }
  KVQ_KERNEL_OPERATOR(+, Add)
  KVQ_KERNEL_OPERATOR(-, Sub)
  KVQ_KERNEL_OPERATOR(*, Mul)
  KVQ_KERNEL_OPERATOR(/, Div)
#undef KVQ_KERNEL_OPERATOR

  /// Ordered comparison, false if one is NaN; `!=` is true then.
#define KVQ_KERNEL_COMPARISON(SYMBOL, PREDICATE)                               \
  friend Pred operator SYMBOL(F32 a, F32 c) {                                  \
    return a.compare(mlir::arith::CmpFPredicate::PREDICATE, c);                \
  }                                                                            \
  friend Pred operator SYMBOL(F32 a, double c) {                               \
    return a.compare(mlir::arith::CmpFPredicate::PREDICATE, a.same(c));        \
  }
  KVQ_KERNEL_COMPARISON(==, OEQ)
  KVQ_KERNEL_COMPARISON(!=, UNE)
  KVQ_KERNEL_COMPARISON(<, OLT)
  KVQ_KERNEL_COMPARISON(<=, OLE)
  KVQ_KERNEL_COMPARISON(>, OGT)
  KVQ_KERNEL_COMPARISON(>=, OGE)
#undef KVQ_KERNEL_COMPARISON

  Pred isNaN() const { return compare(mlir::arith::CmpFPredicate::UNO, *this); }
  /// The smaller and larger one; of a number and NaN the number.
  F32 min(F32 other) const { return apply(FloatOp::Min, other); }
  F32 min(double other) const { return apply(FloatOp::Min, same(other)); }
  F32 max(F32 other) const { return apply(FloatOp::Max, other); }
  F32 max(double other) const { return apply(FloatOp::Max, same(other)); }

  /// this * a + c, rounded once.
  F32 fma(F32 a, F32 c) const;
  /// 2^this and log2(this) by the approximate instructions: relative error
  /// below 2^-22; results that are subnormal may be zero.
  F32 exp2() const;
  F32 log2() const;
  /// The least integer that is not smaller.
  F32 ceil() const;
  /// tanh by exp2, to about 1e-6.
  F32 tanh() const;

  I32 bits() const;
  F32 same(double value) const;

private:
  F32 apply(FloatOp operation, F32 other) const;
  Pred compare(mlir::arith::CmpFPredicate predicate, F32 other) const;
};

/// A pointer to global or shared memory; offsets count bytes.
class Ptr : public Operand {
public:
  using Operand::Operand;
  friend Ptr operator+(Ptr p, I64 bytes) { return p.advance(bytes); }
  friend Ptr operator+(Ptr p, I32 bytes) { return p.advance(bytes.extend()); }
  friend Ptr operator+(Ptr p, int64_t bytes) { return p.advance(bytes); }
  /// The address.
  I64 address() const;

private:
  Ptr advance(I64 bytes) const;
  Ptr advance(int64_t bytes) const;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_KERNELVALUES_H
