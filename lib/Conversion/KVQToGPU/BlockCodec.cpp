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
#include <limits>

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
// Values that are no numbers
//===----------------------------------------------------------------------===//

/// The largest magnitude in f32, NaN if a value is NaN.
static F32 getLargestOrNaN(KernelBuilder &b, const PackedValues &values) {
  bool isWide = values.type.isF32();
  SmallVector<Value> magnitudes;
  for (I32 word : values.words) {
    I32 magnitude = word & (isWide ? 0x7fffffff : 0x7fff7fff);
    magnitudes.push_back(isWide ? Value(magnitude.asF32())
                                : b.asPair(magnitude, values.type));
  }
  auto reduce = [&](SmallVector<Value> rest) {
    while (rest.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < rest.size(); i += 2)
        next.push_back(arith::MaximumFOp::create(b, rest[i], rest[i + 1]));
      if (rest.size() % 2)
        next.push_back(rest.back());
      rest = std::move(next);
    }
    return rest.front();
  };
  Value largest = reduce(magnitudes);
  if (isWide)
    return {b, largest};
  SmallVector<Value> halves;
  for (int64_t lane = 0; lane < 2; ++lane)
    halves.push_back(
        arith::ExtFOp::create(b, b.getF32Type(), b.extract(largest, lane)));
  return {b, reduce(halves)};
}

/// The f32 of values; of a NaN some NaN.
static SmallVector<F32> widen(KernelBuilder &b, const PackedValues &values) {
  SmallVector<F32> result;
  for (I32 word : values.words) {
    if (values.type.isF32()) {
      result.push_back(word.asF32());
      continue;
    }
    Value pair = b.asPair(word, values.type);
    for (int64_t lane = 0; lane < 2; ++lane)
      result.push_back(
          {b, arith::ExtFOp::create(b, b.getF32Type(), b.extract(pair, lane))});
  }
  return result;
}

/// A word with each NaN replaced by a zero of its sign.
static I32 clearNaN(KernelBuilder &b, FloatType type, I32 word) {
  if (type.isF32())
    return ((word & 0x7fffffff) > 0x7f800000).select(word & 0x80000000, word);
  // The sum reaches a half's highest bit if its magnitude is above infinity.
  I32 magnitudes = word & 0x7fff7fff;
  I32 isNaN =
      (magnitudes + (type.isF16() ? 0x03ff03ff : 0x007f007f)) & 0x80008000;
  I32 mask = isNaN - (isNaN >> 15);
  return word & (mask ^ 0xffffffff);
}

namespace {

/// A block for quantization. Nearly all blocks hold numbers and have a scale
/// that divides them into numbers, so that what else there may be is looked for
/// once for all values, and handled where it is found.
struct Numbers {
  SmallVector<F32> values;
  F32 largest;
  /// Whether a value was NaN or is infinite, or the global scale is so small or
  /// large that its product with a block scale may be zero or infinite.
  Pred isSpecial;
};

} // namespace

