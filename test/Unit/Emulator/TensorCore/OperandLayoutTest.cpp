//===- OperandLayoutTest.cpp - Canonical layouts in shared memory ---------===//
//
// The layouts that the PTX document works out as examples, written as it writes
// them, (shape):(stride) in elements; and matrices stored by byte formulas and
// read back.
//
//===----------------------------------------------------------------------===//

#include "kvq/Emulator/TensorCore/OperandLayout.h"
#include "gtest/gtest.h"
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <vector>

using namespace kvq::emu;
using namespace kvq::emu::tc;

namespace {

MatrixDescriptor matrix(uint32_t start, uint32_t leading, uint32_t stride,
                        Swizzle swizzle) {
  MatrixDescriptor m;
  m.start = start;
  m.leading = leading;
  m.stride = stride;
  m.swizzle = swizzle;
  return m;
}

/// Swizzle<bits, 4, 3> as CuTe defines it, on byte addresses.
uint32_t cute(unsigned bits, uint32_t address) {
  uint32_t mask = ((1u << bits) - 1) << 7;
  return address ^ ((address & mask) >> 3);
}

TEST(OperandLayout, ExamplesOfTheDocument) {
  // K-major, no swizzle, tf32: ((8,2),(4,4)):((4,32),(1,64)), LBO = 64
  // elements, SBO = 32 elements.
  MatrixDescriptor m = matrix(0x400, 64 * 4, 32 * 4, Swizzle::None);
  for (unsigned r = 0; r != 16; ++r)
    for (unsigned k = 0; k != 16; k += 4)
      EXPECT_EQ(chunkAddress(m, false, r, k / 4),
                0x400 + 4 * (r % 8 * 4 + r / 8 * 32 + k / 4 * 64));
  // K-major, 32B swizzle, tf32: ((8,2),(4,2)):((8,64),(1,4)).
  m = matrix(0x400, 0, 64 * 4, Swizzle::B32);
  for (unsigned r = 0; r != 16; ++r)
    for (unsigned k = 0; k != 8; k += 4)
      EXPECT_EQ(chunkAddress(m, false, r, k / 4),
                cute(1, 0x400 + 4 * (r % 8 * 8 + r / 8 * 64 + k / 4 * 4)));
  // MN-major, no swizzle, bf16: ((8,1,2),(8,2)):((1,8,64),(8,128)).
  m = matrix(0x800, 128 * 2, 64 * 2, Swizzle::None);
  for (unsigned mn = 0; mn != 16; mn += 8)
    for (unsigned k = 0; k != 16; ++k)
      EXPECT_EQ(chunkAddress(m, true, k, mn / 8),
                0x800 + 2 * (mn / 8 * 64 + k % 8 * 8 + k / 8 * 128));
  // MN-major, 32B, bf16: ((8,2,2),(8,2)):((1,8,128),(16,256)).
  m = matrix(0x800, 128 * 2, 256 * 2, Swizzle::B32);
  for (unsigned mn = 0; mn != 32; mn += 8)
    for (unsigned k = 0; k != 16; ++k)
      EXPECT_EQ(chunkAddress(m, true, k, mn / 8),
                cute(1, 0x800 + 2 * (mn / 8 % 2 * 8 + mn / 16 * 128 +
                                     k % 8 * 16 + k / 8 * 256)));
  // MN-major, 64B, bf16: ((8,4,2),(8,2)):((1,8,256),(32,512)).
  m = matrix(0x800, 256 * 2, 512 * 2, Swizzle::B64);
  for (unsigned mn = 0; mn != 64; mn += 8)
    for (unsigned k = 0; k != 16; ++k)
      EXPECT_EQ(chunkAddress(m, true, k, mn / 8),
                cute(2, 0x800 + 2 * (mn / 8 % 4 * 8 + mn / 32 * 256 +
                                     k % 8 * 32 + k / 8 * 512)));
}

/// Rows of 128 bytes as a TMA with the 128-byte swizzle writes them: 16-byte
/// column c of row r is at column c ^ (r % 8). K steps of 32 bytes move the
/// start address inside the pattern.
TEST(OperandLayout, StepsInsideTheSwizzlePattern) {
  for (unsigned step = 0; step != 4; ++step) {
    MatrixDescriptor m = matrix(0x2000 + 32 * step, 16, 1024, Swizzle::B128);
    for (unsigned r = 0; r != 128; ++r)
      for (unsigned c = 0; c != 2; ++c)
        EXPECT_EQ(chunkAddress(m, false, r, c),
                  0x2000 + 128 * r + 16 * ((2 * step + c) ^ (r % 8)));
  }
}

TEST(OperandLayout, MnMajor128) {
  // 64 bf16 along M per pattern; LBO to the next 64, SBO to the next 8 k.
  MatrixDescriptor m = matrix(0, 0x4000, 0x400, Swizzle::B128);
  for (unsigned k = 0; k != 16; ++k)
    for (unsigned c = 0; c != 16; ++c)
      EXPECT_EQ(chunkAddress(m, true, k, c), c / 8 * 0x4000 + k / 8 * 0x400 +
                                                 k % 8 * 128 +
                                                 16 * ((c % 8) ^ (k % 8)));
}

/// tf32, MN-major: an atom is 32 bytes, four k lines of 128 bytes repeat.
TEST(OperandLayout, MnMajorAtom32) {
  MatrixDescriptor m = matrix(0, 0x1000, 0x200, Swizzle::B128Atom32);
  for (unsigned k = 0; k != 8; ++k)
    for (unsigned c = 0; c != 16; ++c)
      EXPECT_EQ(chunkAddress(m, true, k, c),
                c / 8 * 0x1000 + k / 4 * 0x200 + k % 4 * 128 +
                    32 * ((c % 8 / 2) ^ (k % 4)) + 16 * (c % 2));
}

TEST(OperandLayout, ChunksAreDistinct) {
  for (Swizzle s : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    unsigned width = s == Swizzle::None  ? 16
                     : s == Swizzle::B32 ? 32
                     : s == Swizzle::B64 ? 64
                                         : 128;
    MatrixDescriptor m = matrix(0, 8 * width * 16, 8 * width, s);
    std::set<uint32_t> seen;
    for (unsigned r = 0; r != 128; ++r)
      for (unsigned c = 0; c != 2; ++c)
        seen.insert(chunkAddress(m, false, r, c));
    EXPECT_EQ(seen.size(), 256u);
    for (uint32_t a : seen)
      EXPECT_EQ(a % 16, 0u);
  }
}

/// Stores elements at byte addresses, then reads the operand back.
void roundTrip(MatrixDescriptor m, bool mnMajor, ElementPacking packing,
               unsigned rows, unsigned k,
               std::function<uint64_t(unsigned r, unsigned k)> bitAddress,
               unsigned bits, std::function<double(unsigned code)> value) {
  std::vector<uint8_t> memory(1 << 17);
  std::mt19937 rng(k + rows);
  for (uint8_t &b : memory)
    b = rng(); // Padding holds garbage.
  std::vector<double> want(rows * k), got(rows * k, -12345);
  for (unsigned r = 0; r != rows; ++r)
    for (unsigned j = 0; j != k; ++j) {
      unsigned code;
      do
        code = rng() & ((1u << bits) - 1);
      while (value(code) != value(code));
      want[r * k + j] = value(code);
      for (unsigned b = 0; b != bits; ++b) {
        uint64_t at = bitAddress(r, j) + b;
        uint8_t &byte = memory[at / 8];
        byte = (byte & ~(1 << at % 8)) | (code >> b & 1) << at % 8;
      }
    }
  auto read = [&](uint32_t a) { return &memory[a]; };
  EXPECT_TRUE(
      readOperand(m, mnMajor, packing, rows, k, read, got.data(), k, 1));
  EXPECT_EQ(want, got);
  // Transposed output.
  std::vector<double> other(rows * k);
  EXPECT_TRUE(
      readOperand(m, mnMajor, packing, rows, k, read, other.data(), 1, rows));
  for (unsigned r = 0; r != rows; ++r)
    for (unsigned j = 0; j != k; ++j)
      ASSERT_EQ(other[j * rows + r], want[r * k + j]);
  unsigned calls = 0;
  EXPECT_FALSE(readOperand(
      m, mnMajor, packing, rows, k,
      [&](uint32_t a) { return ++calls == 3 ? nullptr : &memory[a]; },
      other.data(), 1, rows));
  EXPECT_EQ(calls, 3u);
}

TEST(OperandLayout, ReadsEveryPacking) {
  auto f16 = [](unsigned c) { return num::toDouble(num::Format::F16, c); };
  auto fmt = [](num::Format f) {
    return [f](unsigned c) { return num::toDouble(f, c); };
  };
  // f16, K-major, 128-byte swizzle: 128-byte rows.
  roundTrip(
      matrix(0x1000, 0, 1024, Swizzle::B128), false, {MmaType::F16, false}, 128,
      16,
      [](unsigned r, unsigned k) {
        uint32_t lin = 0x1000 + r * 128 + k * 2;
        return 8 * uint64_t(lin ^ (lin >> 7 & 7) << 4);
      },
      16, f16);
  // bf16, MN-major, 128-byte swizzle.
  roundTrip(
      matrix(0x1000, 0x4000, 0x400, Swizzle::B128), true,
      {MmaType::BF16, false}, 128, 16,
      [](unsigned r, unsigned k) {
        uint32_t mb = 2 * r;
        uint32_t lin =
            0x1000 + mb % 128 + mb / 128 * 0x4000 + k % 8 * 128 + k / 8 * 0x400;
        return 8 * uint64_t(lin ^ (lin >> 7 & 7) << 4);
      },
      16, fmt(num::Format::BF16));
  // e4m3, K-major, no swizzle; 24 rows.
  roundTrip(
      matrix(0x100, 0x800, 128, Swizzle::None), false, {MmaType::E4M3, false},
      24, 32,
      [](unsigned r, unsigned k) {
        return 8 * uint64_t(0x100 + r % 8 * 16 + r / 8 * 128 + k / 16 * 0x800 +
                            k % 16);
      },
      8, fmt(num::Format::E4M3));
  // s8, MN-major, 64-byte swizzle.
  roundTrip(
      matrix(0x2000, 0x1000, 0x200, Swizzle::B64), true, {MmaType::S8, false},
      128, 32,
      [](unsigned r, unsigned k) {
        uint32_t lin =
            0x2000 + r % 64 + r / 64 * 0x1000 + k % 8 * 64 + k / 8 * 0x200;
        return 8 * uint64_t(lin ^ (lin >> 7 & 3) << 4);
      },
      8, [](unsigned c) { return double(int8_t(c)); });
  // e2m1 two to a byte, element 0 in the low nibble, 64 of them in 32 bytes.
  roundTrip(
      matrix(0x1000, 0, 512, Swizzle::B64), false,
      sharedPacking(MmaKind::MXF4NVF4, MmaType::E2M1), 128, 64,
      [](unsigned r, unsigned k) {
        uint32_t lin = 0x1000 + r * 64 + k / 2;
        return 8 * uint64_t(lin ^ (lin >> 7 & 3) << 4) + 4 * (k % 2);
      },
      4, fmt(num::Format::E2M1));
  // e2m1 padded: 16 elements in 8 of 16 bytes.
  roundTrip(
      matrix(0x1000, 0, 1024, Swizzle::B128), false,
      sharedPacking(MmaKind::F8F6F4, MmaType::E2M1), 64, 32,
      [](unsigned r, unsigned k) {
        uint32_t lin = 0x1000 + r * 128 + k / 16 * 16 + k % 16 / 2;
        return 8 * uint64_t(lin ^ (lin >> 7 & 7) << 4) + 4 * (k % 2);
      },
      4, fmt(num::Format::E2M1));
  // e3m2 padded: 16 elements in 12 of 16 bytes.
  roundTrip(
      matrix(0x1000, 0, 256, Swizzle::B32), false,
      sharedPacking(MmaKind::MXF8F6F4, MmaType::E3M2), 64, 32,
      [](unsigned r, unsigned k) {
        uint32_t lin = 0x1000 + r * 32 + k / 16 * 16;
        return 8 * uint64_t(lin ^ (lin >> 7 & 1) << 4) + 6 * (k % 16);
      },
      6, fmt(num::Format::E3M2));
}

TEST(OperandLayout, TF32IgnoresLowBits) {
  std::vector<uint8_t> memory(4096);
  uint32_t word = 0x3f801fff;
  std::memcpy(&memory[0], &word, 4);
  double out[8];
  EXPECT_TRUE(readOperand(
      matrix(0, 16, 128, Swizzle::None), false, {MmaType::TF32, false}, 1, 8,
      [&](uint32_t a) { return &memory[a]; }, out, 8, 1));
  EXPECT_EQ(out[0], 1.0);
}

TEST(OperandLayout, IllegalCombinations) {
  InstructionDescriptor i;
  i.kind = MmaKind::TF32;
  i.transposeA = true;
  auto fails = [&](Swizzle s, bool isA) {
    llvm::Error e = checkOperand(i, matrix(0, 0, 0, s), isA);
    bool failed = bool(e);
    llvm::consumeError(std::move(e));
    return failed;
  };
  EXPECT_TRUE(fails(Swizzle::B128, true));
  EXPECT_FALSE(fails(Swizzle::B128Atom32, true));
  EXPECT_FALSE(fails(Swizzle::B128, false));
  EXPECT_TRUE(fails(Swizzle::B128Atom32, false));
  i.kind = MmaKind::F16;
  EXPECT_TRUE(fails(Swizzle::B128Atom32, true));
  EXPECT_FALSE(fails(Swizzle::None, true));
}

} // namespace
