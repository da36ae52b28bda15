//===- StorageTypes.cpp - Byte memrefs of low-bit memrefs -----------------===//

#include "kvq/Conversion/LegalizeStorage/LegalizeStorage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

bool kvq::isLowBitStorage(Type elementType) {
  return isa<Float4E2M1FNType, Float8E4M3FNType, Float8E8M0FNUType>(
      elementType);
}

FailureOr<MemRefType> kvq::getByteStorageType(MemRefType type,
                                              std::string *why) {
  auto fail = [&](std::string reason) -> FailureOr<MemRefType> {
    if (why)
      *why = std::move(reason);
    return failure();
  };
  assert(isLowBitStorage(type.getElementType()) && "not a low-bit memref");
  Type byte = IntegerType::get(type.getContext(), 8);
  if (!isa<Float4E2M1FNType>(type.getElementType()))
    return MemRefType::get(type.getShape(), byte, type.getLayout(),
                           type.getMemorySpace());

  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return fail("its layout is not strided; packed storage needs a strided "
                "layout with innermost stride 1");
  SmallVector<int64_t> shape(type.getShape());
  auto isOdd = [](int64_t value) {
    return !ShapedType::isDynamic(value) && value % 2 != 0;
  };
  auto halve = [](int64_t &value) {
    if (!ShapedType::isDynamic(value))
      value /= 2;
  };
  if (isOdd(offset))
    return fail(llvm::formatv(
        "its offset is {0} elements; packed storage needs an even one",
        offset));
  halve(offset);
  if (!shape.empty()) {
    if (strides.back() != 1)
      return fail(
          ShapedType::isDynamic(strides.back())
              ? std::string("its innermost stride is dynamic; packed storage "
                            "needs a static 1")
              : llvm::formatv("its innermost stride is {0}; packed storage "
                              "needs 1",
                              strides.back())
                    .str());
    if (isOdd(shape.back()))
      return fail(llvm::formatv(
          "its innermost size is {0}; packed storage needs an even one",
          shape.back()));
    halve(shape.back());
    for (auto [i, stride] :
         llvm::enumerate(MutableArrayRef<int64_t>(strides).drop_back())) {
      if (isOdd(stride))
        return fail(llvm::formatv("the stride of its dimension {0} is {1}; "
                                  "packed storage needs an even one",
                                  i, stride));
      halve(stride);
    }
  }
  if (type.getLayout().isIdentity())
    return MemRefType::get(shape, byte, MemRefLayoutAttrInterface(),
                           type.getMemorySpace());
  return MemRefType::get(
      shape, byte, StridedLayoutAttr::get(type.getContext(), offset, strides),
      type.getMemorySpace());
}

kvq::StorageTypeConverter::StorageTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](MemRefType type) -> std::optional<Type> {
    if (!isLowBitStorage(type.getElementType()))
      return type;
    FailureOr<MemRefType> bytes = getByteStorageType(type);
    return succeeded(bytes) ? Type(*bytes) : Type();
  });
  addConversion([](UnrankedMemRefType type) -> std::optional<Type> {
    if (!isLowBitStorage(type.getElementType()))
      return type;
    // The size of the innermost dimension would be unknown to its readers.
    if (isa<Float4E2M1FNType>(type.getElementType()))
      return Type();
    return UnrankedMemRefType::get(IntegerType::get(type.getContext(), 8),
                                   type.getMemorySpace());
  });
  addConversion([this](FunctionType type) -> std::optional<Type> {
    SmallVector<Type> inputs, results;
    if (failed(convertTypes(type.getInputs(), inputs)) ||
        failed(convertTypes(type.getResults(), results)))
      return Type();
    return FunctionType::get(type.getContext(), inputs, results);
  });
}

/// `depth` bounds the search: operands that are used twice would make it
/// exponential.
static bool isKnownEven(OpFoldResult value, unsigned depth) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % 2 == 0;
  auto dynamic = dyn_cast<Value>(value);
  if (!dynamic || depth == 0)
    return false;
  auto even = [depth](Value operand) {
    return isKnownEven(operand, depth - 1);
  };
  // The induction variable of a loop with an even start and step.
  if (auto argument = dyn_cast<BlockArgument>(dynamic)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast_or_null<scf::ForOp>(parent))
      return argument == loop.getInductionVar() && even(loop.getLowerBound()) &&
             even(loop.getStep());
    if (auto loop = dyn_cast_or_null<scf::ParallelOp>(parent)) {
      unsigned i = argument.getArgNumber();
      return i < loop.getNumLoops() && even(loop.getLowerBound()[i]) &&
             even(loop.getStep()[i]);
    }
    return false;
  }
  return llvm::TypeSwitch<Operation *, bool>(dynamic.getDefiningOp())
      .Case<arith::MulIOp, arith::AndIOp>(
          [&](auto op) { return even(op.getLhs()) || even(op.getRhs()); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MinUIOp,
            arith::MaxSIOp, arith::MaxUIOp>(
          [&](auto op) { return even(op.getLhs()) && even(op.getRhs()); })
      .Case<arith::ShLIOp>([&](arith::ShLIOp op) {
        std::optional<int64_t> shift = getConstantIntValue(op.getRhs());
        return even(op.getLhs()) || (shift && *shift > 0);
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto op) { return even(op.getIn()); })
      .Default([](Operation *) { return false; });
}

bool kvq::isKnownEven(OpFoldResult value) {
  return ::isKnownEven(value, /*depth=*/8);
}
