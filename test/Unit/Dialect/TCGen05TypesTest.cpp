//===- TCGen05TypesTest.cpp - Layouts that types of kvq_tcgen05 give ------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Types.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace kvq::tcgen05;

namespace {

class TCGen05TypesTest : public ::testing::Test {
protected:
  TCGen05TypesTest() { context.loadDialect<TCGen05Dialect>(); }

  TileType tile(int64_t rows, int64_t columns, Type element, Major major,
                Swizzle swizzle, bool padded = false, int64_t leading = 0,
                int64_t stride = 0) {
    return TileType::get(
        &context, rows, columns, element,
        LayoutAttr::get(&context, major, swizzle, padded, leading, stride));
  }

  MLIRContext context;
  Type f16 = Float16Type::get(&context);
  Type e4m3 = Float8E4M3FNType::get(&context);
  Type e2m1 = Float4E2M1FNType::get(&context);
  Type tf32 = FloatTF32Type::get(&context);
};

/// The offsets of whole bytes of a tile.
std::multiset<int64_t> offsets(TileType type) {
  std::multiset<int64_t> result;
  int64_t step = type.getContainerBits() < 8 ? 8 / type.getContainerBits() : 1;
  for (int64_t row = 0; row < type.getRows(); ++row)
    for (int64_t column = 0; column < type.getColumns(); column += step)
      result.insert(type.getByteOffset(row, column));
  return result;
}

// With default strides a tile has no gaps, and no element twice.
TEST_F(TCGen05TypesTest, DefaultsAreCompact) {
  SmallVector<TileType> types;
  for (auto swizzle :
       {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (int64_t rows : {8, 24, 128})
      for (int64_t columns : {64, 128, 256}) {
        types.push_back(tile(rows, columns, f16, Major::K, swizzle));
        types.push_back(tile(rows, 2 * columns, e4m3, Major::K, swizzle));
        types.push_back(tile(rows, 4 * columns, e2m1, Major::K, swizzle));
        types.push_back(tile(rows, 2 * columns, e2m1, Major::K, swizzle, true));
      }
  for (auto swizzle :
       {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (int64_t rows : {128, 256})
      for (int64_t columns : {8, 24, 64})
        for (Type element : {f16, e4m3})
          types.push_back(tile(rows, columns, element, Major::MN, swizzle));
  types.push_back(tile(128, 24, tf32, Major::MN, Swizzle::B128Atom32));
  for (TileType type : types) {
    int64_t bytes =
        type.getRows() * type.getColumns() * type.getContainerBits() / 8;
    EXPECT_EQ(type.getSizeInBytes(), bytes);
    std::multiset<int64_t> all = offsets(type);
    std::set<int64_t> distinct(all.begin(), all.end());
    EXPECT_EQ(all.size(), distinct.size());
    EXPECT_EQ(*all.begin(), 0);
    EXPECT_LT(*all.rbegin(), bytes);
  }
}

// Values of the tables in the documentation of the layout.
TEST_F(TCGen05TypesTest, ByteOffsets) {
  // Row 13, byte 70 (f16 35) of 128 bytes: 5*64 + 1*512 + 1*panel + 6.
  TileType panels = tile(16, 64, f16, Major::K, Swizzle::B64);
  EXPECT_EQ(panels.getByteOffset(13, 35), 5 * 64 + 512 + 2 * 512 + 6);
  // Row 13, byte 70: 5*16 + 1*128 + 4*(2*128) + 6.
  TileType cores = tile(16, 64, f16, Major::K, Swizzle::None);
  EXPECT_EQ(cores.getByteOffset(13, 35), 5 * 16 + 128 + 4 * 256 + 6);
  // P of the decode kernel: n = 13 (byte 26), k = 21:
  // 26%16 + 1*2048 + (21%8)*16 + (21/8)*128.
  TileType p = tile(32, 128, f16, Major::MN, Swizzle::None, false, 128, 2048);
  EXPECT_EQ(p.getByteOffset(13, 21), 10 + 2048 + 5 * 16 + 2 * 128);
  EXPECT_EQ(p.getSizeInBytes(), 4 * 2048);
  // MN-major of 128 rows, swizzle 128B: row 70 is byte 140, k = 21:
  // 140%128 + 1*(32/8*1024) + 5*128 + 2*1024.
  TileType mn = tile(128, 32, f16, Major::MN, Swizzle::B128);
  EXPECT_EQ(mn.getByteOffset(70, 21), 12 + 4096 + 5 * 128 + 2 * 1024);
  // Atoms of 32 bytes have four lines along K.
  TileType atoms = tile(32, 8, tf32, Major::MN, Swizzle::B128Atom32);
  EXPECT_EQ(atoms.getByteOffset(3, 6), 12 + 2 * 128 + 512);
}

TEST_F(TCGen05TypesTest, ScaleTiles) {
  auto type = ScaleTileType::get(&context, 256, 8, e4m3);
  EXPECT_EQ(type.getSizeInBytes(), 2048);
  std::set<int64_t> all;
  for (int64_t row = 0; row < 256; ++row)
    for (int64_t column = 0; column < 8; ++column)
      all.insert(type.getByteOffset(row, column));
  EXPECT_EQ(all.size(), 2048u);
  EXPECT_EQ(*all.rbegin(), 2047);
  // Row 128 + 70 = 128 + 2*32 + 6, scale 5: third block of rows, second of K.
  EXPECT_EQ(type.getByteOffset(198, 5), (2 + 1) * 512 + 6 * 16 + 2 * 4 + 1);
}

TEST_F(TCGen05TypesTest, Lanes) {
  Type f32 = Float32Type::get(&context);
  using Lanes = std::array<uint32_t, 4>;
  EXPECT_EQ(TMemType::get(&context, 128, 16, f32).getLanes(),
            (Lanes{~0u, ~0u, ~0u, ~0u}));
  auto scattered = TMemType::get(&context, 64, 16, f32, Packing::Dense,
                                 Placement::Scattered, 16);
  EXPECT_EQ(scattered.getLanes(),
            (Lanes{0xffff0000, 0xffff0000, 0xffff0000, 0xffff0000}));
  auto window = TMemType::get(&context, 64, 16, f32, Packing::Dense,
                              Placement::Straight, 32);
  EXPECT_EQ(window.getLanes(), (Lanes{0, ~0u, ~0u, 0}));
  auto folded = TMemType::get(&context, 32, 128, f32, Packing::Dense,
                              Placement::Folded, 0);
  EXPECT_EQ(folded.getNumWords(), 32);
  EXPECT_EQ(folded.getLanes(), (Lanes{~0u, ~0u, ~0u, ~0u}));
}

} // namespace
