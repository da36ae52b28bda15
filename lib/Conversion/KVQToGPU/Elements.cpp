//===- Elements.cpp - Elements of rows in memory and their decoding -------===//

#include "Elements.h"
#include "PackedConversions.h"
#include "kvq/Conversion/LowerFPConversions/LowerFPConversions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t kvq::kernel::getAccessBytes(FloatType element, int64_t count) {
  int64_t bytes = count * element.getWidth() / 8;
  return std::min<int64_t>(16, int64_t(1)
                                   << llvm::countr_zero(uint64_t(bytes)));
}

static int64_t getWidth(const Row &row) {
  return row.element.getIntOrFloatBitWidth();
}

/// The bits that are accessed one by one: those of an element, or the byte of
/// two.
static int64_t getUnitBits(Type element) {
  return std::max<int64_t>(8, element.getIntOrFloatBitWidth());
}

/// The address of element `at`, which begins a unit.
static Ptr getElement(const Row &row, I32 at) {
  if (row.step)
    return row.base + at.extend() * row.step;
  int64_t width = getWidth(row);
  return row.base + (width < 8 ? at / (8 / width) : at * (width / 8)).extend();
}

/// Whether all of a chunk is there and it may be accessed as a whole; empty if
/// that is never so.
static Pred isFast(KernelBuilder &b, const Row &row, I32 first, int64_t count) {
  Pred fast = row.isAligned;
  if (fast && row.size)
    fast = fast & (first + count <= row.size);
  return fast;
}

/// Loads a unit by itself. LLVM splits the wide loads of chunks into words,
/// which it joins again by their alignment. Words that are loaded in another
/// branch it would share with these, with the lesser alignment of both, if they
/// looked the same: they are volatile.
static I32 loadUnit(KernelBuilder &b, Ptr from, unsigned bits) {
  if (bits < 32)
    return b.loadBits(from, bits);
  return {b, LLVM::LoadOp::create(b, b.getI32Type(), Value(from),
                                  /*alignment=*/4, /*isVolatile=*/true)};
}

SmallVector<I32> kvq::kernel::loadElements(KernelBuilder &b, const Row &row,
                                           I32 first, int64_t count) {
  int64_t numWords = count * getWidth(row) / 32;
  int64_t unitBits = getUnitBits(row.element);
  int64_t perUnit = unitBits / getWidth(row);
  SmallVector<Type> types(numWords, b.getI32Type());
  auto slow = [&]() -> SmallVector<Value> {
    SmallVector<Value> words;
    I32 word = b.i32(0);
    int64_t filled = 0;
    for (int64_t i = 0; i < count; i += perUnit) {
      I32 at = first + i;
      auto load = [&] { return loadUnit(b, getElement(row, at), unitBits); };
      I32 unit;
      if (row.size)
        unit = {b, b.choose(
                        at < row.size, b.getI32Type(),
                        [&] { return SmallVector<Value>{load()}; },
                        [&] { return SmallVector<Value>{b.i32(0)}; })
                       .front()};
      else
        unit = load();
      word = word | (unit << filled);
      filled += unitBits;
      if (filled == 32) {
        words.push_back(word);
        word = b.i32(0);
        filled = 0;
      }
    }
    return words;
  };
  auto fast = [&]() -> SmallVector<Value> {
    return llvm::to_vector_of<Value>(
        b.loadWords(getElement(row, first), numWords));
  };
  Pred condition = isFast(b, row, first, count);
  SmallVector<Value> words =
      condition ? b.choose(condition, types, fast, slow) : slow();
  SmallVector<I32> result;
  for (Value word : words)
    result.push_back({b, word});
  return result;
}

void kvq::kernel::storeElements(KernelBuilder &b, ArrayRef<I32> words,
                                const Row &row, I32 first) {
  int64_t unitBits = getUnitBits(row.element);
  int64_t perUnit = unitBits / getWidth(row);
  int64_t count = words.size() * 32 / getWidth(row);
  auto slow = [&] {
    for (int64_t i = 0; i < count; i += perUnit) {
      int64_t bit = i * getWidth(row);
      I32 at = first + i;
      auto store = [&] {
        b.storeBits(words[bit / 32] >> (bit % 32), getElement(row, at),
                    unitBits);
      };
      if (row.size)
        b.when(at < row.size, store);
      else
        store();
    }
  };
  if (Pred condition = isFast(b, row, first, count))
    b.when(
        condition, [&] { b.storeWords(words, getElement(row, first)); }, slow);
  else
    slow();
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Multiplies a vector<2xf16> by a power of two.
static Value scalePair(KernelBuilder &b, I32 bits, double factor) {
  Value pair = b.asPair(bits, b.getF16Type());
  Type type = pair.getType();
  Value constant = arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<ShapedType>(type),
                                Attribute(b.getF16FloatAttr(factor))));
  return arith::MulFOp::create(b, pair, constant);
}

