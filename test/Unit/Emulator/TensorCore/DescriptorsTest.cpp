//===- DescriptorsTest.cpp - Bit fields of descriptors --------------------===//

#include "kvq/Emulator/TensorCore/Descriptors.h"
#include "gtest/gtest.h"

using namespace kvq::emu;
using namespace kvq::emu::tc;

namespace {

InstructionDescriptor decoded(uint32_t bits, MmaKind kind, unsigned ctaGroup,
                              bool ws = false, unsigned vec = 0) {
  auto i = decodeInstruction(bits, kind, ctaGroup, ws, vec);
  if (!i) {
    ADD_FAILURE() << llvm::toString(i.takeError());
    return {};
  }
  return *i;
}

void rejected(uint32_t bits, MmaKind kind, const char *part,
              unsigned ctaGroup = 1, bool ws = false, unsigned vec = 0) {
  auto i = decodeInstruction(bits, kind, ctaGroup, ws, vec);
  if (i) {
    ADD_FAILURE() << "accepted; expected: " << part;
    return;
  }
  std::string text = llvm::toString(i.takeError());
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

constexpr uint32_t shape(unsigned m, unsigned n) {
  return (n >> 3) << 17 | (m >> 4) << 24;
}

TEST(Descriptors, Fp8Instruction) {
  // E4M3 x E4M3 -> F32, M = 128, N = 16.
  InstructionDescriptor i = decoded(0x08040010, MmaKind::F8F6F4, 1);
  EXPECT_EQ(i.a, MmaType::E4M3);
  EXPECT_EQ(i.b, MmaType::E4M3);
  EXPECT_EQ(i.d, MmaType::F32);
  EXPECT_EQ(i.m, 128);
  EXPECT_EQ(i.n, 16);
  EXPECT_EQ(i.k, 32);
  EXPECT_FALSE(i.transposeA || i.transposeB || i.negateA || i.negateB);
}

TEST(Descriptors, BlockScaledInstruction) {
  // mxf4nvf4 with ue4m3 scales, M = 128, N = 16.
  InstructionDescriptor i = decoded(0x08040480, MmaKind::MXF4NVF4, 1, false, 4);
  EXPECT_EQ(i.a, MmaType::E2M1);
  EXPECT_EQ(i.b, MmaType::E2M1);
  EXPECT_EQ(i.d, MmaType::F32);
  EXPECT_EQ(i.scaleFormat, num::Format::UE4M3);
  EXPECT_EQ(i.m, 128);
  EXPECT_EQ(i.n, 16);
  EXPECT_EQ(i.k, 64);
  EXPECT_EQ(i.sfaId + i.sfbId, 0);
  // ue8m0, ids 2 and 2, M = 256 by a pair.
  i = decoded(1 << 7 | 1 << 10 | 2 << 4 | 1 << 23 | 2u << 29 | 2 << 27 |
                  (64 >> 3) << 17,
              MmaKind::MXF4, 2, false, 2);
  EXPECT_EQ(i.m, 256);
  EXPECT_EQ(i.n, 64);
  EXPECT_EQ(i.sfaId, 2);
  EXPECT_EQ(i.sfbId, 2);
  EXPECT_EQ(i.scaleFormat, num::Format::UE8M0);
  i = decoded(5 << 7 | 3 << 10 | 3 << 4 | 1 << 23 | 1u << 29 | 1 << 27 |
                  1 << 17 | 1 << 13,
              MmaKind::MXF8F6F4, 1, false, 1);
  EXPECT_EQ(i.a, MmaType::E2M1);
  EXPECT_EQ(i.b, MmaType::E2M3);
  EXPECT_EQ(i.sfaId, 1);
  EXPECT_EQ(i.sfbId, 3);
  EXPECT_TRUE(i.negateA);
  EXPECT_EQ(i.n, 8);
}

TEST(Descriptors, OtherKinds) {
  InstructionDescriptor i =
      decoded(1 << 4 | 1 << 7 | 1 << 10 | 1 << 15 | 1 << 16 | shape(64, 24),
              MmaKind::F16, 1);
  EXPECT_EQ(i.a, MmaType::BF16);
  EXPECT_TRUE(i.transposeA && i.transposeB);
  EXPECT_EQ(i.m, 64);
  EXPECT_EQ(i.n, 24);
  EXPECT_EQ(i.k, 16);
  i = decoded(1 << 4 | 2 << 7 | 2 << 10 | shape(256, 256), MmaKind::TF32, 2);
  EXPECT_EQ(i.k, 8);
  EXPECT_EQ(i.m, 256);
  EXPECT_EQ(i.n, 256);
  i = decoded(2 << 4 | 1 << 3 | 1 << 7 | shape(128, 48), MmaKind::I8, 1);
  EXPECT_EQ(i.a, MmaType::S8);
  EXPECT_EQ(i.b, MmaType::U8);
  EXPECT_EQ(i.d, MmaType::S32);
  EXPECT_TRUE(i.saturate);
  i = decoded(1 << 4 | shape(32, 64) | 2u << 30, MmaKind::F16, 1, true);
  EXPECT_EQ(i.m, 32);
  EXPECT_EQ(i.wsMaxShift, 16);
}

TEST(Descriptors, BadInstructions) {
  rejected(shape(128, 16) | 1 << 4 | 1 << 2, MmaKind::F16, "sparse");
  rejected(shape(128, 16) | 1 << 4 | 1 << 6, MmaKind::F16, "bit 6");
  rejected(shape(128, 16) | 1 << 4 | 1 << 23, MmaKind::F16, "bit 23");
  rejected(shape(128, 16) | 1 << 4 | 1 << 29, MmaKind::F16, "bit 29");
  rejected(shape(128, 16) | 1 << 4 | 1u << 30, MmaKind::F16, ".ws");
  rejected(shape(128, 16) | 1 << 4 | 2 << 7, MmaKind::F16, "code 2 for A");
  rejected(shape(128, 16) | 2 << 4, MmaKind::F16, "code 2 for D");
  rejected(shape(128, 16) | 1 << 7 | 1 << 10, MmaKind::F16, "f16 D");
  rejected(shape(192, 16) | 1 << 4, MmaKind::F16, "M = 192");
  rejected(shape(128, 0) | 1 << 4, MmaKind::F16, "N = 0");
  rejected(shape(128, 24) | 1 << 4, MmaKind::F16, "N = 24", 2);
  rejected(shape(64, 32) | 1 << 4, MmaKind::F16, "M = 64", 2);
  rejected(shape(128, 96) | 1 << 4, MmaKind::F16, "N = 96", 1, true);
  rejected(shape(128, 40) | 2 << 4, MmaKind::I8, "N = 40");
  rejected(shape(128, 16) | 2 << 4 | 1 << 13, MmaKind::I8, "negated");
  rejected(shape(128, 16) | 1 << 4 | 2 << 7, MmaKind::F8F6F4, "code 2 for A");
  rejected(shape(128, 16) | 1 << 4 | 5 << 7 | 1 << 15, MmaKind::F8F6F4,
           "K-major");
  rejected(shape(128, 24) | 1 << 4 | 1 << 16, MmaKind::F8F6F4, "steps of 16");
  // The other code of E2M1.
  rejected(0x08040480 ^ (1 << 7 | 5 << 7), MmaKind::MXF4NVF4, "for A", 1, false,
           4);
  rejected(0x08040480, MmaKind::MXF4NVF4, "scale_vec::1X", 1, false, 1);
  rejected(0x08040480, MmaKind::MXF4NVF4, "4X", 1, false, 2);
  rejected(0x08040480, MmaKind::MXF4, "ue8m0", 1, false, 2);
  rejected(0x08040480 | 1u << 31, MmaKind::MXF4NVF4, "K = 96", 1, false, 4);
  rejected(0x08040480 | 2u << 29, MmaKind::MXF4NVF4, "data ids", 1, false, 4);
  rejected(0x08040480 | 1u << 16, MmaKind::MXF4NVF4, "transposed", 1, false, 4);
  rejected((0x08040480 & ~(3u << 27)), MmaKind::MXF4NVF4, "M = 0", 1, false, 4);
}

TEST(Descriptors, Matrix) {
  // start 0x1230, LBO 0x40, SBO 0x400, 128-byte swizzle.
  uint64_t bits = 0x123 | uint64_t(4) << 16 | uint64_t(0x40) << 32 |
                  uint64_t(1) << 46 | uint64_t(2) << 61;
  auto m = decodeMatrix(bits);
  ASSERT_TRUE(bool(m));
  EXPECT_EQ(m->start, 0x1230u);
  EXPECT_EQ(m->leading, 0x40u);
  EXPECT_EQ(m->stride, 0x400u);
  EXPECT_EQ(m->swizzle, Swizzle::B128);
  std::pair<unsigned, Swizzle> modes[] = {{0, Swizzle::None},
                                          {1, Swizzle::B128Atom32},
                                          {4, Swizzle::B64},
                                          {6, Swizzle::B32}};
  for (auto [code, swizzle] : modes) {
    auto n = decodeMatrix(uint64_t(1) << 46 | uint64_t(code) << 61);
    ASSERT_TRUE(bool(n));
    EXPECT_EQ(n->swizzle, swizzle);
  }
  auto fails = [](uint64_t b, const char *part) {
    auto n = decodeMatrix(b);
    if (n) {
      ADD_FAILURE() << "accepted; expected: " << part;
      return;
    }
    std::string text = llvm::toString(n.takeError());
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  uint64_t ok = uint64_t(1) << 46;
  fails(0, "0b001");
  fails(uint64_t(3) << 46, "0b001");
  fails(ok | uint64_t(1) << 49, "base offset");
  fails(ok | uint64_t(1) << 52, "sm_103a");
  fails(ok | uint64_t(1) << 53, "53-60");
  fails(ok | uint64_t(3) << 61, "61-63");
  // The older descriptor has other codes and no constant.
  auto old = decodeMatrixSm90(0x123 | uint64_t(1) << 62);
  ASSERT_TRUE(bool(old));
  EXPECT_EQ(old->swizzle, Swizzle::B128);
  old = decodeMatrixSm90(uint64_t(3) << 62);
  ASSERT_TRUE(bool(old));
  EXPECT_EQ(old->swizzle, Swizzle::B32);
}

/// The document's examples; masks are written with column 0 last.
TEST(Descriptors, ZeroColumns) {
  auto mask = [](uint64_t starts, unsigned firsts, bool nonZero, unsigned skip,
                 unsigned use, unsigned shift, unsigned m, unsigned n) {
    uint64_t bits = starts | uint64_t(firsts) << 32 | uint64_t(nonZero) << 39 |
                    uint64_t(skip) << 40 | uint64_t(use) << 48 |
                    uint64_t(shift) << 56;
    auto z = decodeZeroColumns(bits, m, n);
    if (!z) {
      ADD_FAILURE() << llvm::toString(z.takeError());
      return std::string();
    }
    EXPECT_EQ(z->shift, shift);
    std::string text;
    for (unsigned c = 0; c != n; ++c)
      text.insert(text.begin(), z->zero[c] ? '1' : '0');
    return text;
  };
  auto part = [](const std::string &text, unsigned index, unsigned width,
                 const char *tail) {
    std::string own = text.substr(text.size() - (index + 1) * width, width);
    EXPECT_EQ(own.substr(own.size() - std::string(tail).size()), tail) << index;
  };
  EXPECT_EQ(mask(0, 0, false, 4, 3, 0, 128, 64), std::string(64, '0'));
  part(mask(0, 0, true, 2, 3, 0, 128, 64), 0, 64, "11100001110000");
  std::string two = mask(0, 1, true, 2, 3, 0, 64, 64);
  part(two, 0, 32, "11100001110000111");
  part(two, 1, 32, "000011100001110000");
  std::string four = mask(0x01020100, 3, true, 2, 3, 2, 32, 128);
  part(four, 0, 32, "00001110000111");
  part(four, 1, 32, "0000111000011");
  part(four, 2, 32, "111000011100");
  part(four, 3, 32, "1110000111000");
  EXPECT_NE(
      llvm::toString(decodeZeroColumns(uint64_t(17) << 56, 32, 64).takeError())
          .find("above 16"),
      std::string::npos);
  EXPECT_NE(
      llvm::toString(decodeZeroColumns(uint64_t(1) << 36, 64, 64).takeError())
          .find("36-38"),
      std::string::npos);
}

TEST(Descriptors, Swizzles) {
  // The row of eight 128-byte rows is XORed into the 16-byte column.
  EXPECT_EQ(applySwizzle(Swizzle::B128, 0x0000), 0x0000u);
  EXPECT_EQ(applySwizzle(Swizzle::B128, 0x0080), 0x0090u);
  EXPECT_EQ(applySwizzle(Swizzle::B128, 0x03f5), 0x0385u);
  EXPECT_EQ(applySwizzle(Swizzle::B64, 0x0180), 0x01b0u);
  EXPECT_EQ(applySwizzle(Swizzle::B64, 0x0200), 0x0200u);
  EXPECT_EQ(applySwizzle(Swizzle::B32, 0x0080), 0x0090u);
  EXPECT_EQ(applySwizzle(Swizzle::B32, 0x0100), 0x0100u);
  EXPECT_EQ(applySwizzle(Swizzle::B128Atom32, 0x0080), 0x00a0u);
  EXPECT_EQ(applySwizzle(Swizzle::B128Atom32, 0x0190), 0x01f0u);
  for (Swizzle s : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128,
                    Swizzle::B128Atom32})
    for (uint32_t a = 0; a < 4096; a += 8)
      EXPECT_EQ(applySwizzle(s, applySwizzle(s, a)), a);
}

} // namespace
