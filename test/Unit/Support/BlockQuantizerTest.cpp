//===- BlockQuantizerTest.cpp - Rows against vectors and APFloat ----------===//

#include "kvq/Support/BlockQuantizer.h"
#include "FloatEnvironment.h"
#include "kvq/Support/LowBitFloat.h"
#include "kvq/Support/StrictFloat.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace kvq;
using llvm::APFloat;

namespace {

constexpr float Inf = std::numeric_limits<float>::infinity();
constexpr float NaN = std::numeric_limits<float>::quiet_NaN();

struct Row {
  std::vector<uint8_t> data, scales;
  bool operator==(const Row &other) const {
    return data == other.data && scales == other.scales;
  }
};

Row quantize(const BlockFormat &format, const std::vector<float> &x,
             float globalScale = 1, bool fourOverSix = false) {
  Row row{std::vector<uint8_t>(format.getDataBytes(x.size())),
          std::vector<uint8_t>(format.getScaleBytes(x.size()))};
  QuantizeOptions options;
  options.fourOverSix = fourOverSix;
  EXPECT_FALSE(llvm::errorToBool(
      quantizeRow(format, x, globalScale, row.data, row.scales, options)));
  return row;
}

std::vector<float> dequantize(const BlockFormat &format, const Row &row,
                              size_t elements, float globalScale = 1) {
  std::vector<float> x(elements);
  EXPECT_FALSE(llvm::errorToBool(
      dequantizeRow(format, row.data, row.scales, globalScale, x)));
  return x;
}

/// A block that starts with `head` and repeats `rest`.
std::vector<float> block(std::vector<float> head, float rest, size_t size) {
  head.resize(size, rest);
  return head;
}

std::string hex(const std::vector<uint8_t> &bytes) {
  return llvm::toHex(bytes);
}

unsigned codeAt(const Row &row, size_t i) {
  return (row.data[i / 2] >> (i % 2 * 4)) & 0xF;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

void checkVector(const std::vector<float> &x, float globalScale,
                 const char *scale, const char *codes) {
  Row row = quantize(BlockFormat::nvfp4(), x, globalScale);
  EXPECT_EQ(hex(row.scales), scale);
  EXPECT_EQ(hex(row.data), codes);
}

std::vector<float> ramp(float step) {
  std::vector<float> x(16);
  for (int i = 0; i != 16; ++i)
    x[i] = step * i;
  return x;
}

TEST(BlockQuantizer, ReferenceVectors) {
  checkVector(ramp(1), 1, "42", "1022435465667677");          // V1
  checkVector(block({}, 0, 16), 1, "00", "0000000000000000"); // V2
  std::vector<float> zeros(16);
  for (int i = 1; i < 16; i += 2)
    zeros[i] = -0.0f;
  checkVector(zeros, 1, "00", "8080808080808080"); // V3
  checkVector({0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, 6, -0.25f, -0.75f,
               -1.25f, -1.75f, -2.5f, -3.5f, -5, -6},
              1, "38", "20426476A8CAECFE"); // V4
  checkVector(block({}, 0x1p-8f, 16), 1, "00",
              "0000000000000000"); // V5
  checkVector(block({6 * 0x1p-10f}, 0, 16), 1, "00",
              "0000000000000000"); // V6
  checkVector(block({6 * 0x1p-9f, 3 * 0x1p-9f}, 0, 16), 1, "01",
              "5700000000000000"); // V7
  checkVector(block({6000, 2688, 1344, 600}, 1, 16), 1, "7E",
              "7735000000000000"); // V8
  checkVector(block({2688, -2688, 1344, 224}, 0, 16), 1, "7E",
              "F715000000000000");                                // V9
  checkVector(block({30}, 1, 16), 1, "4A", "0700000000000000");   // V10
  checkVector(block({6.3f}, 1, 16), 1, "38", "2722222222222222"); // V11
  checkVector(block({1, 2, 3, NaN}, 4, 16), 1, "33",
              "5306777777777777");                                // V12
  checkVector(block({Inf}, 1, 16), 1, "7E", "0700000000000000");  // V13
  checkVector(ramp(30), 450.0f / 448, "69", "1022435465667677");  // V14
  checkVector(ramp(30), 450.0f / 2688, "7E", "1022435465667677"); // V15
}

//===----------------------------------------------------------------------===//
// APFloat as oracle
//===----------------------------------------------------------------------===//

APFloat ieee(float value) { return APFloat(value); }

float f32(const APFloat &value) {
  return strict::fromBits(value.bitcastToAPInt().getZExtValue());
}

float divide(float a, float b) {
  APFloat result = ieee(a);
  result.divide(ieee(b), APFloat::rmNearestTiesToEven);
  return f32(result);
}

float multiply(float a, float b) {
  APFloat result = ieee(a);
  result.multiply(ieee(b), APFloat::rmNearestTiesToEven);
  return f32(result);
}

/// Clamps, then rounds; `value` is no NaN.
unsigned convert(float value, float limit, const llvm::fltSemantics &to) {
  APFloat result = ieee(value);
  if (ieee(limit) < result)
    result = ieee(limit);
  if (result < ieee(-limit))
    result = ieee(-limit);
  bool losesInfo;
  result.convert(to, APFloat::rmNearestTiesToEven, &losesInfo);
  return result.bitcastToAPInt().getZExtValue();
}

/// The contract for NVFP4, with the arithmetic of LLVM.
void checkAgainstAPFloat(const std::vector<float> &x, float g,
                         float target = 6) {
  Row row = quantize(BlockFormat::nvfp4(), x, g);
  float largest = 0;
  for (float value : x)
    if (!ieee(value).isNaN() && largest < std::fabs(value))
      largest = std::fabs(value);
  unsigned scale = std::isinf(largest)
                       ? 0x7E
                       : convert(divide(largest, multiply(target, g)), 448,
                                 APFloat::Float8E4M3FN());
  ASSERT_EQ(row.scales[0], scale) << largest << " " << g;
  APFloat divisor(APFloat::Float8E4M3FN(), llvm::APInt(8, scale));
  bool losesInfo;
  divisor.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  float scaled = multiply(f32(divisor), g);
  for (size_t i = 0; i != x.size(); ++i) {
    unsigned sign = std::signbit(x[i]) ? 8 : 0;
    unsigned expected = sign;
    if (std::isinf(x[i]))
      expected |= 7;
    else if (scale && !std::isnan(x[i]) && x[i] != 0)
      expected |= convert(divide(x[i], scaled), 6, APFloat::Float4E2M1FN());
    ASSERT_EQ(codeAt(row, i), expected) << i << " " << x[i] << " " << g;
  }
}

TEST(BlockQuantizer, RandomNVFP4BlocksAgreeWithAPFloat) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial != 20000; ++trial) {
    std::vector<float> x(16);
    // Magnitudes and scales from all over the range, subnormal ones included.
    float magnitude = std::ldexp(1.0f, int(random() % 276) - 149);
    float g = strict::fromBits(random() % 0x7F7FFFFF + 1);
    if (trial % 2)
      g = divide(magnitude, 448.0f) + std::numeric_limits<float>::denorm_min();
    for (float &value : x)
      value = normal(random) * magnitude;
    if (trial % 50 == 0)
      x[random() % 16] = random() % 2 ? NaN : -Inf;
    checkAgainstAPFloat(x, g);
  }
}

