//===- BlockCodec.cpp - Quantize and dequantize a block in registers ------===//
//
// The formats of the dialect are written out here: f32 arithmetic of a GPU
// keeps subnormals, which the arithmetic that KVFormatInterface emits for
// processors in unknown modes takes f64 for. Formats of other dialects go
// through the interface. Both compute the same bits.
//
//===----------------------------------------------------------------------===//

#include "BlockCodec.h"
#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

//===----------------------------------------------------------------------===//
// Formats of other dialects
//===----------------------------------------------------------------------===//

/// The bits of a value of a low-bit type, zero-extended, and back.
static I32 toBits(KernelBuilder &b, Value value) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  Value bits = arith::BitcastOp::create(b, b.getIntegerType(width), value);
  if (width < 32)
    bits = arith::ExtUIOp::create(b, b.getI32Type(), bits);
  return {b, bits};
}

static Value fromBits(KernelBuilder &b, I32 bits, FloatType type) {
  Value narrow = bits;
  if (type.getWidth() < 32)
    narrow =
        arith::TruncIOp::create(b, b.getIntegerType(type.getWidth()), narrow);
  return arith::BitcastOp::create(b, type, narrow);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The largest magnitude, NaN ignored: bits of magnitudes order as they do.
static F32 getLargestMagnitude(KernelBuilder &b, ArrayRef<F32> values) {
  I32 largest = b.i32(0);
  for (F32 value : values) {
    I32 magnitude = value.bits() & 0x7fffffff;
    largest = largest.max((magnitude > 0x7f800000).select(b.i32(0), magnitude));
  }
  return largest.asF32();
}

/// The code of the scale that maps `amax` to the element magnitude `target`.
static I32 getScale(KernelBuilder &b, KVFormatInterface format, F32 amax,
                    F32 globalScale, double target) {
  FloatType type = format.getScaleType();
  if (!isa<FormatAttr>(format)) {
    Value scale =
        format.emitBlockScale(b, b.getLoc(), amax, Value(globalScale), target);
    return toBits(b, scale);
  }
  if (isa<Float8E8M0FNUType>(type)) {
    // The exponent of the largest magnitude less that of the element type's
    // largest power of two (OCP MX 1.0, 6.3).
    int64_t emax =
        ilogb(APFloat::getLargest(format.getElementType().getFloatSemantics()));
    F32 scaled = globalScale ? amax / globalScale : amax;
    return ((scaled.bits() >> 23) - emax).max(0).min(254);
  }
  // Infinity over infinity is NaN, and saturates as infinity does.
  F32 quotient = amax / (globalScale ? globalScale * target : b.f32(target));
  double largest =
      APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  quotient = quotient.min(largest);
  if (isa<Float8E4M3FNType>(type))
    return encodeE4M3(b, quotient);
  return encodeElements(b, type, {quotient, quotient}).front() &
         ((int64_t(1) << type.getWidth()) - 1);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The words of the elements of `values` under a scale.
static SmallVector<I32> encode(KernelBuilder &b, KVFormatInterface format,
                               ArrayRef<F32> values, I32 scaleCode,
                               F32 globalScale) {
  FloatType element = format.getElementType();
  if (!isa<FormatAttr>(format)) {
    Value scale;
    if (scaleCode)
      scale = fromBits(b, scaleCode, format.getScaleType());
    SmallVector<I32> words;
    unsigned width = element.getWidth();
    for (auto [i, value] : llvm::enumerate(values)) {
      unsigned bit = i * width % 32;
      if (bit == 0)
        words.push_back(b.i32(0));
      I32 code = toBits(b, format.emitEncode(b, b.getLoc(), value, scale,
                                             Value(globalScale)));
      words.back() = words.back() | (code << bit);
    }
    return words;
  }
  if (!scaleCode && !globalScale)
    return encodeElements(b, element, values);

  F32 scale, divisor;
  if (scaleCode)
    divisor = scale = decodeScale(b, format.getScaleType(), scaleCode);
  if (globalScale)
    divisor = scale ? scale * globalScale : globalScale;
  bool canVanish = scale && !isa<Float8E8M0FNUType>(format.getScaleType());
  SmallVector<F32> quotients;
  for (F32 value : values) {
    F32 quotient = value / divisor;
    // A product of scales that underflows or overflows makes NaN of a zero or
    // an infinity, which are what they are under any scale.
    quotient = quotient.isNaN().select(value, quotient);
    if (canVanish) {
      // Under a scale of zero every code is a zero of the value's sign.
      F32 zero = (value.bits() & 0x80000000).asF32();
      quotient = ((scale == 0.0) & !value.isNaN()).select(zero, quotient);
    }
    quotients.push_back(quotient);
  }
  return encodeElements(b, element, quotients);
}

/// The sum of the squared errors, in the order of the elements.
static F32 getSquaredError(KernelBuilder &b, KVFormatInterface format,
                           ArrayRef<F32> values, const StoredBlock &block,
                           F32 globalScale) {
  F32 sum = b.f32(0.0);
  SmallVector<F32> decoded = dequantizeBlock(b, format, block, globalScale);
  for (auto [value, stored] : llvm::zip_equal(values, decoded)) {
    F32 error = value - stored;
    sum = sum + error * error;
  }
  return sum;
}

StoredBlock kvq::kernel::quantizeBlock(KernelBuilder &b,
                                       KVFormatInterface format,
                                       bool fourOverSix, ArrayRef<F32> values,
                                       F32 globalScale) {
  StoredBlock block;
  if (format.hasBlockScale()) {
    F32 amax = getLargestMagnitude(b, values);
    auto quantize = [&](double target) {
      StoredBlock result;
      result.scale = getScale(b, format, amax, globalScale, target);
      result.words = encode(b, format, values, result.scale, globalScale);
      return result;
    };
    block = quantize(format.getLargestMagnitude());
    if (fourOverSix) {
      StoredBlock other = quantize(4.0);
      Pred isBetter = getSquaredError(b, format, values, other, globalScale) <
                      getSquaredError(b, format, values, block, globalScale);
      block.scale = isBetter.select(other.scale, block.scale);
      for (auto [word, better] : llvm::zip_equal(block.words, other.words))
        word = isBetter.select(better, word);
    }
    return block;
  }
  block.words = encode(b, format, values, I32(), globalScale);
  return block;
}

SmallVector<F32> kvq::kernel::dequantizeBlock(KernelBuilder &b,
                                              KVFormatInterface format,
                                              const StoredBlock &block,
                                              F32 globalScale) {
  FloatType element = format.getElementType();
  if (!isa<FormatAttr>(format)) {
    Value scale;
    if (block.scale)
      scale = fromBits(b, block.scale, format.getScaleType());
    SmallVector<F32> values;
    unsigned width = element.getWidth();
    for (I32 word : block.words)
      for (unsigned bit = 0; bit < 32; bit += width)
        values.push_back(
            {b,
             format.emitDecode(b, b.getLoc(), fromBits(b, word >> bit, element),
                               scale, Value(globalScale))});
    return values;
  }
  SmallVector<F32> values = decodeElements(b, element, block.words);
  F32 scale;
  if (block.scale)
    scale = decodeScale(b, format.getScaleType(), block.scale);
  for (F32 &value : values) {
    // Element times block scale is exact, so the whole is rounded once.
    if (scale)
      value = value * scale;
    if (globalScale)
      value = value * globalScale;
  }
  return values;
}