std::array<Value, 4> kvq::kernel::decodeE2M1(KernelBuilder &b, I32 word) {
  if (b.chip().hasFP4Conversions)
    return unpackE2M1(b, word);
  std::array<Value, 4> pairs;
  for (int64_t j = 0; j < 4; ++j) {
    I32 byte = word >> (8 * j);
    // A code to each half. Its magnitude moves to the lowest exponent bits and
    // the highest mantissa bit, where an f16 is 2^14 times smaller, subnormal
    // codes included.
    I32 both = (byte & 0x0f) | ((byte & 0xf0) << 12);
    I32 bits = ((both & 0x00080008) << 12) | ((both & 0x00070007) << 9);
    pairs[j] = scalePair(b, bits, 0x1p14);
  }
  return pairs;
}

std::array<Value, 2> kvq::kernel::decodeE4M3(KernelBuilder &b, I32 word) {
  if (b.chip().hasFP8Conversions)
    return unpackE4M3(b, word);
  std::array<Value, 2> pairs;
  for (int64_t j = 0; j < 2; ++j) {
    I32 two = word >> (16 * j);
    // As above: an f16 of these bits is 2^8 times smaller. The NaN code, which
    // is the one that a carry takes past the magnitude, gets all exponent bits.
    I32 both = ((two & 0xff) | (two << 8)) & 0x00ff00ff;
    I32 magnitude = both & 0x007f007f;
    I32 isNaN = (magnitude + 0x00010001) & 0x00800080;
    I32 bits = ((both & 0x00800080) << 8) | (magnitude << 7) | (isNaN * 0xfc);
    pairs[j] = scalePair(b, bits, 256.0);
  }
  return pairs;
}

/// The halves of a pair of f16 as f32. For what decoding makes: a NaN need not
/// keep its payload.
static void appendHalves(KernelBuilder &b, Value pair,
                         SmallVectorImpl<F32> &values) {
  for (int64_t i = 0; i < 2; ++i)
    values.push_back(
        {b, arith::ExtFOp::create(b, b.getF32Type(), b.extract(pair, i))});
}

/// The f32 of 16 bits of an f16, a NaN with its sign and payload.
static F32 widenF16(KernelBuilder &b, I32 bits) {
  Value narrow = arith::TruncIOp::create(b, b.getI16Type(), Value(bits));
  Value half = arith::BitcastOp::create(b, b.getF16Type(), narrow);
  F32 value(b, arith::ExtFOp::create(b, b.getF32Type(), half));
  I32 payload = ((bits & 0x8000) << 16) | ((bits & 0x3ff) << 13) | 0x7fc00000;
  return ((bits & 0x7fff) > 0x7c00).select(payload.asF32(), value);
}

/// The f32 of the high 16 bits of a word, a bf16; a NaN becomes quiet.
static F32 widenBF16(I32 bits) { return bits.asF32(); }

SmallVector<F32> kvq::kernel::decodeElements(KernelBuilder &b,
                                             FloatType element,
                                             ArrayRef<I32> words) {
  SmallVector<F32> values;
  for (I32 word : words) {
    if (isa<Float4E2M1FNType>(element)) {
      for (Value pair : decodeE2M1(b, word))
        appendHalves(b, pair, values);
    } else if (isa<Float8E4M3FNType>(element)) {
      for (Value pair : decodeE4M3(b, word))
        appendHalves(b, pair, values);
    } else if (element.isF16()) {
      values.push_back(widenF16(b, word & 0xffff));
      values.push_back(widenF16(b, word >> 16));
    } else if (element.isBF16()) {
      values.push_back(widenBF16(word << 16));
      values.push_back(widenBF16(word & 0xffff0000));
    } else {
      assert(element.isF32() && "a type that no format has");
      values.push_back(word.asF32());
    }
  }
  return values;
}

F32 kvq::kernel::loadElement(KernelBuilder &b, const Row &row, I32 at) {
  I32 bits = b.loadBits(getElement(row, at), getWidth(row));
  return decodeElements(b, row.element, bits).front();
}

