//===- IntegerTest.cpp - Integer arithmetic against wide arithmetic -------===//

#include "TestKernel.h"
#include "llvm/ADT/APInt.h"
#include <functional>

using namespace kvq::emu;
using namespace kvq::emu::test;
using llvm::APInt;

namespace {

std::vector<std::vector<uint64_t>> pairs(unsigned bits, unsigned random = 40) {
  std::vector<std::vector<uint64_t>> rows;
  std::vector<uint64_t> values = interestingValues(bits, random);
  for (uint64_t a : values)
    for (uint64_t b : values)
      rows.push_back({a, b});
  return rows;
}

std::vector<std::vector<uint64_t>> triples(unsigned bits) {
  std::vector<std::vector<uint64_t>> rows;
  std::vector<uint64_t> values = interestingValues(bits, 4);
  for (uint64_t a : values)
    for (uint64_t b : values)
      for (size_t i = 0; i < values.size(); i += 3)
        rows.push_back({a, b, values[(i + a + b) % values.size()]});
  return rows;
}

APInt wide(uint64_t value, unsigned bits, bool isSigned) {
  APInt narrow(bits, value, false, /*implicitTrunc=*/true);
  return isSigned ? narrow.sext(256) : narrow.zext(256);
}

uint64_t low(const APInt &value, unsigned bits) {
  return value.extractBitsAsZExtValue(bits, 0);
}

using Oracle = std::function<uint64_t(const APInt &, const APInt &)>;

/// Runs `instruction.TYPE %d, %x, %y` for signed and unsigned types.
void checkBinary(const std::string &instruction, Oracle oracle,
                 std::vector<std::string> types) {
  for (const std::string &type : types) {
    unsigned bits = std::stoul(type.substr(1));
    auto rows = pairs(bits, 10);
    auto results = runInstruction(instruction + "." + type + " %d, %x, %y;",
                                  bits, {bits, bits}, rows);
    ASSERT_EQ(results.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      bool isSigned = type[0] == 's';
      APInt a = wide(rows[i][0], bits, isSigned);
      APInt b = wide(rows[i][1], bits, isSigned);
      uint64_t expected =
          oracle(a, b) & (bits == 64 ? ~0ull : (1ull << bits) - 1);
      ASSERT_EQ(results[i], expected) << instruction << "." << type << " "
                                      << rows[i][0] << ", " << rows[i][1];
    }
  }
}

const std::vector<std::string> allTypes = {"u16", "s16", "u32",
                                           "s32", "u64", "s64"};

TEST(Integer, AddSubMul) {
  checkBinary(
      "add", [](const APInt &a, const APInt &b) { return low(a + b, 64); },
      allTypes);
  checkBinary(
      "sub", [](const APInt &a, const APInt &b) { return low(a - b, 64); },
      allTypes);
  checkBinary(
      "mul.lo", [](const APInt &a, const APInt &b) { return low(a * b, 64); },
      allTypes);
}

TEST(Integer, MulHi) {
  for (const std::string &type : allTypes) {
    unsigned bits = std::stoul(type.substr(1));
    checkBinary("mul.hi",
                [bits](const APInt &a, const APInt &b) {
                  return low((a * b).lshr(bits), bits);
                },
                {type});
  }
}

TEST(Integer, MinMax) {
  auto less = [](const APInt &a, const APInt &b) { return a.slt(b); };
  checkBinary(
      "min",
      [&](const APInt &a, const APInt &b) {
        return low(less(a, b) ? a : b, 64);
      },
      allTypes);
  checkBinary(
      "max",
      [&](const APInt &a, const APInt &b) {
        return low(less(a, b) ? b : a, 64);
      },
      allTypes);
}

TEST(Integer, DivRem) {
  // Division by zero is open in PTX: leave it out.
  for (const std::string &type : allTypes) {
    unsigned bits = std::stoul(type.substr(1));
    bool isSigned = type[0] == 's';
    std::vector<std::vector<uint64_t>> rows;
    for (auto &row : pairs(bits, 10))
      if (row[1])
        rows.push_back(row);
    auto quotients = runInstruction("div." + type + " %d, %x, %y;", bits,
                                    {bits, bits}, rows);
    auto remainders = runInstruction("rem." + type + " %d, %x, %y;", bits,
                                     {bits, bits}, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      APInt a = wide(rows[i][0], bits, isSigned);
      APInt b = wide(rows[i][1], bits, isSigned);
      ASSERT_EQ(quotients[i], low(a.sdiv(b), bits)) << type << " " << i;
      ASSERT_EQ(remainders[i], low(a.srem(b), bits)) << type << " " << i;
    }
  }
}

TEST(Integer, WideProducts) {
  for (const std::string &type : {"u16", "s16", "u32", "s32"}) {
    unsigned bits = std::stoul(type.substr(1));
    bool isSigned = type[0] == 's';
    auto rows = pairs(bits, 10);
    auto results = runInstruction("mul.wide." + type + " %d, %x, %y;", 2 * bits,
                                  {bits, bits}, rows);
    for (size_t i = 0; i < rows.size(); ++i)
      ASSERT_EQ(results[i], low(wide(rows[i][0], bits, isSigned) *
                                    wide(rows[i][1], bits, isSigned),
                                2 * bits));
  }
}

TEST(Integer, Mad) {
  for (const std::string &type : {"u32", "s32", "u64", "s64"}) {
    unsigned bits = std::stoul(type.substr(1));
    bool isSigned = type[0] == 's';
    auto rows = triples(bits);
    auto lows = runInstruction("mad.lo." + type + " %d, %x, %y, %z;", bits,
                               {bits, bits, bits}, rows);
    auto highs = runInstruction("mad.hi." + type + " %d, %x, %y, %z;", bits,
                                {bits, bits, bits}, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      APInt product =
          wide(rows[i][0], bits, isSigned) * wide(rows[i][1], bits, isSigned);
      APInt c = wide(rows[i][2], bits, isSigned);
      ASSERT_EQ(lows[i], low(product + c, bits));
      ASSERT_EQ(highs[i], low(product.ashr(bits) + c, bits));
    }
  }
}

TEST(Integer, Saturation) {
  auto rows = pairs(32);
  auto sums = runInstruction("add.sat.s32 %d, %x, %y;", 32, {32, 32}, rows);
  auto differences =
      runInstruction("sub.sat.s32 %d, %x, %y;", 32, {32, 32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    APInt a(32, rows[i][0]), b(32, rows[i][1]);
    ASSERT_EQ(sums[i], a.sadd_sat(b).getZExtValue());
    ASSERT_EQ(differences[i], a.ssub_sat(b).getZExtValue());
  }
}

TEST(Integer, PackedHalves) {
  auto rows = pairs(32);
  auto sums = runInstruction("add.u16x2 %d, %x, %y;", 32, {32, 32}, rows);
  auto minima = runInstruction("min.s16x2 %d, %x, %y;", 32, {32, 32}, rows);
  auto relus = runInstruction("max.s16x2.relu %d, %x, %y;", 32, {32, 32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    uint32_t sum = 0, minimum = 0, relu = 0;
    for (unsigned h = 0; h < 32; h += 16) {
      int16_t a = static_cast<int16_t>(rows[i][0] >> h);
      int16_t b = static_cast<int16_t>(rows[i][1] >> h);
      sum |= uint32_t(uint16_t(a + b)) << h;
      minimum |= uint32_t(uint16_t(a < b ? a : b)) << h;
      int16_t larger = a < b ? b : a;
      relu |= uint32_t(uint16_t(larger < 0 ? 0 : larger)) << h;
    }
    ASSERT_EQ(sums[i], sum);
    ASSERT_EQ(minima[i], minimum);
    ASSERT_EQ(relus[i], relu);
  }
}

TEST(Integer, CarryChains) {
  // 128-bit sums and differences in four words.
  std::vector<uint64_t> values = interestingValues(64, 6);
  std::vector<std::vector<uint64_t>> rows;
  for (uint64_t a : values)
    for (uint64_t b : values)
      rows.push_back({a, b, a * 7 + b, b * 5 + 3});
  for (bool subtract : {false, true}) {
    std::string op = subtract ? "sub" : "add";
    // {z:x} op {w:y}, and the carry out of the top.
    auto run = [&](const std::string &result) {
      return runInstruction(
          ".reg .b32 %a<8>;\n.reg .b64 %l, %h, %c;\n"
          "mov.b64 {%a0, %a1}, %x;\nmov.b64 {%a2, %a3}, %y;\n" +
              op + ".cc.u32 %a0, %a0, %a2;\n" + op +
              "c.cc.u32 %a1, %a1, %a3;\n"
              "mov.b64 %l, {%a0, %a1};\n" +
              op + "c.cc.u64 %h, %z, %w;\n" + op +
              "c.u64 %c, 0, 0;\nmov.b64 %d, " + result + ";",
          64, {64, 64, 64, 64}, rows);
    };
    auto lows = run("%l"), highs = run("%h"), carries = run("%c");
    for (size_t i = 0; i < rows.size(); ++i) {
      APInt a =
          wide(rows[i][2], 64, false).shl(64) | wide(rows[i][0], 64, false);
      APInt b =
          wide(rows[i][3], 64, false).shl(64) | wide(rows[i][1], 64, false);
      APInt r = subtract ? a - b : a + b;
      ASSERT_EQ(lows[i], r.extractBitsAsZExtValue(64, 0));
      ASSERT_EQ(highs[i], r.extractBitsAsZExtValue(64, 64));
      ASSERT_EQ(carries[i], r.extractBitsAsZExtValue(64, 128));
    }
  }
}

TEST(Integer, MadCarry) {
  // A 64 x 64 product in 32-bit pieces, as nvcc writes it.
  auto rows = pairs(64, 10);
  auto highs = runInstruction(
      ".reg .b32 %a<12>;\nmov.b64 {%a0, %a1}, %x;\nmov.b64 {%a2, %a3}, %y;\n"
      "mul.lo.u32 %a4, %a0, %a2;\nmul.hi.u32 %a5, %a0, %a2;\n"
      "mad.lo.cc.u32 %a5, %a0, %a3, %a5;\nmadc.hi.u32 %a6, %a0, %a3, 0;\n"
      "mad.lo.cc.u32 %a5, %a1, %a2, %a5;\nmadc.hi.cc.u32 %a6, %a1, %a2, %a6;\n"
      "madc.hi.u32 %a7, %a1, %a3, 0;\nmad.lo.cc.u32 %a6, %a1, %a3, %a6;\n"
      "addc.u32 %a7, %a7, 0;\nmov.b64 %d, {%a6, %a7};",
      64, {64, 64}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    APInt product = wide(rows[i][0], 64, false) * wide(rows[i][1], 64, false);
    ASSERT_EQ(highs[i], product.extractBitsAsZExtValue(64, 64));
  }
}

TEST(Integer, BitCounts) {
  for (unsigned bits : {32u, 64u}) {
    std::vector<std::vector<uint64_t>> rows;
    for (uint64_t v : interestingValues(bits, 100))
      rows.push_back({v});
    std::string b = std::to_string(bits);
    auto popc = runInstruction("popc.b" + b + " %d, %x;", 32, {bits}, rows);
    auto clz = runInstruction("clz.b" + b + " %d, %x;", 32, {bits}, rows);
    auto brev = runInstruction("brev.b" + b + " %d, %x;", bits, {bits}, rows);
    auto find = runInstruction("bfind.s" + b + " %d, %x;", 32, {bits}, rows);
    auto amount =
        runInstruction("bfind.shiftamt.u" + b + " %d, %x;", 32, {bits}, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      APInt v(bits, rows[i][0]);
      ASSERT_EQ(popc[i], v.popcount());
      ASSERT_EQ(clz[i], v.countl_zero());
      ASSERT_EQ(brev[i], v.reverseBits().getZExtValue());
      APInt magnitude = v.isNegative() ? ~v : v;
      ASSERT_EQ(find[i], magnitude.isZero() ? 0xffffffffu
                                            : magnitude.getActiveBits() - 1u);
      ASSERT_EQ(amount[i], v.isZero() ? 0xffffffffu : bits - v.getActiveBits());
    }
  }
}

TEST(Integer, BitFields) {
  std::vector<std::vector<uint64_t>> rows;
  for (uint64_t v : {0x80000001ull, 0xdeadbeefull, 0x7fffffffull})
    for (uint64_t position : {0, 1, 7, 15, 30, 31, 32, 33, 255})
      for (uint64_t length : {0, 1, 8, 31, 32, 33, 255})
        rows.push_back({v, position, length, 0x12345678});
  auto u =
      runInstruction("bfe.u32 %d, %x, %y, %z;", 32, {32, 32, 32, 32}, rows);
  auto s =
      runInstruction("bfe.s32 %d, %x, %y, %z;", 32, {32, 32, 32, 32}, rows);
  auto f =
      runInstruction("bfi.b32 %d, %x, %w, %y, %z;", 32, {32, 32, 32, 32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    // The definition in the PTX document, bit by bit.
    uint32_t a = static_cast<uint32_t>(rows[i][0]);
    unsigned pos = rows[i][1] & 0xff, len = rows[i][2] & 0xff;
    uint32_t b = static_cast<uint32_t>(rows[i][3]);
    for (bool isSigned : {false, true}) {
      unsigned sbit =
          !isSigned || len == 0 ? 0 : a >> std::min(pos + len - 1, 31u) & 1;
      uint32_t d = 0;
      for (unsigned bit = 0; bit < 32; ++bit)
        d |=
            uint32_t(bit < len && pos + bit <= 31 ? a >> (pos + bit) & 1 : sbit)
            << bit;
      ASSERT_EQ(isSigned ? s[i] : u[i], d)
          << std::hex << a << " " << pos << " " << len << " " << isSigned;
    }
    uint32_t inserted = b;
    for (unsigned bit = 0; bit < len && pos + bit <= 31; ++bit)
      inserted = (inserted & ~(1u << (pos + bit))) | (a >> bit & 1)
                                                         << (pos + bit);
    ASSERT_EQ(f[i], inserted);
  }
}

TEST(Integer, DotProducts) {
  auto rows = triples(32);
  auto ss =
      runInstruction("dp4a.s32.s32 %d, %x, %y, %z;", 32, {32, 32, 32}, rows);
  auto us =
      runInstruction("dp4a.u32.s32 %d, %x, %y, %z;", 32, {32, 32, 32}, rows);
  auto hi =
      runInstruction("dp2a.hi.s32.u32 %d, %x, %y, %z;", 32, {32, 32, 32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t c = int32_t(rows[i][2]), c0 = c, c1 = c, c2 = c;
    for (unsigned k = 0; k < 4; ++k) {
      int64_t b = int8_t(rows[i][1] >> 8 * k);
      c0 += int8_t(rows[i][0] >> 8 * k) * b;
      c1 += uint8_t(rows[i][0] >> 8 * k) * b;
    }
    for (unsigned k = 0; k < 2; ++k)
      c2 += int64_t(int16_t(rows[i][0] >> 16 * k)) *
            uint8_t(rows[i][1] >> (16 + 8 * k));
    ASSERT_EQ(ss[i], uint32_t(c0));
    ASSERT_EQ(us[i], uint32_t(c1));
    ASSERT_EQ(hi[i], uint32_t(c2));
  }
}

TEST(Integer, Products24) {
  auto rows = pairs(32, 10);
  auto lo = runInstruction("mul24.lo.s32 %d, %x, %y;", 32, {32, 32}, rows);
  auto hi = runInstruction("mul24.hi.u32 %d, %x, %y;", 32, {32, 32}, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    APInt a(24, rows[i][0], false, true), b(24, rows[i][1], false, true);
    ASSERT_EQ(lo[i], low(a.sext(64) * b.sext(64), 32));
    ASSERT_EQ(hi[i], low((a.zext(64) * b.zext(64)).lshr(16), 32));
  }
}

TEST(Integer, FindNthSet) {
  // Values worked out by hand from the definition.
  auto run = [](uint64_t mask, uint64_t base, uint64_t offset) {
    return runInstruction("fns.b32 %d, %x, %y, %z;", 32, {32, 32, 32},
                          {{mask, base, offset & 0xffffffffu}})[0];
  };
  EXPECT_EQ(run(0b10110, 0, 1), 1u);
  EXPECT_EQ(run(0b10110, 0, 3), 4u);
  EXPECT_EQ(run(0b10110, 2, 1), 2u);
  EXPECT_EQ(run(0b10110, 4, uint64_t(-2)), 2u);
  EXPECT_EQ(run(0b10110, 1, 0), 1u);
  EXPECT_EQ(run(0b10110, 0, 0), 0xffffffffu);
  EXPECT_EQ(run(0b10110, 0, 4), 0xffffffffu);
  EXPECT_EQ(run(0xffffffff, 31, 0x80000000), 0xffffffffu);
}

} // namespace
