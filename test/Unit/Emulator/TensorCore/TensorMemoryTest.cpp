//===- TensorMemoryTest.cpp - Data paths of tensor memory -----------------===//

#include "kvq/Emulator/TensorCore/TensorMemory.h"
#include "gtest/gtest.h"
#include <set>

using namespace kvq::emu;
using namespace kvq::emu::tc;

namespace {

constexpr TmemShape shapes[] = {TmemShape::S32x32b, TmemShape::S16x64b,
                                TmemShape::S16x128b, TmemShape::S16x256b,
                                TmemShape::S16x32bx2};

/// Bits that one step of .num covers in a lane.
unsigned bitsPerLane(TmemShape s) {
  switch (s) {
  case TmemShape::S32x32b:
    return 32;
  case TmemShape::S16x64b:
    return 64;
  case TmemShape::S16x128b:
    return 128;
  case TmemShape::S16x256b:
    return 256;
  case TmemShape::S16x32bx2:
    return 32;
  }
  return 0;
}

/// Every register of every thread is one cell of the shape's rectangle.
TEST(TensorMemory, LoadsCoverTheirRectangle) {
  for (TmemShape s : shapes)
    for (unsigned num = 1; num <= 128; num *= 2) {
      unsigned regs = tmemRegisters(s, num);
      llvm::Error e = checkTmemAccess(s, num);
      bool illegal = bool(e);
      llvm::consumeError(std::move(e));
      EXPECT_EQ(illegal, regs > 128);
      if (illegal)
        continue;
      unsigned split = 200;
      std::set<std::pair<unsigned, unsigned>> seen;
      for (unsigned t = 0; t != 32; ++t)
        for (unsigned r = 0; r != regs; ++r) {
          TmemCell c = tmemCell(s, t, r, split);
          EXPECT_LT(c.lane, tmemLanesOf(s));
          unsigned column = c.column;
          if (s == TmemShape::S16x32bx2 && column >= split)
            column -= split - num;
          EXPECT_LT(column, s == TmemShape::S16x32bx2
                                ? 2 * num
                                : num * bitsPerLane(s) / 32);
          seen.insert({c.lane, c.column});
        }
      EXPECT_EQ(seen.size(), 32u * regs);
    }
  for (unsigned num : {0u, 3u, 256u})
    EXPECT_NE(llvm::toString(checkTmemAccess(TmemShape::S32x32b, num)), "");
}

TEST(TensorMemory, LoadMapsByHand) {
  auto at = [](TmemShape s, unsigned t, unsigned r, unsigned split = 0) {
    TmemCell c = tmemCell(s, t, r, split);
    return std::pair<unsigned, unsigned>(c.lane, c.column);
  };
  using P = std::pair<unsigned, unsigned>;
  EXPECT_EQ(at(TmemShape::S32x32b, 13, 5), P(13, 5));
  // A quad holds two lanes eight apart and two columns.
  EXPECT_EQ(at(TmemShape::S16x64b, 0, 0), P(0, 0));
  EXPECT_EQ(at(TmemShape::S16x64b, 1, 0), P(8, 0));
  EXPECT_EQ(at(TmemShape::S16x64b, 2, 0), P(0, 1));
  EXPECT_EQ(at(TmemShape::S16x64b, 7, 3), P(9, 7));
  EXPECT_EQ(at(TmemShape::S16x128b, 6, 0), P(1, 2));
  EXPECT_EQ(at(TmemShape::S16x128b, 6, 1), P(9, 2));
  EXPECT_EQ(at(TmemShape::S16x128b, 31, 3), P(15, 7));
  // The accumulator fragment of mma.sync.
  for (unsigned t = 0; t != 32; ++t)
    for (unsigned i = 0; i != 4; ++i)
      EXPECT_EQ(at(TmemShape::S16x256b, t, i),
                P(t / 4 + (i < 2 ? 0 : 8), t % 4 * 2 + i % 2));
  EXPECT_EQ(at(TmemShape::S16x256b, 5, 4), P(1, 10));
  EXPECT_EQ(at(TmemShape::S16x32bx2, 3, 2, 16), P(3, 2));
  EXPECT_EQ(at(TmemShape::S16x32bx2, 19, 2, 16), P(3, 18));
  TmemCell even = packedCell({7, 5}, 0), odd = packedCell({7, 5}, 1);
  EXPECT_EQ(even.column, 10);
  EXPECT_EQ(odd.column, 11);
  EXPECT_EQ(odd.lane, 7);
  EXPECT_EQ(cellAt(0x00200040), (TmemCell{32, 64}));
}

TEST(TensorMemory, AccumulatorsAreDistinctCells) {
  struct {
    DataPath path;
    unsigned m, n, ctas, lanes, columns;
  } cases[] = {
      {DataPath::A, 256, 64, 2, 128, 64}, {DataPath::B, 128, 64, 2, 128, 32},
      {DataPath::D, 128, 48, 1, 128, 48}, {DataPath::E, 64, 128, 1, 128, 64},
      {DataPath::F, 64, 24, 1, 128, 24},  {DataPath::G, 32, 64, 1, 128, 16}};
  for (auto &c : cases) {
    std::set<std::tuple<unsigned, unsigned, unsigned>> seen;
    for (unsigned m = 0; m != c.m; ++m)
      for (unsigned n = 0; n != c.n; ++n) {
        AccumulatorCell a = accumulatorCell(c.path, m, n, c.n);
        EXPECT_LT(a.cta, c.ctas);
        EXPECT_LT(a.cell.lane, c.lanes);
        EXPECT_LT(a.cell.column, c.columns);
        seen.insert({a.cta, a.cell.lane, a.cell.column});
      }
    EXPECT_EQ(seen.size(), c.m * c.n);
  }
}

TEST(TensorMemory, AccumulatorsByHand) {
  auto at = [](DataPath p, unsigned m, unsigned n, unsigned N) {
    AccumulatorCell a = accumulatorCell(p, m, n, N);
    return std::tuple<unsigned, unsigned, unsigned>(a.cta, a.cell.lane,
                                                    a.cell.column);
  };
  using T = std::tuple<unsigned, unsigned, unsigned>;
  EXPECT_EQ(at(DataPath::A, 130, 7, 64), T(1, 2, 7));
  EXPECT_EQ(at(DataPath::B, 70, 40, 64), T(1, 70, 8));
  EXPECT_EQ(at(DataPath::B, 5, 31, 64), T(0, 5, 31));
  EXPECT_EQ(at(DataPath::D, 127, 3, 16), T(0, 127, 3));
  EXPECT_EQ(at(DataPath::E, 10, 64, 128), T(0, 74, 0));
  EXPECT_EQ(at(DataPath::F, 17, 5, 24), T(0, 33, 5));
  EXPECT_EQ(at(DataPath::F, 63, 5, 24), T(0, 111, 5));
  EXPECT_EQ(at(DataPath::G, 31, 33, 64), T(0, 95, 1));
}

TEST(TensorMemory, DataPaths) {
  InstructionDescriptor i;
  auto path = [&](unsigned m, unsigned group, bool ws) {
    i.m = m;
    return dataPathOf(i, group, ws);
  };
  EXPECT_EQ(path(256, 2, false), DataPath::A);
  EXPECT_EQ(path(128, 2, false), DataPath::B);
  EXPECT_EQ(path(128, 1, false), DataPath::D);
  EXPECT_EQ(path(128, 1, true), DataPath::D);
  EXPECT_EQ(path(64, 1, true), DataPath::E);
  EXPECT_EQ(path(64, 1, false), DataPath::F);
  EXPECT_EQ(path(32, 1, true), DataPath::G);
}

TEST(TensorMemory, OperandA) {
  OperandCell c = operandCell(DataPath::D, 100, 5, 16);
  EXPECT_EQ(c.cell, (TmemCell{100, 2}));
  EXPECT_EQ(c.bit, 16);
  c = operandCell(DataPath::F, 20, 63, 4);
  EXPECT_EQ(c.cell, (TmemCell{36, 7}));
  EXPECT_EQ(c.bit, 28);
  c = operandCell(DataPath::A, 200, 31, 8);
  EXPECT_EQ(c.cta, 1);
  EXPECT_EQ(c.cell, (TmemCell{72, 7}));
  EXPECT_EQ(c.bit, 24);
  EXPECT_EQ(tmemElementBits(MmaKind::F8F6F4, MmaType::E2M1), 8u);
  EXPECT_EQ(tmemElementBits(MmaKind::MXF4, MmaType::E2M1), 4u);
  EXPECT_EQ(tmemElementBits(MmaKind::TF32, MmaType::TF32), 32u);
}

TEST(TensorMemory, CopyLanes) {
  auto lanes = [](CopyShape s, unsigned row) {
    auto v = copyLanes(s, row);
    return std::vector<unsigned>(v.begin(), v.end());
  };
  using V = std::vector<unsigned>;
  EXPECT_EQ(lanes(CopyShape::S128x256b, 77), V({77}));
  EXPECT_EQ(lanes(CopyShape::S4x256b, 3), V({96}));
  EXPECT_EQ(lanes(CopyShape::S64x128bWarpx2_02_13, 40), V({40, 104}));
  EXPECT_EQ(lanes(CopyShape::S64x128bWarpx2_01_23, 40), V({72, 104}));
  EXPECT_EQ(lanes(CopyShape::S32x128bWarpx4, 5), V({5, 37, 69, 101}));
  // Multicast copies reach all 128 lanes once.
  for (CopyShape s :
       {CopyShape::S128x256b, CopyShape::S128x128b,
        CopyShape::S64x128bWarpx2_02_13, CopyShape::S64x128bWarpx2_01_23,
        CopyShape::S32x128bWarpx4}) {
    std::multiset<unsigned> seen;
    for (unsigned r = 0; r != copyRows(s); ++r)
      for (unsigned lane : copyLanes(s, r))
        seen.insert(lane);
    EXPECT_EQ(seen.size(), 128u);
    EXPECT_EQ(std::set<unsigned>(seen.begin(), seen.end()).size(), 128u);
  }
  EXPECT_EQ(copyRows(CopyShape::S4x256b), 4u);
  EXPECT_EQ(copyColumns(CopyShape::S4x256b), 8u);
  EXPECT_EQ(copyColumns(CopyShape::S128x128b), 4u);
}

TEST(TensorMemory, CopyUnpacks) {
  uint8_t chunk[16];
  for (unsigned i = 0; i != 16; ++i)
    chunk[i] = uint8_t(0x10 * (2 * i + 1) + 2 * i % 16); // Nibbles 0, 1, 2, ...
  uint32_t out[4];
  unpackChunk(CopyUnpack::None, chunk, out);
  EXPECT_EQ(out[0], 0x76543210u);
  unpackChunk(CopyUnpack::B4x16P64, chunk, out);
  EXPECT_EQ(out[0], 0x0c080400u); // 3, 2, 1, 0 in bits [5:2].
  EXPECT_EQ(out[3], 0x3c383430u);
  uint8_t six[16] = {};
  // Elements 1, 2, 3, ... of six bits.
  for (unsigned i = 0; i != 16; ++i)
    for (unsigned b = 0; b != 6; ++b)
      six[(6 * i + b) / 8] |= ((3 * i + 1) >> b & 1) << (6 * i + b) % 8;
  six[12] = six[15] = 0xff; // Padding.
  unpackChunk(CopyUnpack::B6x16P32, six, out);
  EXPECT_EQ(out[0], 0x0a070401u);
  EXPECT_EQ(out[3], 0x2e2b2825u);
}

TEST(TensorMemory, ScaleFactors) {
  // Row 77 = 2 * 32 + 13.
  ScaleCell s = scaleCell(77, 3, 4, 0);
  EXPECT_EQ(s.cell, (TmemCell{13, 2}));
  EXPECT_EQ(s.byte, 3);
  s = scaleCell(77, 1, 2, 2);
  EXPECT_EQ(s.byte, 3);
  s = scaleCell(77, 0, 1, 3);
  EXPECT_EQ(s.byte, 3);
  s = scaleCell(255, 0, 4, 0);
  EXPECT_EQ(s.cell, (TmemCell{31, 7}));
  s = splitScaleCell(100, 128, 1, 4, 0);
  EXPECT_EQ(s.cell, (TmemCell{68, 1})); // 36 of the upper half.
  s = splitScaleCell(33, 128, 1, 4, 0);
  EXPECT_EQ(s.cell, (TmemCell{1, 1}));
}

/// A 512-byte block of scales in the order that tensor cores want, copied by
/// 32x128b.warpx4, puts scale j of row m where the instruction looks for it.
TEST(TensorMemory, ScaleBlocksArriveWhereTheyAreRead) {
  uint32_t tmem[128][4] = {};
  auto blockByte = [](unsigned i) { return uint8_t(i * 7 + i / 256); };
  for (unsigned row = 0; row != 32; ++row) {
    uint8_t chunk[16];
    for (unsigned i = 0; i != 16; ++i)
      chunk[i] = blockByte(16 * row + i);
    uint32_t columns[4];
    unpackChunk(CopyUnpack::None, chunk, columns);
    for (unsigned lane : copyLanes(CopyShape::S32x128bWarpx4, row))
      for (unsigned c = 0; c != 4; ++c)
        tmem[lane][c] = columns[c];
  }
  for (unsigned m = 0; m != 128; ++m)
    for (unsigned j = 0; j != 4; ++j) {
      ScaleCell s = scaleCell(m, j, 4, 0);
      for (unsigned part = 0; part != 4; ++part)
        EXPECT_EQ(tmem[s.cell.lane + 32 * part][s.cell.column] >> 8 * s.byte &
                      0xff,
                  blockByte(16 * (m % 32) + 4 * (m / 32 % 4) + j));
    }
}

} // namespace
