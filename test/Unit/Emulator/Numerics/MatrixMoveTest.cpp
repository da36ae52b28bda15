//===- MatrixMoveTest.cpp - ldmatrix, stmatrix, movmatrix -----------------===//

#include "kvq/Emulator/Numerics/MatrixMove.h"
#include "gtest/gtest.h"
#include <random>
#include <vector>

using namespace kvq::emu::num;

namespace {

std::vector<uint8_t> randomRows(unsigned rows, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<uint8_t> out(rows * 16);
  for (uint8_t &b : out)
    b = rng();
  return out;
}

uint16_t half(const std::vector<uint8_t> &rows, unsigned row, unsigned col) {
  return rows[row * 16 + 2 * col] | rows[row * 16 + 2 * col + 1] << 8;
}

MatrixMoveSpec spec(MatrixShape shape, unsigned num, bool trans,
                    MatrixSource source = MatrixSource::Plain) {
  MatrixMoveSpec s;
  s.shape = shape;
  s.num = num;
  s.trans = trans;
  s.source = source;
  return s;
}

TEST(MatrixMove, Load8x8) {
  for (unsigned num : {1u, 2u, 4u})
    for (bool trans : {false, true}) {
      MatrixMoveSpec s = spec(MatrixShape::M8N8, num, trans);
      ASSERT_FALSE(bool(checkLdMatrix(s)));
      ASSERT_EQ(matrixRows(s), 8 * num);
      ASSERT_EQ(matrixRegisters(s), num);
      auto rows = randomRows(8 * num, num);
      std::vector<uint32_t> regs(32 * num);
      loadMatrix(s, rows.data(), regs.data());
      for (unsigned t = 0; t != 32; ++t)
        for (unsigned m = 0; m != num; ++m)
          for (unsigned e = 0; e != 2; ++e) {
            // Thread t has row t / 4, columns 2 (t % 4) and the next.
            unsigned r = t / 4, c = 2 * (t % 4) + e;
            uint16_t want =
                trans ? half(rows, 8 * m + c, r) : half(rows, 8 * m + r, c);
            EXPECT_EQ(uint16_t(regs[t * num + m] >> (16 * e)), want);
          }
    }
}

TEST(MatrixMove, StoreInvertsLoad) {
  for (unsigned num : {1u, 2u, 4u})
    for (bool trans : {false, true}) {
      MatrixMoveSpec s = spec(MatrixShape::M8N8, num, trans);
      ASSERT_FALSE(bool(checkStMatrix(s)));
      auto rows = randomRows(8 * num, 5 + num);
      std::vector<uint32_t> regs(32 * num);
      std::vector<uint8_t> back(rows.size());
      loadMatrix(s, rows.data(), regs.data());
      storeMatrix(s, regs.data(), back.data());
      EXPECT_EQ(rows, back);
    }
}

TEST(MatrixMove, TransposeIsTransposedLoad) {
  auto rows = randomRows(8, 9);
  uint32_t plain[32], transposed[32], moved[32];
  loadMatrix(spec(MatrixShape::M8N8, 1, false), rows.data(), plain);
  loadMatrix(spec(MatrixShape::M8N8, 1, true), rows.data(), transposed);
  transposeMatrix(plain, moved);
  for (unsigned t = 0; t != 32; ++t)
    EXPECT_EQ(moved[t], transposed[t]);
  transposeMatrix(plain, plain); // In place.
  for (unsigned t = 0; t != 32; ++t)
    EXPECT_EQ(plain[t], transposed[t]);
}

/// Element i of a packed row, taken from the row as one long integer.
unsigned packed(const uint8_t *row, unsigned width, unsigned i) {
  unsigned v = 0;
  for (unsigned b = 0; b != width; ++b) {
    unsigned at = i * width + b;
    v |= unsigned(row[at / 8] >> (at % 8) & 1) << b;
  }
  return v;
}

TEST(MatrixMove, Load8x16Unpacks) {
  for (auto [source, width] : {std::pair(MatrixSource::B4x16P64, 4u),
                               std::pair(MatrixSource::B6x16P32, 6u)})
    for (unsigned num : {1u, 2u, 4u}) {
      MatrixMoveSpec s = spec(MatrixShape::M8N16, num, false, source);
      ASSERT_FALSE(bool(checkLdMatrix(s)));
      auto rows = randomRows(8 * num, 3);
      std::vector<uint32_t> regs(32 * num);
      loadMatrix(s, rows.data(), regs.data());
      // Padding does not reach the result.
      auto dirty = rows;
      for (unsigned r = 0; r != 8 * num; ++r)
        for (unsigned b = 2 * width; b != 16; ++b)
          dirty[16 * r + b] ^= 0xff;
      std::vector<uint32_t> again(32 * num);
      loadMatrix(s, dirty.data(), again.data());
      EXPECT_EQ(regs, again);
      for (unsigned t = 0; t != 32; ++t)
        for (unsigned m = 0; m != num; ++m)
          for (unsigned j = 0; j != 4; ++j)
            EXPECT_EQ(
                regs[t * num + m] >> (8 * j) & 0xff,
                packed(&rows[16 * (8 * m + t / 4)], width, 4 * (t % 4) + j));
    }
}

/// Lane L supplies row L; register 0 holds column L / 4 of rows 4 (L % 4) to
/// + 3, register 1 column L / 4 + 8 (as measured on sm_120a).
TEST(MatrixMove, Load16x16) {
  for (unsigned num : {1u, 2u}) {
    MatrixMoveSpec s = spec(MatrixShape::M16N16, num, true);
    ASSERT_FALSE(bool(checkLdMatrix(s)));
    ASSERT_EQ(matrixRows(s), 16 * num);
    ASSERT_EQ(matrixRegisters(s), 2 * num);
    auto rows = randomRows(16 * num, 21);
    std::vector<uint32_t> regs(32 * 2 * num);
    loadMatrix(s, rows.data(), regs.data());
    for (unsigned t = 0; t != 32; ++t)
      for (unsigned m = 0; m != num; ++m)
        for (unsigned h = 0; h != 2; ++h)
          for (unsigned j = 0; j != 4; ++j)
            EXPECT_EQ(regs[t * 2 * num + 2 * m + h] >> (8 * j) & 0xff,
                      rows[16 * (16 * m + 4 * (t % 4) + j) + t / 4 + 8 * h]);
  }
}

/// Register bytes are (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1) of a 16x8
/// matrix that goes to memory column by column.
TEST(MatrixMove, Store16x8) {
  for (unsigned num : {1u, 2u, 4u}) {
    MatrixMoveSpec s = spec(MatrixShape::M16N8, num, true);
    ASSERT_FALSE(bool(checkStMatrix(s)));
    std::mt19937 rng(num);
    std::vector<uint32_t> regs(32 * num);
    for (uint32_t &r : regs)
      r = rng();
    std::vector<uint8_t> rows(matrixRows(s) * 16);
    storeMatrix(s, regs.data(), rows.data());
    for (unsigned m = 0; m != num; ++m)
      for (unsigned row = 0; row != 16; ++row)
        for (unsigned col = 0; col != 8; ++col) {
          unsigned t = 4 * (row % 8) + col / 2, byte = col % 2 + 2 * (row / 8);
          EXPECT_EQ(rows[16 * (8 * m + col) + row],
                    regs[t * num + m] >> (8 * byte) & 0xff);
        }
  }
}

TEST(MatrixMove, IllegalForms) {
  auto rejected = [](llvm::Error e, const char *part) {
    std::string text = llvm::toString(std::move(e));
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  rejected(checkLdMatrix(spec(MatrixShape::M8N8, 3, false)), ".x1, .x2 or .x4");
  rejected(checkLdMatrix(spec(MatrixShape::M16N16, 4, true)), ".x1 or .x2");
  rejected(checkLdMatrix(spec(MatrixShape::M16N16, 1, false)), ".trans");
  rejected(checkLdMatrix(spec(MatrixShape::M8N16, 1, false)), "b4x16_p64");
  rejected(checkLdMatrix(spec(MatrixShape::M16N8, 1, true)), "stmatrix");
  rejected(checkStMatrix(spec(MatrixShape::M16N8, 1, false)), ".trans");
  rejected(checkStMatrix(spec(MatrixShape::M16N16, 1, true)), "m8n8 or m16n8");
}

} // namespace
