//===- HostType.cpp - How values cross into compiled code -----------------===//

#include "kvq/ExecutionEngine/HostType.h"
#include "kvq/Dialect/KVQ/IR/KVQTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Errc.h"

using namespace kvq;
using namespace mlir;

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static llvm::Error unsupported(Type type, const Twine &accepted) {
  return llvm::createStringError(
      llvm::errc::not_supported,
      "a value of type " + toText(type) +
          " cannot be passed; accepted: " + accepted);
}

static std::optional<NpyElement> getInteger(IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return NpyElement::Bool;
  case 8:
    return isUnsigned ? NpyElement::UInt8 : NpyElement::Int8;
  case 16:
    return isUnsigned ? NpyElement::UInt16 : NpyElement::Int16;
  case 32:
    return isUnsigned ? NpyElement::UInt32 : NpyElement::Int32;
  case 64:
    return isUnsigned ? NpyElement::UInt64 : NpyElement::Int64;
  default:
    return std::nullopt;
  }
}

static std::optional<NpyElement> getElement(Type type) {
  using Result = std::optional<NpyElement>;
  return llvm::TypeSwitch<Type, Result>(type)
      .Case([](IntegerType type) { return getInteger(type); })
      .Case([](IndexType) { return NpyElement::Int64; })
      .Case([](Float16Type) { return NpyElement::Float16; })
      .Case([](Float32Type) { return NpyElement::Float32; })
      .Case([](Float64Type) { return NpyElement::Float64; })
      .Case([](BFloat16Type) { return NpyElement::BFloat16; })
      .Case([](Float8E4M3FNType) { return NpyElement::Float8E4M3FN; })
      .Case([](Float8E5M2Type) { return NpyElement::Float8E5M2; })
      .Case([](Float8E8M0FNUType) { return NpyElement::Float8E8M0FNU; })
      .Case([](Float4E2M1FNType) { return NpyElement::Float4E2M1FN; })
      .Default([](Type) { return Result(); });
}

llvm::Expected<HostType> HostType::get(Type type) {
  if (isa<CacheType>(type))
    return unsupported(type, "memrefs of its data, its block scales and its "
                             "global scale, of which the entry makes the "
                             "handle with kvq.make_cache");
  HostType host;
  host.type = type;
  Type elementType = type;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!isa<RankedTensorType, MemRefType>(type))
      return unsupported(type, "scalars, ranked tensors and ranked memrefs");
    elementType = shaped.getElementType();
    host.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
    if (host.shape.size() > NpyArray::kMaxRank)
      return unsupported(type, "at most 64 dimensions");
  } else {
    host.isScalar = true;
  }

  std::optional<NpyElement> element = getElement(elementType);
  if (!element)
    return unsupported(type, "i1, i8, i16, i32, i64, index, f64, f32, f16, "
                             "bf16, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN, and "
                             "tensors and memrefs of these");
  host.element = *element;
  host.isSignless = elementType.isSignlessInteger() || elementType.isIndex();
  host.isPacked = *element == NpyElement::Float4E2M1FN;
  if (host.isScalar && host.isPacked)
    return unsupported(type, "scalars of 8 bits and more, and i1");
  if (host.isPacked && !host.shape.empty() &&
      !ShapedType::isDynamic(host.shape.back()) && host.shape.back() % 2 != 0)
    return unsupported(type, "an even innermost size, as two elements share a "
                             "byte");

  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return host;
  host.isMemRef = true;
  if (Attribute space = memref.getMemorySpace())
    if (auto number = dyn_cast<IntegerAttr>(space);
        !number || !number.getValue().isZero())
      return unsupported(type, "memrefs in the default memory space");
  if (memref.getLayout().isIdentity())
    return host;
  if (failed(memref.getStridesAndOffset(host.strides, host.offset)))
    return unsupported(type, "strided layouts");
  return host;
}

llvm::Expected<HostType> HostType::withLayout(ArrayRef<int64_t> newStrides,
                                              int64_t newOffset) const {
  auto fail = [&](const Twine &expected, const Twine &found) {
    return llvm::createStringError("expected " + expected + " for " +
                                   toText(type) + ", found " + found);
  };
  if (!isMemRef || strides.empty())
    return fail("no layout, as only memrefs with a strided layout leave one "
                "open,",
                "one");
  if (newStrides.size() != strides.size())
    return fail(Twine(strides.size()) + " strides", Twine(newStrides.size()));
  HostType result = *this;
  auto fill = [](int64_t &slot, int64_t value) {
    if (!ShapedType::isDynamic(slot) && slot != value)
      return false;
    slot = value;
    return true;
  };
  for (auto [dim, stride] : llvm::enumerate(newStrides))
    if (!fill(result.strides[dim], stride))
      return fail("stride " + Twine(dim) + " to be " + Twine(strides[dim]),
                  Twine(stride));
  if (!fill(result.offset, newOffset))
    return fail("an offset of " + Twine(offset), Twine(newOffset));
  return result;
}

SmallVector<int64_t> HostType::storedShape() const {
  SmallVector<int64_t> stored(shape);
  for (int64_t &size : stored)
    if (ShapedType::isDynamic(size))
      size = -1;
  if (isPacked && !stored.empty() && stored.back() > 0)
    stored.back() /= 2;
  return stored;
}

NpyType HostType::resultType() const {
  NpyType stored = getStoredType(element);
  return stored.size == 1 && element != NpyElement::Bool &&
                 stored.kind != NpyKind::Int
             ? NpyType{NpyKind::UInt, 1}
             : stored;
}

static bool matches(ArrayRef<int64_t> found, ArrayRef<int64_t> expected) {
  return found.size() == expected.size() &&
         llvm::all_of(llvm::zip(found, expected), [](auto pair) {
           auto [have, want] = pair;
           return want < 0 || have == want;
         });
}

bool HostType::accepts(NpyType found, ArrayRef<int64_t> foundShape) const {
  bool typeMatches =
      isPacked ? found == NpyType{NpyKind::UInt, 1} : canHold(found, element);
  if (isSignless && element != NpyElement::Bool)
    typeMatches |= found == NpyType{NpyKind::UInt, getStoredType(element).size};
  return typeMatches && matches(foundShape, storedShape());
}

bool HostType::acceptsUnpacked(NpyType found,
                               ArrayRef<int64_t> foundShape) const {
  SmallVector<int64_t> logical(shape);
  for (int64_t &size : logical)
    if (ShapedType::isDynamic(size))
      size = -1;
  return isPacked && found == NpyType{NpyKind::Raw, 1} &&
         matches(foundShape, logical) &&
         (foundShape.empty() || foundShape.back() % 2 == 0);
}

std::string HostType::describeAccepted() const {
  std::string stored = toString(ArrayRef<int64_t>(storedShape()));
  if (isPacked) {
    SmallVector<int64_t> logical(shape);
    std::string text = "uint8 " + stored + ", two elements in a byte, or " +
                       getName(element).str() + " " + kvq::toString(logical);
    if (!logical.empty() && ShapedType::isDynamic(logical.back()))
      text += " with an even innermost size";
    return text;
  }
  std::string names = getName(element).str();
  unsigned bits = getBitWidth(element);
  bool isExtended = getStoredType(element).kind == NpyKind::Raw ||
                    element == NpyElement::Float8E5M2;
  if (isExtended || (isSignless && element != NpyElement::Bool))
    names += " or uint" + std::to_string(bits);
  return names + " " + stored;
}