/// The numbers of a block: each NaN is a zero of its sign.
static Numbers getNumbers(KernelBuilder &b, KVFormatInterface format,
                          const PackedValues &values, F32 globalScale) {
  F32 largest = getLargestOrNaN(b, values);
  Numbers numbers;
  numbers.isSpecial =
      (largest < std::numeric_limits<double>::infinity()).negate();
  SmallVector<Type> types(values.words.size(), b.getI32Type());
  types.push_back(b.getF32Type());
  SmallVector<Value> results = b.choose(
      numbers.isSpecial, types,
      [&] {
        PackedValues cleared{values.type, {}};
        for (I32 word : values.words)
          cleared.words.push_back(clearNaN(b, values.type, word));
        auto results = llvm::to_vector_of<Value>(cleared.words);
        results.push_back(getLargestOrNaN(b, cleared));
        return results;
      },
      [&] {
        auto results = llvm::to_vector_of<Value>(values.words);
        results.push_back(largest);
        return results;
      });
  PackedValues cleared{values.type, {}};
  for (Value word : ArrayRef(results).drop_back())
    cleared.words.push_back({b, word});
  numbers.values = widen(b, cleared);
  numbers.largest = {b, results.back()};
  if (isa_and_nonnull<Float8E8M0FNUType>(format.getScaleType())) {
    if (globalScale)
      numbers.isSpecial = b.pred(true);
  } else if (globalScale) {
    // From 2^-126 to 2^119, as E4M3 scales are 2^-9 to 448.
    I32 bits = globalScale.bits();
    numbers.isSpecial =
        numbers.isSpecial | (bits < 0x00800000) | (bits > 0x7b000000);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The code of the scale that maps `amax` to the element magnitude `target`.
static I32 getScale(KernelBuilder &b, KVFormatInterface format, F32 amax,
                    F32 globalScale, double target) {
  FloatType type = format.getScaleType();
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
  return encodeE4M3(b, quotient.min(largest));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The words of the elements of `numbers` under a scale.
static SmallVector<I32> encode(KernelBuilder &b, KVFormatInterface format,
                               const Numbers &numbers, I32 scaleCode,
                               F32 globalScale) {
  FloatType element = format.getElementType();
  F32 divisor;
  if (scaleCode)
    divisor = decodeScale(b, format.getScaleType(), scaleCode);
  Pred isZero;
  // Under a scale of zero every code is a zero of the value's sign.
  if (divisor && !isa<Float8E8M0FNUType>(format.getScaleType()))
    isZero = divisor == 0.0;
  if (globalScale)
    divisor = divisor ? divisor * globalScale : globalScale;
  if (!divisor)
    return encodeNumbers(b, element, numbers.values);
  if (isZero)
    divisor =
        isZero.select(b.f32(std::numeric_limits<double>::infinity()), divisor);
  SmallVector<Value> quotients;
  for (F32 value : numbers.values)
    quotients.push_back(value / divisor);
  SmallVector<Type> types(quotients.size(), b.getF32Type());
  quotients = b.choose(
      numbers.isSpecial, types,
      [&] {
        // A product of scales that underflows or overflows makes NaN of a zero
        // or an infinity, which are what they are under any scale.
        SmallVector<Value> fixed;
        for (auto [value, quotient] :
             llvm::zip_equal(numbers.values, quotients)) {
          F32 q(b, quotient);
          fixed.push_back(q.isNaN().select(value, q));
        }
        return fixed;
      },
      [&] { return quotients; });
  SmallVector<F32> results;
  for (Value quotient : quotients)
    results.push_back({b, quotient});
  return encodeNumbers(b, element, results);
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

/// Puts the codes of NaN, with their signs, back into words of E4M3: `codes`
/// are those of zeros there.
static void restoreNaN(KernelBuilder &b, const PackedValues &values,
                       Pred isSpecial, SmallVectorImpl<I32> &codes) {
  SmallVector<Type> types(codes.size(), b.getI32Type());
  SmallVector<Value> restored = b.choose(
      isSpecial, types,
      [&] {
        SmallVector<I32> words(codes.begin(), codes.end());
        for (auto [i, value] : llvm::enumerate(widen(b, values)))
          words[i / 4] =
              words[i / 4] | value.isNaN().select(
                                 b.i32(int64_t(0x7f) << (i % 4 * 8)), b.i32(0));
        return llvm::to_vector_of<Value>(words);
      },
      [&] { return llvm::to_vector_of<Value>(codes); });
  for (auto [code, value] : llvm::zip_equal(codes, restored))
    code = {b, value};
}

/// quantizeBlock for the low-bit formats of the dialect.
static StoredBlock quantizeLowBits(KernelBuilder &b, KVFormatInterface format,
                                   bool fourOverSix, const PackedValues &values,
                                   F32 globalScale) {
  Numbers numbers = getNumbers(b, format, values, globalScale);
  auto quantize = [&](double target) {
    StoredBlock block;
    if (format.hasBlockScale())
      block.scale = getScale(b, format, numbers.largest, globalScale, target);
    block.words = encode(b, format, numbers, block.scale, globalScale);
    return block;
  };
  StoredBlock block = quantize(format.getLargestMagnitude());
  if (fourOverSix) {
    auto getError = [&](const StoredBlock &block) {
      return getSquaredError(b, format, widen(b, values), block, globalScale);
    };
    StoredBlock other = quantize(4.0);
    // An error with NaN is not smaller.
    Pred isBetter = getError(other) < getError(block);
    block.scale = isBetter.select(other.scale, block.scale);
    for (auto [word, better] : llvm::zip_equal(block.words, other.words))
      word = isBetter.select(better, word);
  }
  if (isa<Float8E4M3FNType>(format.getElementType()))
    restoreNaN(b, values, numbers.isSpecial, block.words);
  return block;
}

/// The largest magnitude, NaN ignored: bits of magnitudes order as they do.
static F32 getLargestMagnitude(KernelBuilder &b, ArrayRef<F32> values) {
  I32 largest = b.i32(0);
  for (F32 value : values) {
    I32 magnitude = value.bits() & 0x7fffffff;
    largest = largest.max((magnitude > 0x7f800000).select(b.i32(0), magnitude));
  }
  return largest.asF32();
}

/// quantizeBlock for formats of other dialects, by their interface.
static StoredBlock quantizeByInterface(KernelBuilder &b,
                                       KVFormatInterface format,
                                       ArrayRef<F32> values, F32 globalScale) {
  StoredBlock block;
  Value scale;
  if (format.hasBlockScale()) {
    scale =
        format.emitBlockScale(b, b.getLoc(), getLargestMagnitude(b, values),
                              Value(globalScale), format.getLargestMagnitude());
    block.scale = toBits(b, scale);
  }
  unsigned width = format.getElementType().getWidth();
  for (auto [i, value] : llvm::enumerate(values)) {
    unsigned bit = i * width % 32;
    if (bit == 0)
      block.words.push_back(b.i32(0));
    I32 code = toBits(
        b, format.emitEncode(b, b.getLoc(), value, scale, Value(globalScale)));
    block.words.back() = block.words.back() | (code << bit);
  }
  return block;
}

StoredBlock kvq::kernel::quantizeBlock(KernelBuilder &b,
                                       KVFormatInterface format,
                                       bool fourOverSix,
                                       const PackedValues &values,
                                       F32 globalScale) {
  bool isLowBit = format.getElementType().getWidth() < 16;
  if (isa<FormatAttr>(format) && isLowBit)
    return quantizeLowBits(b, format, fourOverSix, values, globalScale);
  SmallVector<F32> wide = decodeElements(b, values.type, values.words);
  if (!isa<FormatAttr>(format))
    return quantizeByInterface(b, format, wide, globalScale);
  StoredBlock block;
  block.words = encodeElements(b, format.getElementType(), wide);
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
