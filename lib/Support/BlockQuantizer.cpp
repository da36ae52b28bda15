//===- BlockQuantizer.cpp - Quantized rows of a cache ---------------------===//

#include "kvq/Support/BlockQuantizer.h"
#include "kvq/Support/LowBitFloat.h"
#include "kvq/Support/StrictFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq;
using llvm::ArrayRef;
using llvm::MutableArrayRef;

//===----------------------------------------------------------------------===//
// BlockFormat
//===----------------------------------------------------------------------===//

std::optional<BlockFormat> BlockFormat::getPreset(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<BlockFormat>>(name)
      .Case("nvfp4", nvfp4())
      .Case("mxfp4", mxfp4())
      .Case("mxfp8", mxfp8())
      .Case("fp8", fp8())
      .Case("bf16", bf16())
      .Case("f16", f16())
      .Default(std::nullopt);
}

unsigned BlockFormat::getElementBits() const {
  switch (element) {
  case ElementKind::E2M1:
    return 4;
  case ElementKind::E4M3:
    return 8;
  case ElementKind::BF16:
  case ElementKind::F16:
    return 16;
  }
  llvm_unreachable("unknown element kind");
}

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error BlockFormat::verify() const {
  if ((scale == BlockScaleKind::None) != (blockSize == 0))
    return makeError(scale == BlockScaleKind::None
                         ? "a format without block scales has block size 0"
                         : "a format with block scales has a block size of at "
                           "least 1, found 0");
  if (getElementBits() == 16 &&
      (scale != BlockScaleKind::None || hasGlobalScale))
    return makeError("bf16 and f16 elements have no scales");
  if (scale == BlockScaleKind::E8M0 && hasGlobalScale)
    return makeError("a format with E8M0 block scales has no global scale");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

static llvm::Error checkRow(const BlockFormat &format, size_t elements,
                            float globalScale, size_t dataBytes,
                            size_t scaleBytes) {
  if (llvm::Error error = format.verify())
    return error;
  if (format.blockSize && elements % format.blockSize)
    return makeError(llvm::formatv("a row has a multiple of the block size {0} "
                                   "of elements, found {1}",
                                   format.blockSize, elements));
  if (elements * format.getElementBits() % 8)
    return makeError(llvm::formatv(
        "a row of 4-bit elements has an even number of them, found {0}",
        elements));
  if (dataBytes != format.getDataBytes(elements))
    return makeError(llvm::formatv("the data of {0} elements has {1} bytes, "
                                   "found {2}",
                                   elements, format.getDataBytes(elements),
                                   dataBytes));
  if (scaleBytes != format.getScaleBytes(elements))
    return makeError(llvm::formatv("{0} elements have {1} block scales, found "
                                   "{2}",
                                   elements, format.getScaleBytes(elements),
                                   scaleBytes));
  // By bits, as a comparison would take a subnormal for zero under DAZ.
  uint32_t bits = strict::toBits(globalScale);
  if (bits == 0 || bits >= strict::InfinityBits)
    return makeError(llvm::formatv(
        "a global scale is finite and positive, found {0}", globalScale));
  if (!format.hasGlobalScale && bits != strict::toBits(1.0f))
    return makeError(llvm::formatv("a format without a global scale takes 1 in "
                                   "its place, found {0}",
                                   globalScale));
  return llvm::Error::success();
}

/// The largest magnitude of a block, NaN ignored, zero for an empty block.
static float getLargestMagnitude(ArrayRef<float> x) {
  uint32_t largest = 0;
  for (float value : x) {
    uint32_t magnitude = strict::magnitudeBits(value);
    if (magnitude <= strict::InfinityBits && magnitude > largest)
      largest = magnitude;
  }
  return strict::fromBits(largest);
}

static uint8_t encodeElement(ElementKind kind, float value) {
  return kind == ElementKind::E2M1 ? encodeE2M1(value) : encodeE4M3(value);
}

static float decodeElement(ElementKind kind, uint8_t code) {
  return kind == ElementKind::E2M1 ? decodeE2M1(code) : decodeE4M3(code);
}

/// x / divisor as an element. A zero or an infinity over itself is what the
/// dividend is, not NaN: the divisor may underflow to zero or overflow.
static uint8_t encodeQuotient(ElementKind kind, float x, double divisor) {
  float quotient = strict::narrow(strict::widen(x) / divisor);
  if (LLVM_UNLIKELY(strict::isNaN(quotient)))
    quotient = x;
  return encodeElement(kind, quotient);
}

/// The product of a decoded element and the exact product of its scales,
/// rounded once.
static float decodeProduct(ElementKind kind, uint8_t code, double scale) {
  return strict::narrow(strict::widen(decodeElement(kind, code)) * scale);
}

/// Quantizes a block with an E4M3 scale that maps its largest magnitude to
/// `target`, and returns the scale.
static uint8_t quantizeE4M3Scaled(ElementKind kind, ArrayRef<float> x,
                                  float target, float globalScale,
                                  uint8_t *codes) {
  float largest = getLargestMagnitude(x);
  uint8_t scale = strict::isInfinite(largest)
                      ? E4M3MaxByte
                      : encodeE4M3(strict::divide(
                            largest, strict::multiply(target, globalScale)));
  if (scale == 0) {
    for (auto [i, value] : llvm::enumerate(x)) {
      float zero = strict::fromBits(strict::toBits(value) & strict::SignBit);
      // NaN elements stay NaN where the format has one.
      codes[i] = encodeElement(kind, strict::isNaN(value) ? value : zero);
    }
    return scale;
  }
  double divisor =
      strict::widen(strict::multiply(decodeE4M3(scale), globalScale));
  for (auto [i, value] : llvm::enumerate(x))
    codes[i] = encodeQuotient(kind, value, divisor);
  return scale;
}

/// The squared error of a block in f32, summed in order, uncontracted.
static float getSquaredError(ElementKind kind, ArrayRef<float> x,
                             const uint8_t *codes, uint8_t scaleByte,
                             float globalScale) {
  double scale =
      strict::widen(decodeE4M3(scaleByte)) * strict::widen(globalScale);
  float sum = 0;
  for (auto [i, value] : llvm::enumerate(x)) {
    float error = strict::subtract(value, decodeProduct(kind, codes[i], scale));
    sum = strict::add(sum, strict::multiply(error, error));
  }
  return sum;
}

/// Quantizes one block to one code per byte and returns its scale.
static uint8_t quantizeBlock(const BlockFormat &format, ArrayRef<float> x,
                             float globalScale, const QuantizeOptions &options,
                             uint8_t *codes, uint8_t *otherCodes) {
  ElementKind kind = format.element;
  bool isE2M1 = kind == ElementKind::E2M1;
  if (format.scale == BlockScaleKind::E8M0) {
    uint8_t scale = encodeSharedExponent(
        getLargestMagnitude(x), isE2M1 ? E2M1MaxExponent : E4M3MaxExponent);
    // Division by a power of two is exact but where the quotient is far below
    // the smallest element.
    double divisor = strict::widen(decodeE8M0(scale));
    for (auto [i, value] : llvm::enumerate(x))
      codes[i] = encodeQuotient(kind, value, divisor);
    return scale;
  }

  uint8_t scale = quantizeE4M3Scaled(kind, x, isE2M1 ? E2M1Max : E4M3Max,
                                     globalScale, codes);
  if (!options.fourOverSix)
    return scale;
  uint8_t otherScale =
      quantizeE4M3Scaled(kind, x, 4.0f, globalScale, otherCodes);
  float error = getSquaredError(kind, x, codes, scale, globalScale);
  float otherError =
      getSquaredError(kind, x, otherCodes, otherScale, globalScale);
  // As doubles, since DAZ would make small sums equal. False for NaN.
  if (!(strict::widen(otherError) < strict::widen(error)))
    return scale;
  std::copy(otherCodes, otherCodes + x.size(), codes);
  return otherScale;
}

/// Writes one code per byte as packed elements.
static void packCodes(ElementKind kind, ArrayRef<uint8_t> codes,
                      size_t firstElement, uint8_t *data) {
  if (kind == ElementKind::E4M3) {
    std::copy(codes.begin(), codes.end(), data + firstElement);
    return;
  }
  for (auto [i, code] : llvm::enumerate(codes)) {
    size_t element = firstElement + i;
    uint8_t &byte = data[element / 2];
    byte = element % 2 ? (byte & 0x0F) | (code << 4) : code;
  }
}

llvm::Error kvq::quantizeRow(const BlockFormat &format, ArrayRef<float> x,
                             float globalScale, MutableArrayRef<uint8_t> data,
                             MutableArrayRef<uint8_t> scales,
                             const QuantizeOptions &options) {
  if (llvm::Error error =
          checkRow(format, x.size(), globalScale, data.size(), scales.size()))
    return error;
  if (options.fourOverSix && (format.element != ElementKind::E2M1 ||
                              format.scale != BlockScaleKind::E4M3))
    return makeError("four_over_six needs E2M1 elements with E4M3 block "
                     "scales");

  if (format.getElementBits() == 16) {
    for (auto [i, value] : llvm::enumerate(x)) {
      uint16_t bits = format.element == ElementKind::BF16 ? encodeBF16(value)
                                                          : encodeF16(value);
      data[2 * i] = bits & 0xFF;
      data[2 * i + 1] = bits >> 8;
    }
    return llvm::Error::success();
  }

  llvm::SmallVector<uint8_t, 64> codes(format.blockSize), other;
  if (format.scale == BlockScaleKind::None) {
    codes.resize(x.size());
    double divisor = strict::widen(globalScale);
    for (auto [i, value] : llvm::enumerate(x))
      codes[i] = encodeQuotient(format.element, value, divisor);
    packCodes(format.element, codes, 0, data.data());
    return llvm::Error::success();
  }

  other.resize(options.fourOverSix ? format.blockSize : 0);
  for (size_t block = 0, e = scales.size(); block != e; ++block) {
    size_t first = block * format.blockSize;
    scales[block] =
        quantizeBlock(format, x.slice(first, format.blockSize), globalScale,
                      options, codes.data(), other.data());
    packCodes(format.element, codes, first, data.data());
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Dequantization
//===----------------------------------------------------------------------===//

llvm::Error kvq::dequantizeRow(const BlockFormat &format,
                               ArrayRef<uint8_t> data, ArrayRef<uint8_t> scales,
                               float globalScale, MutableArrayRef<float> x) {
  if (llvm::Error error =
          checkRow(format, x.size(), globalScale, data.size(), scales.size()))
    return error;

  if (format.getElementBits() == 16) {
    for (size_t i = 0, e = x.size(); i != e; ++i) {
      uint16_t bits = data[2 * i] | (data[2 * i + 1] << 8);
      x[i] = format.element == ElementKind::BF16 ? decodeBF16(bits)
                                                 : decodeF16(bits);
    }
    return llvm::Error::success();
  }

  double global = strict::widen(globalScale);
  double scale = global;
  for (size_t i = 0, e = x.size(); i != e; ++i) {
    if (format.blockSize && i % format.blockSize == 0) {
      uint8_t byte = scales[i / format.blockSize];
      // Exact: at most 28 significant bits, far from the ends of the range.
      scale = global * strict::widen(format.scale == BlockScaleKind::E4M3
                                         ? decodeE4M3(byte)
                                         : decodeE8M0(byte));
    }
    uint8_t code = format.element == ElementKind::E2M1
                       ? (data[i / 2] >> (i % 2 * 4)) & 0xF
                       : data[i];
    x[i] = decodeProduct(format.element, code, scale);
  }
  return llvm::Error::success();
}
