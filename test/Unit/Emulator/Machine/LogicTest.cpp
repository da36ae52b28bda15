//===- LogicTest.cpp - Logic, shifts, prmt, comparisons, moves ------------===//

#include "TestKernel.h"
#include <random>

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

TEST(Logic, Lop3AllTables) {
  // One instruction per table; a, b, c run over all combinations of bits.
  std::string body;
  for (unsigned table = 0; table < 256; ++table)
    body += "lop3.b32 %r2, 0xF0, 0xCC, 0xAA, " + std::to_string(table) +
            ";\nst.global.u32 [%rd1+" + std::to_string(4 * table) + "], %r2;\n";
  TestDevice device;
  uint64_t out = device.allocate(1024);
  expectClean(device.run(makeModule(1, body), {}, {}, {out}));
  auto results = device.download<uint32_t>(out, 256);
  // With these operands the low byte is the table itself; above it all bits
  // are zero, so the answer is bit 0 of the table.
  for (unsigned table = 0; table < 256; ++table)
    EXPECT_EQ(results[table], table | (table & 1 ? 0xffffff00u : 0));
}

TEST(Logic, PrmtAllSelectors) {
  // All 65536 selectors, by the definition.
  std::vector<std::vector<uint64_t>> rows;
  for (unsigned s = 0; s < 65536; ++s)
    rows.push_back({0x83c2f100u + s, 0x7f80ff01u ^ s, s});
  auto results =
      runInstruction("prmt.b32 %d, %x, %y, %z;", 32, {32, 32, 32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    uint8_t bytes[8];
    for (unsigned k = 0; k < 4; ++k) {
      bytes[k] = static_cast<uint8_t>(rows[i][0] >> 8 * k);
      bytes[k + 4] = static_cast<uint8_t>(rows[i][1] >> 8 * k);
    }
    uint32_t expected = 0;
    for (unsigned k = 0; k < 4; ++k) {
      unsigned nibble = i >> 4 * k & 15;
      uint8_t byte = bytes[nibble & 7];
      if (nibble & 8)
        byte = byte & 0x80 ? 0xff : 0x00;
      expected |= uint32_t(byte) << 8 * k;
    }
    ASSERT_EQ(results[i], expected) << i;
  }
}

TEST(Logic, PrmtModes) {
  // The tables of the PTX document, selectors from high to low byte.
  struct {
    const char *mode;
    const char *selectors[4];
  } modes[] = {{"f4e", {"3210", "4321", "5432", "6543"}},
               {"b4e", {"5670", "6701", "7012", "0123"}},
               {"rc8", {"0000", "1111", "2222", "3333"}},
               {"ecl", {"3210", "3211", "3222", "3333"}},
               {"ecr", {"0000", "1110", "2210", "3210"}},
               {"rc16", {"1010", "3232", "1010", "3232"}}};
  for (auto &mode : modes)
    for (unsigned c = 0; c < 4; ++c) {
      uint64_t result = runInstruction(
          std::string("prmt.b32.") + mode.mode + " %d, %x, %y, %z;", 32,
          {32, 32, 32}, {{0x13121110, 0x17161514, c}})[0];
      uint32_t expected = 0;
      for (unsigned k = 0; k < 4; ++k)
        expected = expected << 8 | (0x10u + mode.selectors[c][k] - '0');
      EXPECT_EQ(result, expected) << mode.mode << " " << c;
    }
}

TEST(Logic, Shifts) {
  for (unsigned bits : {16u, 32u, 64u}) {
    std::vector<std::vector<uint64_t>> rows;
    for (uint64_t v : interestingValues(bits, 8))
      for (uint64_t amount : {0ull, 1ull, 7ull, 15ull, 16ull, 31ull, 32ull,
                              63ull, 64ull, 255ull, 0x80000000ull})
        rows.push_back({v, amount});
    std::string b = std::to_string(bits);
    auto left =
        runInstruction("shl.b" + b + " %d, %x, %y;", bits, {bits, 32}, rows);
    auto logical =
        runInstruction("shr.u" + b + " %d, %x, %y;", bits, {bits, 32}, rows);
    auto arithmetic =
        runInstruction("shr.s" + b + " %d, %x, %y;", bits, {bits, 32}, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
      bool negative = rows[i][0] >> (bits - 1) & 1;
      uint64_t l = rows[i][0], r = l, s = l;
      for (uint64_t k = 0; k < std::min<uint64_t>(rows[i][1], 64); ++k) {
        l = l << 1 & mask;
        r >>= 1;
        s = s >> 1 | (negative ? 1ull << (bits - 1) : 0);
      }
      ASSERT_EQ(left[i], l);
      ASSERT_EQ(logical[i], r);
      ASSERT_EQ(arithmetic[i], s);
    }
  }
}

TEST(Logic, FunnelShifts) {
  std::vector<std::vector<uint64_t>> rows;
  for (uint64_t amount = 0; amount < 70; ++amount)
    rows.push_back({0x89abcdefu, 0x01234567u, amount});
  for (bool left : {true, false})
    for (bool wrap : {true, false}) {
      auto results = runInstruction(std::string("shf.") + (left ? "l" : "r") +
                                        (wrap ? ".wrap" : ".clamp") +
                                        ".b32 %d, %x, %y, %z;",
                                    32, {32, 32, 32}, rows);
      for (size_t i = 0; i < rows.size(); ++i) {
        unsigned n = wrap ? i % 32 : std::min<unsigned>(i, 32);
        uint32_t a = 0x89abcdefu, b = 0x01234567u, d = 0;
        for (unsigned bit = 0; bit < 32; ++bit) {
          unsigned from = left ? bit + 32 - n : bit + n;
          uint32_t word = from >= 32 ? b : a;
          d |= (word >> from % 32 & 1) << bit;
        }
        ASSERT_EQ(results[i], d) << left << wrap << i;
      }
    }
}

TEST(Logic, SetpCombinations) {
  auto values = interestingValues(32, 4);
  std::vector<std::vector<uint64_t>> rows;
  for (uint64_t a : values)
    for (uint64_t b : values)
      for (uint64_t c : {0, 1})
        rows.push_back({a, b, c});
  auto pAnd = runInstruction("setp.ne.u32 %s, %z, 0;\n"
                             "setp.lt.and.s32 %q|%p2, %x, %y, !%s;",
                             1, {32, 32, 32}, rows);
  auto qXor = runInstruction("setp.ne.u32 %s, %z, 0;\n"
                             "setp.hi.xor.u32 %p2|%q, %x, %y, %s;",
                             1, {32, 32, 32}, rows);
  auto set = runInstruction("setp.ne.u32 %s, %z, 0;\n"
                            "set.ge.or.f32.u32 %d, %x, %y, %s;",
                            32, {32, 32, 32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    uint32_t a = static_cast<uint32_t>(rows[i][0]);
    uint32_t b = static_cast<uint32_t>(rows[i][1]);
    bool c = rows[i][2];
    ASSERT_EQ(pAnd[i], (int32_t(a) < int32_t(b)) && !c);
    ASSERT_EQ(qXor[i], !(a > b) ^ c);
    ASSERT_EQ(set[i], (a >= b) || c ? 0x3f800000u : 0);
  }
}

TEST(Logic, SelectAndPack) {
  auto rows = std::vector<std::vector<uint64_t>>{
      {0x1111222233334444ull, 0x5555666677778888ull}};
  EXPECT_EQ(runInstruction(".reg .b16 %h<4>;\nmov.b64 {%h0,%h1,%h2,%h3}, %x;\n"
                           "mov.b64 %d, {%h3,%h0,%h1,%h2};",
                           64, {64, 64}, rows)[0],
            0x2222333344441111ull);
  EXPECT_EQ(runInstruction(".reg .b128 %v;\nmov.b128 %v, {%x, %y};\n"
                           "mov.b128 {%rd8, %d}, %v;",
                           64, {64, 64}, rows)[0],
            0x5555666677778888ull);
  EXPECT_EQ(
      runInstruction("slct.u64.s32 %d, %x, %y, -1;", 64, {64, 64}, rows)[0],
      rows[0][1]);
  EXPECT_EQ(runInstruction("slct.u64.f32 %d, %x, %y, 0f80000000;", 64, {64, 64},
                           rows)[0],
            rows[0][0]);
}

TEST(Logic, IntegerConversions) {
  std::vector<std::vector<uint64_t>> rows;
  for (uint64_t v : interestingValues(32, 30))
    rows.push_back({v});
  auto s8 = runInstruction("cvt.s32.s8 %d, %x;", 32, {32}, rows);
  auto u16 = runInstruction("cvt.u64.u16 %d, %x;", 64, {32}, rows);
  auto s64 = runInstruction("cvt.s64.s32 %d, %x;", 64, {32}, rows);
  auto narrow = runInstruction("cvt.s8.s32 %d, %x;", 32, {32}, rows);
  auto sat = runInstruction("cvt.sat.u8.s32 %d, %x;", 32, {32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    int32_t v = static_cast<int32_t>(rows[i][0]);
    ASSERT_EQ(s8[i], uint32_t(int8_t(v)));
    ASSERT_EQ(u16[i], uint16_t(v));
    ASSERT_EQ(s64[i], uint64_t(int64_t(v)));
    ASSERT_EQ(narrow[i], uint32_t(int8_t(v)));
    ASSERT_EQ(sat[i], uint32_t(v < 0 ? 0 : v > 255 ? 255 : v));
  }
}

TEST(Logic, FloatInstructionsReachTheNumerics) {
  // Operand order, modifiers and widths; the values themselves are tested with
  // the numerics.
  auto f32 = [](const std::string &text, uint64_t x, uint64_t y, uint64_t z) {
    return runInstruction(text, 32, {32, 32, 32}, {{x, y, z}})[0];
  };
  uint64_t one = 0x3f800000, two = 0x40000000, three = 0x40400000;
  EXPECT_EQ(f32("sub.f32 %d, %x, %y;", one, three, 0), 0xc0000000u);
  EXPECT_EQ(f32("fma.rn.f32 %d, %x, %y, %z;", two, three, one), 0x40e00000u);
  EXPECT_EQ(f32("div.rn.f32 %d, %x, %y;", one, two, 0), 0x3f000000u);
  EXPECT_EQ(f32("add.sat.f32 %d, %x, %y;", one, two, 0), one);
  EXPECT_EQ(f32("mul.rz.f32 %d, %x, %y;", 0x3f800001, 0x3f800001, 0),
            0x3f800002u);
  EXPECT_EQ(f32("mul.rp.f32 %d, %x, %y;", 0x3f800001, 0x3f800001, 0),
            0x3f800003u);
  EXPECT_EQ(f32("add.f32 %d, %x, %y;", 0x7f800000, 0xff800000, 0), 0x7fffffffu);
  EXPECT_EQ(f32("add.ftz.f32 %d, %x, %y;", 1, 1, 0), 0u);
  EXPECT_EQ(f32("max.f32 %d, %x, %y, %z;", one, three, two), three);
  EXPECT_EQ(
      f32("fma.rn.f16x2 %d, %x, %y, %z;", 0x3c004000, 0x40004200, 0x00003c00),
      0x40004700u);
  EXPECT_EQ(f32("cvt.rn.f16x2.f32 %d, %x, %y;", one, two, 0), 0x3c004000u);
  EXPECT_EQ(f32("selp.f32 %d, %x, %y, 1;", one, two, 0), one);
  EXPECT_EQ(runInstruction("setp.ltu.f32 %q, %x, %y;", 1, {32, 32},
                           {{0x7fc00000, one}, {two, one}, {one, two}}),
            (std::vector<uint64_t>{1, 0, 1}));
}

} // namespace