TEST(BlockQuantizer, ExtremeGlobalScales) {
  std::vector<float> scales = {0x1p-149f, 0x1.8p-148f, 0x1p-127f, 0x1p-126f,
                               std::numeric_limits<float>::max(),
                               // Around the overflow of 6 * g.
                               0x1.555554p125f, 0x1.555556p125f, 0x1p126f};
  std::vector<float> largest = {
      0x1p-149f, 0x1p-140f, 0x1p-126f, 1, std::numeric_limits<float>::max(),
      Inf};
  for (float g : scales)
    for (float top : largest)
      for (float other : {0.0f, 0x1p-149f, 1.0f, top, -top})
        checkAgainstAPFloat(block({top, other, NaN, -0.0f}, other, 16), g);

  // 6 * g is infinite, so the quotient is zero and the block is flushed.
  Row row =
      quantize(BlockFormat::nvfp4(), block({1e38f, -1e38f}, 1, 16), 1e38f);
  EXPECT_EQ(row.scales[0], 0);
  EXPECT_EQ(row.data[0], 0x80);
  // An infinite element still saturates.
  row = quantize(BlockFormat::nvfp4(), block({Inf, -Inf}, 1, 16), 1e38f);
  EXPECT_EQ(row.scales[0], 0x7E);
  EXPECT_EQ(row.data[0], 0xF7);
  EXPECT_EQ(row.data[1], 0);
}