F32 kvq::kernel::decodeScale(KernelBuilder &b, FloatType type, I32 code) {
  if (isa<Float8E8M0FNUType>(type)) {
    // The byte is f32's exponent. 0 is 2^-127, which is subnormal there, and
    // 255 is NaN, not infinity.
    I32 bits = code << 23;
    Pred isSpecial = (code == 0) | (code == 255);
    return (bits | isSpecial.select(b.i32(0x00400000), b.i32(0))).asF32();
  }
  if (!isa<Float8E4M3FNType>(type) || !b.chip().hasFP8Conversions)
    return decodeElements(b, type, code).front();
  Value two = arith::TruncIOp::create(b, b.getI16Type(), Value(code));
  Value codes =
      LLVM::BitcastOp::create(b, VectorType::get(2, b.getI8Type()), two);
  Value pair = NVVM::ConvertF8x2ToF16x2Op::create(
      b, VectorType::get(2, b.getF16Type()), codes, /*relu=*/false, type);
  return {b, arith::ExtFOp::create(b, b.getF32Type(), b.extract(pair, 0))};
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// Rounds by integer arithmetic; returns the bits, zero-extended.
static I32 roundBits(KernelBuilder &b, F32 value, FloatType type) {
  Value result = buildFromF32Bits(b, b.getLoc(), Value(value.bits()), type);
  Value bits =
      arith::BitcastOp::create(b, b.getIntegerType(type.getWidth()), result);
  return {b, arith::ExtUIOp::create(b, b.getI32Type(), bits)};
}

/// The bits of a value rounded to f16, a NaN quiet with sign and payload.
static I32 roundF16(KernelBuilder &b, F32 value) {
  Value half = arith::TruncFOp::create(b, b.getF16Type(), Value(value));
  Value narrow = arith::BitcastOp::create(b, b.getI16Type(), half);
  I32 bits(b, arith::ExtUIOp::create(b, b.getI32Type(), narrow));
  I32 source = value.bits();
  I32 quiet = ((source >> 16) & 0x8000) | ((source >> 13) & 0x1ff) | 0x7e00;
  return value.isNaN().select(quiet, bits);
}

/// Packs codes of `bits` bits into words, from the low bits up.
static SmallVector<I32> pack(ArrayRef<I32> codes, unsigned bits) {
  SmallVector<I32> words;
  unsigned perWord = 32 / bits;
  for (size_t i = 0; i < codes.size(); i += perWord) {
    I32 word = codes[i];
    for (unsigned j = 1; j < std::min<size_t>(perWord, codes.size() - i); ++j)
      word = word | (codes[i + j] << (j * bits));
    words.push_back(word);
  }
  return words;
}

/// Whether the chip converts words of f32 to elements of a type.
static bool hasPacking(const Chip &chip, FloatType element) {
  return isa<Float4E2M1FNType>(element)
             ? chip.hasFP4Conversions
             : isa<Float8E4M3FNType>(element) && chip.hasFP8Conversions;
}

/// The E2M1 code of a number, by f32 and integer arithmetic.
static I32 roundE2M1(KernelBuilder &b, F32 value) {
  I32 sign = (value.bits() >> 28) & 8;
  F32 magnitude = (value.bits() & 0x7fffffff).asF32().min(6.0);
  // From 1 on the code is the exponent and the highest mantissa bit, counted
  // from 2^-1: rounded to nearest even as an integer.
  I32 bits = magnitude.bits();
  I32 odd = (bits >> 22) & 1;
  I32 normal = (bits + (0x1fffff - (252 << 22)) + odd) >> 22;
  // Below, it counts halves, the last place of an f32 of this size.
  I32 small = (magnitude + 0x1p22).bits() & 3;
  return (magnitude < 1.0).select(small, normal) | sign;
}

SmallVector<I32> kvq::kernel::encodeNumbers(KernelBuilder &b, FloatType element,
                                            ArrayRef<F32> values) {
  size_t perWord = 32 / element.getWidth();
  if (!hasPacking(b.chip(), element) || values.size() % perWord != 0) {
    if (!isa<Float4E2M1FNType>(element))
      return encodeElements(b, element, values);
    SmallVector<I32> codes;
    for (F32 value : values)
      codes.push_back(roundE2M1(b, value));
    return pack(codes, /*bits=*/4);
  }
  SmallVector<I32> words;
  for (size_t i = 0; i < values.size(); i += perWord) {
    ArrayRef<F32> some = values.slice(i, perWord);
    words.push_back(perWord == 8 ? packE2M1(b, some) : packE4M3(b, some));
  }
  return words;
}

SmallVector<I32> kvq::kernel::encodeElements(KernelBuilder &b,
                                             FloatType element,
                                             ArrayRef<F32> values) {
  if (isa<Float4E2M1FNType>(element) && hasPacking(b.chip(), element)) {
    // Of a NaN a zero of its sign.
    SmallVector<F32> numbers;
    for (F32 value : values)
      numbers.push_back(
          value.isNaN().select((value.bits() & 0x80000000).asF32(), value));
    if (numbers.size() % 8 == 0)
      return encodeNumbers(b, element, numbers);
  }
  SmallVector<I32> codes;
  for (F32 value : values) {
    if (element.isF16())
      codes.push_back(roundF16(b, value));
    else if (element.isF32())
      codes.push_back(value.bits());
    else
      codes.push_back(roundBits(b, value, element));
  }
  return pack(codes, element.getWidth());
}

I32 kvq::kernel::encodeE4M3(KernelBuilder &b, F32 value) {
  if (!b.chip().hasFP8Conversions)
    return roundBits(b, value, Float8E4M3FNType::get(b.getContext()));
  Value pair = NVVM::ConvertF32x2ToF8x2Op::create(
      b, b.getI16Type(), Value(b.f32(0.0)), Value(value),
      NVVM::FPRoundingMode::RN, NVVM::SaturationMode::SATFINITE,
      /*relu=*/false, Float8E4M3FNType::get(b.getContext()));
  return {b, arith::ExtUIOp::create(b, b.getI32Type(), pair)};
}
