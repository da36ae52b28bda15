//===- TCGen05DescriptorsTest.cpp - Words that the hardware reads ---------===//
//
// Matrix and instruction descriptors beside words that are put together here by
// hand, field by field, from the tables of the PTX ISA.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Limits.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace kvq::tcgen05;

namespace {

class TCGen05DescriptorsTest : public ::testing::Test {
protected:
  TCGen05DescriptorsTest() { context.loadDialect<TCGen05Dialect>(); }

  uint64_t matrix(int64_t rows, int64_t columns, Type element, Major major,
                  Swizzle swizzle, bool padded = false, int64_t leading = 0,
                  int64_t stride = 0) {
    auto layout =
        LayoutAttr::get(&context, major, swizzle, padded, leading, stride);
    return TileType::get(&context, rows, columns, element, layout)
        .getDescriptor();
  }

  /// A product with an f32 accumulator and without options.
  InstructionFields product(MMAKind kind, Type a, Type b, int64_t m,
                            int64_t n) {
    InstructionFields fields;
    fields.kind = kind;
    fields.a = a;
    fields.b = b;
    fields.d = f32;
    fields.m = m;
    fields.n = n;
    return fields;
  }

  MLIRContext context;
  Type f32 = Float32Type::get(&context);
  Type f16 = Float16Type::get(&context);
  Type bf16 = BFloat16Type::get(&context);
  Type tf32 = FloatTF32Type::get(&context);
  Type e4m3 = Float8E4M3FNType::get(&context);
  Type e5m2 = Float8E5M2Type::get(&context);
  Type e2m3 = Float6E2M3FNType::get(&context);
  Type e3m2 = Float6E3M2FNType::get(&context);
  Type e2m1 = Float4E2M1FNType::get(&context);
  Type e8m0 = Float8E8M0FNUType::get(&context);
  Type s8 = IntegerType::get(&context, 8, IntegerType::Signed);
  Type u8 = IntegerType::get(&context, 8, IntegerType::Unsigned);
  Type i32 = IntegerType::get(&context, 32);
};

// Table 40: swizzle << 61 | 0b001 << 46 | stride / 16 << 32 | leading / 16 <<
// 16. The address, the base offset (49-51), the mode of the leading stride (52)
// and bits 53-60 are 0.
TEST_F(TCGen05DescriptorsTest, Matrices) {
  const uint64_t constant = 0x0000'4000'0000'0000;
  // Without a swizzle: core matrices of 8 rows by 16 bytes, 128 bytes (8
  // units) from the next one along the rows; along K past all 128 / 8 = 16 of
  // them, 2048 bytes (0x80).
  EXPECT_EQ(matrix(128, 32, f16, Major::K, Swizzle::None),
            constant | 0x0000'0008'0080'0000);
  // The same, MN-major: 128 bytes from 8 rows to the next 8 (SBO), and along K
  // past 128 * 2 / 16 = 16 of them, 2048 bytes (LBO).
  EXPECT_EQ(matrix(128, 32, f16, Major::MN, Swizzle::None),
            constant | 0x0000'0008'0080'0000);
  // K-major patterns are 8 rows of 32, 64 and 128 bytes, and follow each other
  // after 256, 512 and 1024 bytes (0x10, 0x20, 0x40). LBO counts as 1.
  EXPECT_EQ(matrix(128, 64, f16, Major::K, Swizzle::B32),
            0xC000'0000'0000'0000 | constant | 0x0000'0010'0001'0000);
  EXPECT_EQ(matrix(16, 64, f16, Major::K, Swizzle::B64),
            0x8000'0000'0000'0000 | constant | 0x0000'0020'0001'0000);
  EXPECT_EQ(matrix(16, 128, e2m1, Major::K, Swizzle::B128, /*padded=*/true),
            0x4000'0000'0000'0000 | constant | 0x0000'0040'0001'0000);
  // MN-major patterns are 32, 64 and 128 bytes of rows by 8 along K: SBO is
  // their size, and LBO that of the K / 8 = 2, 3 and 4 patterns of a column of
  // patterns: 512 (0x20), 1536 (0x60) and 4096 (0x100).
  EXPECT_EQ(matrix(32, 16, f16, Major::MN, Swizzle::B32),
            0xC000'0000'0000'0000 | constant | 0x0000'0010'0020'0000);
  EXPECT_EQ(matrix(64, 24, e4m3, Major::MN, Swizzle::B64),
            0x8000'0000'0000'0000 | constant | 0x0000'0020'0060'0000);
  EXPECT_EQ(matrix(128, 32, f16, Major::MN, Swizzle::B128),
            0x4000'0000'0000'0000 | constant | 0x0000'0040'0100'0000);
  // Atoms of 32 bytes: patterns of 4 along K, 512 bytes (0x20); 4 of them are
  // 2048 (0x80).
  EXPECT_EQ(matrix(64, 16, tf32, Major::MN, Swizzle::B128Atom32),
            0x2000'0000'0000'0000 | constant | 0x0000'0020'0080'0000);
  // Strides that are given, up to the most that 14 bits hold: 0x3FFF * 16.
  EXPECT_EQ(matrix(64, 16, f16, Major::K, Swizzle::None, /*padded=*/false,
                   /*leading=*/262128, /*stride=*/144),
            constant | 0x0000'0009'3FFF'0000);
  // Blocks of scales are 8 rows of 16 bytes after each other, without LBO.
  EXPECT_EQ(ScaleTileType::get(&context, 256, 8, e4m3).getDescriptor(),
            constant | 0x0000'0008'0000'0000);
}

// Table 42. N / 8 is at bit 17, so that N = 8 is 0x20000, M / 16 at bit 24.
// Bits 0-2 (sparsity) and 6, 23, 29 are 0.
TEST_F(TCGen05DescriptorsTest, InstructionsWithoutScales) {
  // D f32 1 << 4; M 64 = 4 << 24, N 8; types 0.
  EXPECT_EQ(product(MMAKind::F16, f16, f16, 64, 8).encode(), 0x0402'0010u);
  // D f16 0; M 128 = 8 << 24; N 256 = 32 << 17 = 0x400000.
  InstructionFields half = product(MMAKind::F16, f16, f16, 128, 256);
  half.d = f16;
  EXPECT_EQ(half.encode(), 0x0840'0000u);
  // bf16 1 << 7 | 1 << 10 = 0x480; M 256 = 16 << 24; N 24 = 0x60000.
  EXPECT_EQ(product(MMAKind::F16, bf16, bf16, 256, 24).encode(), 0x1006'0490u);
  // Each flag by itself: negated A and B 13 and 14, MN-major A and B 15 and 16.
  InstructionFields flags = product(MMAKind::F16, f16, f16, 64, 8);
  flags.negateA = true;
  EXPECT_EQ(flags.encode(), 0x0402'2010u);
  flags.negateA = false, flags.negateB = true;
  EXPECT_EQ(flags.encode(), 0x0402'4010u);
  flags.negateB = false, flags.transposeA = true;
  EXPECT_EQ(flags.encode(), 0x0402'8010u);
  flags.transposeA = false, flags.transposeB = true;
  EXPECT_EQ(flags.encode(), 0x0403'0010u);
  // The largest shift of columns at 30: 8, 16, 32 are 1, 2, 3. M 32 = 2 << 24,
  // N 64 = 0x100000.
  InstructionFields shifted = product(MMAKind::F16, f16, f16, 32, 64);
  EXPECT_EQ(shifted.encode(), 0x0210'0010u);
  shifted.maxShift = 8;
  EXPECT_EQ(shifted.encode(), 0x4210'0010u);
  shifted.maxShift = 16;
  EXPECT_EQ(shifted.encode(), 0x8210'0010u);
  shifted.maxShift = 32;
  EXPECT_EQ(shifted.encode(), 0xC210'0010u);
  // tf32 2 << 7 | 2 << 10 = 0x900.
  EXPECT_EQ(product(MMAKind::TF32, tf32, tf32, 128, 8).encode(), 0x0802'0910u);
  // f8f6f4: E4M3 0, E5M2 1, E2M3 3, E3M2 4, E2M1 5, for A times 0x80 and for B
  // times 0x400.
  auto f8f6f4 = [&](Type a, Type b) {
    return product(MMAKind::F8F6F4, a, b, 128, 8).encode();
  };
  EXPECT_EQ(f8f6f4(e4m3, e5m2), 0x0802'0410u);
  EXPECT_EQ(f8f6f4(e5m2, e4m3), 0x0802'0090u);
  EXPECT_EQ(f8f6f4(e2m3, e3m2), 0x0802'1190u);
  EXPECT_EQ(f8f6f4(e3m2, e2m3), 0x0802'0E10u);
  EXPECT_EQ(f8f6f4(e2m1, e2m1), 0x0802'1690u);
  // i8: D s32 2 << 4; unsigned 0, signed 1; saturation 1 << 3.
  InstructionFields integers = product(MMAKind::I8, s8, u8, 128, 8);
  integers.d = i32;
  EXPECT_EQ(integers.encode(), 0x0802'00A0u);
  integers.a = u8, integers.b = s8, integers.saturate = true;
  EXPECT_EQ(integers.encode(), 0x0802'0428u);
}

// Tables 43 and 44: the ids of the scales of B at 4 and of A at 29, E8M0 scales
// 1 << 23, M / 128 at 27: M 128 is 0x08000000. The type of D is not there.
TEST_F(TCGen05DescriptorsTest, InstructionsWithScales) {
  auto scaled = [&](MMAKind kind, Type a, Type b, int64_t m, int64_t n,
                    Type scale, uint32_t idA, uint32_t idB) {
    InstructionFields fields = product(kind, a, b, m, n);
    fields.scale = scale;
    fields.scaleIdA = idA;
    fields.scaleIdB = idB;
    return fields;
  };
  // mxf8f6f4 has the codes of f8f6f4: E2M1 5 << 7 = 0x280, E5M2 1 << 10.
  EXPECT_EQ(scaled(MMAKind::MXF8F6F4, e2m1, e5m2, 128, 8, e8m0, 0, 0).encode(),
            0x0882'0680u);
  // Each id by itself.
  EXPECT_EQ(scaled(MMAKind::MXF8F6F4, e4m3, e4m3, 128, 8, e8m0, 3, 0).encode(),
            0x6882'0000u);
  EXPECT_EQ(scaled(MMAKind::MXF8F6F4, e4m3, e4m3, 128, 8, e8m0, 0, 3).encode(),
            0x0882'0030u);
  // M 256 = 2 << 27; MN-major A and B 0x18000, negated A 0x2000.
  InstructionFields flags =
      scaled(MMAKind::MXF8F6F4, e5m2, e4m3, 256, 16, e8m0, 1, 1);
  flags.transposeA = flags.transposeB = flags.negateA = true;
  EXPECT_EQ(flags.encode(), 0x1000'0000u | 1u << 29 | 0x0080'0000 |
                                0x0004'0000 | 0x0001'8000 | 0x2000 | 0x80 |
                                0x10);
  // In mxf4 and mxf4nvf4 the code of E2M1 is 1: 0x480.
  EXPECT_EQ(scaled(MMAKind::MXF4, e2m1, e2m1, 128, 16, e8m0, 2, 0).encode(),
            0x4884'0480u);
  EXPECT_EQ(scaled(MMAKind::MXF4, e2m1, e2m1, 128, 16, e8m0, 0, 2).encode(),
            0x0884'04A0u);
  EXPECT_EQ(
      scaled(MMAKind::MXF4NVF4, e2m1, e2m1, 128, 256, e4m3, 0, 0).encode(),
      0x0840'0480u);
  EXPECT_EQ(scaled(MMAKind::MXF4NVF4, e2m1, e2m1, 256, 16, e8m0, 0, 0).encode(),
            0x1084'0480u);
  InstructionFields negated =
      scaled(MMAKind::MXF4NVF4, e2m1, e2m1, 128, 16, e4m3, 0, 0);
  negated.negateB = true;
  EXPECT_EQ(negated.encode(), 0x0804'4480u);
}

} // namespace