//===----------------------------------------------------------------------===//
// Other formats
//===----------------------------------------------------------------------===//

TEST(BlockQuantizer, ZeroBlocks) {
  std::vector<float> zeros = block({0, -0.0f}, 0, 32);
  for (const BlockFormat &format :
       {BlockFormat::nvfp4(), BlockFormat::mxfp4(), BlockFormat::mxfp8(),
        BlockFormat::fp8(), BlockFormat::bf16(), BlockFormat::f16()}) {
    Row row = quantize(format, zeros);
    for (uint8_t scale : row.scales)
      EXPECT_EQ(scale, 0);
    std::vector<float> back = dequantize(format, row, zeros.size());
    for (size_t i = 0; i != zeros.size(); ++i)
      EXPECT_EQ(strict::toBits(back[i]), strict::toBits(zeros[i])) << i;
  }
}

TEST(BlockQuantizer, UnderflowingBlocks) {
  float tiny = std::numeric_limits<float>::denorm_min();
  std::vector<float> x = block({tiny, -tiny}, 0, 32);
  Row row = quantize(BlockFormat::nvfp4(), x);
  EXPECT_EQ(hex(row.scales), "0000");
  EXPECT_EQ(row.data[0], 0x80);
  // The smallest scale of an MX format is 2^-127: 2^-149 is far below half of
  // its smallest element.
  row = quantize(BlockFormat::mxfp4(), x);
  EXPECT_EQ(hex(row.scales), "00");
  EXPECT_EQ(row.data[0], 0x80);
  row = quantize(BlockFormat::mxfp8(), x);
  EXPECT_EQ(hex(row.scales), "00");
  EXPECT_EQ(row.data[0], 0x00);
  EXPECT_EQ(row.data[1], 0x80);
  row = quantize(BlockFormat::fp8(), x);
  EXPECT_EQ(row.data[1], 0x80);
  row = quantize(BlockFormat::f16(), x);
  EXPECT_EQ(hex({row.data[0], row.data[1], row.data[2], row.data[3]}),
            "00000080");
  // bf16 has the exponents of f32, and 2^-149 is below half of its 2^-133.
  row = quantize(BlockFormat::bf16(), x);
  EXPECT_EQ(hex({row.data[0], row.data[1], row.data[2], row.data[3]}),
            "00000080");
  // A block whose scale is clamped to byte 0 and whose elements are not zero:
  // 2^-128 is 0.5 x 2^-127.
  row = quantize(BlockFormat::mxfp4(), block({0x1p-128f, 0x1.8p-127f}, 0, 32));
  EXPECT_EQ(row.scales[0], 0);
  EXPECT_EQ(row.data[0], 0x31);
}

