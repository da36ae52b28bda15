//===- HostScalar.cpp - Scalars and arguments from text -------------------===//

#include "kvq/ExecutionEngine/CompiledEntry.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Errc.h"
#include <cstring>

using namespace kvq;
using namespace mlir;

static llvm::Error unexpected(const Twine &expected, StringRef text) {
  return llvm::createStringError(llvm::errc::invalid_argument,
                                 "expected " + expected + ", found '" + text +
                                     "'");
}

static HostScalar toBytes(const APInt &bits) {
  HostScalar scalar;
  uint64_t value = bits.getZExtValue();
  llvm::support::endian::write64(scalar.bytes, value, llvm::endianness::native);
  if (llvm::sys::IsBigEndianHost) {
    // A value narrower than the word lies at its end.
    unsigned unused = 8 - llvm::divideCeil(bits.getBitWidth(), 8);
    std::memmove(scalar.bytes, scalar.bytes + unused, 8 - unused);
  }
  return scalar;
}

static llvm::Expected<HostScalar> parseFloat(FloatType type, StringRef name,
                                             StringRef text) {
  APFloat value(type.getFloatSemantics());
  auto status =
      value.convertFromString(text, llvm::RoundingMode::NearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return unexpected("a number of type " + name, text);
  }
  if (*status & APFloat::opOverflow)
    return unexpected("a number in the range of " + name, text);
  return toBytes(value.bitcastToAPInt());
}

static llvm::Expected<HostScalar> parseInteger(const HostType &type,
                                               StringRef text) {
  unsigned width = getBitWidth(type.element);
  bool isBool = type.element == NpyElement::Bool;
  if (isBool && (text == "true" || text == "false"))
    return toBytes(APInt(8, text == "true"));

  Type elementType = getElementTypeOrSelf(type.type);
  // An integer without a sign may be given as either.
  bool hasNegatives = !elementType.isUnsignedInteger() && !isBool;
  APInt largest =
      isBool ? APInt(65, 1)
             : APInt::getLowBitsSet(
                   65, elementType.isSignedInteger() ? width - 1 : width);
  APInt smallest = APInt(65, 0);
  if (hasNegatives)
    smallest = -APInt::getOneBitSet(65, width - 1);

  StringRef digits = text;
  bool isNegative = digits.consume_front("-");
  unsigned radix = digits.consume_front_insensitive("0x") ? 16 : 10;
  APInt value;
  bool isInteger = !digits.empty() && llvm::isAlnum(digits.front()) &&
                   !digits.getAsInteger(radix, value);
  if (isInteger) {
    unsigned wide = std::max(value.getBitWidth() + 1, 66u);
    value = value.zext(wide);
    if (isNegative)
      value.negate();
    if (value.sge(smallest.sext(wide)) && value.sle(largest.zext(wide)))
      return toBytes(value.trunc(width));
  }
  return unexpected("an integer from " + llvm::toString(smallest, 10, true) +
                        " to " + llvm::toString(largest, 10, false),
                    text);
}

llvm::Expected<HostScalar> kvq::parseScalar(const HostType &type,
                                            StringRef text) {
  text = text.trim();
  if (auto floatType = dyn_cast<FloatType>(getElementTypeOrSelf(type.type)))
    return parseFloat(floatType, getName(type.element), text);
  return parseInteger(type, text);
}

llvm::Expected<HostArgument> kvq::makeArgument(const HostType &type,
                                               StringRef text) {
  // "inf" and "nan" are numbers, "5.npy" is a file.
  bool isFile = text.ends_with(".npy");
  if (type.isScalar || (!isFile && type.shape.empty() && !type.isPacked)) {
    llvm::Expected<HostScalar> scalar = parseScalar(type, text);
    if (!scalar)
      return scalar.takeError();
    if (type.isScalar)
      return HostArgument(*scalar);
    llvm::Expected<NpyArray> array =
        NpyArray::zeros(getStoredType(type.element), {});
    if (!array)
      return array.takeError();
    std::memcpy(array->data(), scalar->bytes, array->sizeInBytes());
    llvm::Expected<HostBuffer> buffer =
        HostBuffer::create(type, std::move(*array));
    if (!buffer)
      return buffer.takeError();
    return HostArgument(std::move(*buffer));
  }
  llvm::Expected<NpyArray> array = readNpy(text);
  if (!array)
    return array.takeError();
  llvm::Expected<HostBuffer> buffer =
      HostBuffer::create(type, std::move(*array));
  if (!buffer)
    return llvm::createStringError(llvm::errc::invalid_argument,
                                   text + ": " +
                                       llvm::toString(buffer.takeError()));
  return HostArgument(std::move(*buffer));
}
