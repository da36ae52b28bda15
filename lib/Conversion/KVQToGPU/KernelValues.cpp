//===- KernelValues.cpp - Typed values of a kernel ------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace kvq::kernel;

//===----------------------------------------------------------------------===//
// Truth values
//===----------------------------------------------------------------------===//

Pred Pred::operator&(Pred other) const {
  return {*b, b->createOrFold<arith::AndIOp>(v, other.v)};
}

Pred Pred::operator|(Pred other) const {
  return {*b, b->createOrFold<arith::OrIOp>(v, other.v)};
}

Pred Pred::negate() const {
  return {*b, b->createOrFold<arith::XOrIOp>(v, b->pred(true))};
}

Value Pred::selectValue(Value a, Value c) const {
  return b->createOrFold<arith::SelectOp>(v, a, c);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

template <typename T>
T Integer<T>::same(int64_t value) const {
  return T(
      *b, arith::ConstantOp::create(*b, b->getIntegerAttr(v.getType(), value)));
}

template <typename T>
T Integer<T>::apply(IntegerOp operation, T other) const {
  Value c = other.v;
  auto make = [&]() -> Value {
    switch (operation) {
    case IntegerOp::Add:
      return b->createOrFold<arith::AddIOp>(v, c);
    case IntegerOp::Sub:
      return b->createOrFold<arith::SubIOp>(v, c);
    case IntegerOp::Mul:
      return b->createOrFold<arith::MulIOp>(v, c);
    case IntegerOp::Div:
      return b->createOrFold<arith::DivUIOp>(v, c);
    case IntegerOp::Rem:
      return b->createOrFold<arith::RemUIOp>(v, c);
    case IntegerOp::And:
      return b->createOrFold<arith::AndIOp>(v, c);
    case IntegerOp::Or:
      return b->createOrFold<arith::OrIOp>(v, c);
    case IntegerOp::Xor:
      return b->createOrFold<arith::XOrIOp>(v, c);
    case IntegerOp::Shl:
      return b->createOrFold<arith::ShLIOp>(v, c);
    case IntegerOp::Shr:
      return b->createOrFold<arith::ShRUIOp>(v, c);
    case IntegerOp::Min:
      return b->createOrFold<arith::MinSIOp>(v, c);
    case IntegerOp::Max:
      return b->createOrFold<arith::MaxSIOp>(v, c);
    }
    llvm_unreachable("all operations are listed");
  };
  return T(*b, make());
}

template <typename T>
Pred Integer<T>::compare(arith::CmpIPredicate predicate, T other) const {
  return {*b, b->createOrFold<arith::CmpIOp>(predicate, v, other.v)};
}

template class kvq::kernel::Integer<I32>;
template class kvq::kernel::Integer<I64>;

I64 I32::extend() const {
  return {*b, b->createOrFold<arith::ExtSIOp>(b->getI64Type(), v)};
}

I64 I32::extendUnsigned() const {
  return {*b, b->createOrFold<arith::ExtUIOp>(b->getI64Type(), v)};
}

F32 I32::toF32() const {
  return {*b, b->createOrFold<arith::SIToFPOp>(b->getF32Type(), v)};
}

F32 I32::asF32() const {
  return {*b, b->createOrFold<arith::BitcastOp>(b->getF32Type(), v)};
}

I32 I64::truncate() const {
  return {*b, b->createOrFold<arith::TruncIOp>(b->getI32Type(), v)};
}

//===----------------------------------------------------------------------===//
// f32
//===----------------------------------------------------------------------===//

F32 F32::same(double value) const { return b->f32(value); }

// The lowering of arith and math calls libdevice for some of these.
F32 F32::apply(FloatOp operation, F32 other) const {
  Value c = other.v;
  auto make = [&]() -> Value {
    switch (operation) {
    case FloatOp::Add:
      return b->createOrFold<arith::AddFOp>(v, c);
    case FloatOp::Sub:
      return b->createOrFold<arith::SubFOp>(v, c);
    case FloatOp::Mul:
      return b->createOrFold<arith::MulFOp>(v, c);
    case FloatOp::Div:
      return b->createOrFold<arith::DivFOp>(v, c);
    case FloatOp::Min:
      return LLVM::MinNumOp::create(*b, v, c);
    case FloatOp::Max:
      return LLVM::MaxNumOp::create(*b, v, c);
    }
    llvm_unreachable("all operations are listed");
  };
  return {*b, make()};
}

Pred F32::compare(arith::CmpFPredicate predicate, F32 other) const {
  return {*b, arith::CmpFOp::create(*b, predicate, v, other.v)};
}

F32 F32::fma(F32 a, F32 c) const {
  return {*b, LLVM::FMAOp::create(*b, v, a.v, c.v)};
}

/// Calls an intrinsic that maps an f32 to an f32.
static Value callIntrinsic(KernelBuilder &b, StringRef name, Value value) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(name),
                                       value)
      .getResult(0);
}

F32 F32::exp2() const {
  return {*b, callIntrinsic(*b, "llvm.nvvm.ex2.approx.ftz.f", v)};
}

F32 F32::log2() const {
  return {*b, callIntrinsic(*b, "llvm.nvvm.lg2.approx.f", v)};
}

F32 F32::ceil() const {
  return {*b, callIntrinsic(*b, "llvm.nvvm.ceil.f", v)};
}

F32 F32::tanh() const {
  // tanh(x) = 1 - 2 / (e^2x + 1), which is wrong by the spacing of numbers
  // near 1 and saturates right; near zero its relative error is large, so the
  // odd polynomial x - x^3/3 + 2 x^5/15 takes over below 1/16.
  constexpr double twoOverLn2 = 2.8853900817779268;
  F32 x = *this;
  F32 one = same(1.0);
  F32 large = one - same(2.0) / ((x * twoOverLn2).exp2() + one);
  F32 square = x * x;
  F32 inner = square.fma(same(2.0 / 15.0), same(-1.0 / 3.0));
  F32 small = (x * square).fma(inner, x);
  F32 magnitude = (x.bits() & 0x7fffffff).asF32();
  return (magnitude < 0.0625).select(small, large);
}

I32 F32::bits() const {
  return {*b, b->createOrFold<arith::BitcastOp>(b->getI32Type(), v)};
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

Ptr Ptr::advance(I64 bytes) const {
  return {*b, LLVM::GEPOp::create(*b, v.getType(), b->getI8Type(), v,
                                  ArrayRef<LLVM::GEPArg>{Value(bytes)})};
}

Ptr Ptr::advance(int64_t bytes) const {
  return bytes == 0 ? *this : advance(b->i64(bytes));
}

I64 Ptr::address() const {
  return {*b, LLVM::PtrToIntOp::create(*b, b->getI64Type(), v)};
}