TEST(BlockQuantizer, MXFP4SharedExponent) {
  // 2^floor(log2(6)) / 2^2 = 1; a magnitude of 7.9 has the same exponent and
  // is clamped to 6.
  Row row = quantize(BlockFormat::mxfp4(), block({6, 5, 2.5f, -7.9f}, 1, 32));
  EXPECT_EQ(row.scales[0], 127);
  EXPECT_EQ(row.data[0], 0x67);
  EXPECT_EQ(row.data[1], 0xF4);
  EXPECT_EQ(row.data[2], 0x22);
  row = quantize(BlockFormat::mxfp4(), block({8, 1}, 0, 32));
  EXPECT_EQ(row.scales[0], 128);
  EXPECT_EQ(row.data[0], 0x16);
  // NaN is ignored in the maximum and becomes zero, infinity becomes 6.
  row = quantize(BlockFormat::mxfp4(), block({-NaN, 4, NaN}, 1, 32));
  EXPECT_EQ(row.scales[0], 127);
  EXPECT_EQ(row.data[0], 0x68);
  EXPECT_EQ(row.data[1], 0x20);
  row = quantize(BlockFormat::mxfp4(), block({-Inf, 1}, 1, 32));
  EXPECT_EQ(row.scales[0], 253);
  EXPECT_EQ(row.data[0], 0x0F);
}

TEST(BlockQuantizer, MXFP8KeepsNaNAndClamps) {
  Row row = quantize(BlockFormat::mxfp8(),
                     block({448, -511, NaN, -NaN, 0x1p-9f, 0x1p-10f}, 1, 32));
  EXPECT_EQ(row.scales[0], 127);
  EXPECT_EQ(row.data[0], 0x7E);
  EXPECT_EQ(row.data[1], 0xFE);
  EXPECT_EQ(row.data[2], 0x7F);
  EXPECT_EQ(row.data[3], 0xFF);
  EXPECT_EQ(row.data[4], 0x01);
  EXPECT_EQ(row.data[5], 0x00);
  EXPECT_EQ(row.data[6], 0x38);
  row = quantize(BlockFormat::mxfp8(), block({NaN, Inf, -Inf, 3e38f}, 1, 32));
  EXPECT_EQ(row.scales[0], 247);
  EXPECT_EQ(hex({row.data[0], row.data[1], row.data[2]}), "7F7EFE");
  // A block of nothing but NaN has the scale of a zero block.
  row = quantize(BlockFormat::mxfp8(), block({}, NaN, 32));
  EXPECT_EQ(row.scales[0], 0);
  EXPECT_EQ(row.data[31], 0x7F);
  EXPECT_TRUE(std::isnan(dequantize(BlockFormat::mxfp8(), row, 32)[0]));
}

TEST(BlockQuantizer, FP8DividesClampsAndRounds) {
  float g = 0.3f;
  std::vector<float> x = {0, -0.0f, NaN, -NaN,   Inf, -Inf,  1e30f,
                          1, -0.7f, 100, 134.4f, 135, 1e-3f, 0x1p-149f};
  Row row = quantize(BlockFormat::fp8(), x, g);
  for (size_t i = 0; i != x.size(); ++i) {
    unsigned expected;
    if (std::isnan(x[i]))
      expected = std::signbit(x[i]) ? 0xFF : 0x7F;
    else
      expected = convert(divide(x[i], g), 448, APFloat::Float8E4M3FN());
    EXPECT_EQ(row.data[i], expected) << x[i];
  }
  EXPECT_TRUE(row.scales.empty());
}

TEST(BlockQuantizer, SixteenBitsInLittleEndian) {
  Row row = quantize(BlockFormat::bf16(), {1, -2, 0x1.01p0f, 3.4e38f, NaN});
  EXPECT_EQ(hex(row.data), "803F00C0803F807FC07F");
  row = quantize(BlockFormat::f16(), {1, -2, 65504, 65520, 0x1p-24f});
  EXPECT_EQ(hex(row.data), "003C00C0FF7B007C0100");
  EXPECT_EQ(dequantize(BlockFormat::f16(), row, 5),
            (std::vector<float>{1, -2, 65504, Inf, 0x1p-24f}));
}

TEST(BlockQuantizer, FourOverSix) {
  // With 6 the scale is 1 and 3.5, 5 are ties; with 4 it is 1.5 and all of
  // them but 6 and 3 are wrong as well: chosen by the sum of squares.
  std::vector<float> sixes = block({6}, 1, 16);
  EXPECT_EQ(quantize(BlockFormat::nvfp4(), sixes, 1, true),
            quantize(BlockFormat::nvfp4(), sixes));
  // 4 x 1.5 = 6, 3 x 1.5 = 4.5, which no multiple of 1 is.
  std::vector<float> fours = block({6}, 4.5f, 16);
  Row row = quantize(BlockFormat::nvfp4(), fours, 1, true);
  EXPECT_EQ(row.scales[0], 0x3C);
  EXPECT_EQ(hex(row.data), "5655555555555555");
  EXPECT_EQ(dequantize(BlockFormat::nvfp4(), row, 16), fours);
  // A tie goes to 6: zeros, and a NaN that makes the sums NaN.
  fours[3] = NaN;
  EXPECT_EQ(quantize(BlockFormat::nvfp4(), fours, 1, true).scales[0], 0x38);
  // Each block chooses for itself.
  std::vector<float> both = block({6}, 1, 16);
  both.resize(32, 4.5f);
  both[16] = 6;
  EXPECT_EQ(hex(quantize(BlockFormat::nvfp4(), both, 1, true).scales), "383C");
  // Only a/4 survives the rounding of the scale.
  Row small =
      quantize(BlockFormat::nvfp4(), block({5 * 0x1p-10f}, 0, 16), 1, true);
  EXPECT_EQ(small.scales[0], 0x01);
  EXPECT_EQ(codeAt(small, 0), 4u);
}

TEST(BlockQuantizer, DecodesEveryPairOfNVFP4Exactly) {
  float g = 0.0123f;
  for (unsigned scale = 0; scale != 256; ++scale) {
    Row row{{}, {uint8_t(scale)}};
    for (unsigned code = 0; code != 16; code += 2)
      row.data.push_back(code | (code + 1) << 4);
    std::vector<float> x = dequantize(BlockFormat::nvfp4(), row, 16, g);
    for (unsigned code = 0; code != 16; ++code) {
      float expected =
          multiply(decodeE2M1(code) * decodeE4M3(uint8_t(scale)), g);
      if ((scale & 0x7F) == 0x7F)
        EXPECT_TRUE(std::isnan(x[code]));
      else
        EXPECT_EQ(strict::toBits(x[code]), strict::toBits(expected));
    }
  }
}

TEST(BlockQuantizer, OtherBlockSizes) {
  // Blocks of three: the nibbles of a byte belong to two blocks.
  BlockFormat format{ElementKind::E2M1, BlockScaleKind::E4M3, 3, false};
  std::vector<float> x = {6, 3, 1, 12, 6, 2};
  Row row = quantize(format, x);
  EXPECT_EQ(hex(row.scales), "3840");
  EXPECT_EQ(hex(row.data), "577225");
  EXPECT_EQ(dequantize(format, row, 6), x);
}

//===----------------------------------------------------------------------===//
// Modes and errors
//===----------------------------------------------------------------------===//

TEST(BlockQuantizer, DoesNotDependOnModesOfTheProcessor) {
  std::mt19937 random(11);
  std::vector<float> x(4096);
  for (float &value : x)
    value = strict::fromBits(random());
  for (size_t i = 0; i < 2048; ++i) // subnormals and their neighbourhood
    x[i] = strict::fromBits(random() & 0x81FFFFFFu);
  const BlockFormat formats[] = {BlockFormat::nvfp4(), BlockFormat::mxfp4(),
                                 BlockFormat::mxfp8(), BlockFormat::fp8(),
                                 BlockFormat::bf16(),  BlockFormat::f16()};
  auto run = [&] {
    std::vector<Row> rows;
    std::vector<uint32_t> values;
    for (const BlockFormat &format : formats)
      for (float g : {1.0f, 0x1p-140f, 0x1p-149f, 0x1p-126f, 1e-36f}) {
        if (!format.hasGlobalScale)
          g = 1;
        for (bool fourOverSix : {false, true}) {
          rows.push_back(quantize(
              format, x, g, fourOverSix && format == BlockFormat::nvfp4()));
          for (float value : dequantize(format, rows.back(), x.size(), g))
            values.push_back(strict::toBits(value));
        }
      }
    return std::make_pair(rows, values);
  };
  auto expected = run();
  for (int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    test::ScopedFloatEnvironment environment(/*flush=*/true, mode);
    ASSERT_TRUE(test::flushesSubnormals());
    EXPECT_TRUE(run() == expected) << mode;
  }
}

TEST(BlockQuantizer, EmptyRow) {
  for (const BlockFormat &format : {BlockFormat::nvfp4(), BlockFormat::bf16()})
    EXPECT_TRUE(quantize(format, {}).data.empty());
}

void expectError(const BlockFormat &format, size_t elements, float g,
                 size_t dataBytes, size_t scaleBytes, const char *message,
                 bool fourOverSix = false) {
  std::vector<float> x(elements, 1);
  std::vector<uint8_t> data(dataBytes, 0xA5), scales(scaleBytes, 0xA5);
  QuantizeOptions options;
  options.fourOverSix = fourOverSix;
  EXPECT_EQ(llvm::toString(quantizeRow(format, x, g, data, scales, options)),
            message);
  EXPECT_EQ(data, std::vector<uint8_t>(dataBytes, 0xA5));
  EXPECT_EQ(scales, std::vector<uint8_t>(scaleBytes, 0xA5));
}

TEST(BlockQuantizer, RejectsWhatDoesNotFit) {
  BlockFormat nvfp4 = BlockFormat::nvfp4();
  expectError(
      nvfp4, 24, 1, 12, 1,
      "a row has a multiple of the block size 16 of elements, found 24");
  expectError(nvfp4, 16, 1, 16, 1,
              "the data of 16 elements has 8 bytes, found 16");
  expectError(nvfp4, 32, 1, 16, 1, "32 elements have 2 block scales, found 1");
  expectError(nvfp4, 16, 0, 8, 1,
              "a global scale is finite and positive, found 0.00");
  expectError(nvfp4, 16, -1, 8, 1,
              "a global scale is finite and positive, found -1.00");
  expectError(nvfp4, 16, Inf, 8, 1,
              "a global scale is finite and positive, found INF");
  expectError(BlockFormat::mxfp4(), 32, 2, 16, 1,
              "a format without a global scale takes 1 in its place, found "
              "2.00");
  expectError(BlockFormat::mxfp4(), 32, 1, 16, 1,
              "four_over_six needs E2M1 elements with E4M3 block scales", true);
  expectError({ElementKind::E2M1, BlockScaleKind::None, 0, true}, 3, 1, 2, 0,
              "a row of 4-bit elements has an even number of them, found 3");
  expectError({ElementKind::BF16, BlockScaleKind::E4M3, 16, false}, 16, 1, 32,
              1, "bf16 and f16 elements have no scales");
  expectError({ElementKind::E2M1, BlockScaleKind::E4M3, 0, false}, 16, 1, 8, 1,
              "a format with block scales has a block size of at least 1, "
              "found 0");
  expectError({ElementKind::E4M3, BlockScaleKind::None, 16, false}, 16, 1, 16,
              0, "a format without block scales has block size 0");
  expectError({ElementKind::E2M1, BlockScaleKind::E8M0, 32, true}, 32, 1, 16, 1,
              "a format with E8M0 block scales has no global scale");
}

TEST(BlockQuantizer, Presets) {
  EXPECT_EQ(BlockFormat::getPreset("nvfp4"), BlockFormat::nvfp4());
  EXPECT_EQ(BlockFormat::getPreset("mxfp8"), BlockFormat::mxfp8());
  EXPECT_EQ(BlockFormat::getPreset("NVFP4"), std::nullopt);
  EXPECT_EQ(BlockFormat::nvfp4().getDataBytes(128) +
                BlockFormat::nvfp4().getScaleBytes(128),
            72u);
  EXPECT_EQ(BlockFormat::mxfp4().getDataBytes(128) +
                BlockFormat::mxfp4().getScaleBytes(128),
            68u);
}

} // namespace
