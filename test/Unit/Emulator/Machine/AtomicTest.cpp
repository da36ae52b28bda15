//===- AtomicTest.cpp - Atomic operations ---------------------------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

/// One thread, one atomic operation: {what it returns, what it leaves}.
std::pair<uint64_t, uint64_t> run(const std::string &op, unsigned bits,
                                  uint64_t memory, uint64_t operand,
                                  uint64_t compare = 0) {
  TestDevice device(checkedOptions());
  uint64_t cell = device.upload(std::vector<uint64_t>{memory, 0});
  std::string b = std::to_string(bits);
  std::string reg = bits == 64 ? "%rd" : bits == 32 ? "%r" : "%rs";
  bool cas = op.find("cas") != std::string::npos;
  std::string body = "mov.b64 %rd5, " + std::to_string(operand) +
                     ";\nmov.b64 %rd6, " + std::to_string(compare) + ";\n";
  if (bits == 64)
    body += "mov.b64 %rd8, %rd5;\nmov.b64 %rd9, %rd6;\n";
  else
    body += "cvt.u" + b + ".u64 " + reg + "8, %rd5;\ncvt.u" + b + ".u64 " +
            reg + "9, %rd6;\n";
  body += op + " " + reg + "10, [%rd1], " + (cas ? reg + "9, " : "") + reg +
          "8;\nst.global.b" + b + " [%rd1+8], " + reg + "10;\n";
  expectClean(device.run(makeModule(1, body), {}, {}, {cell}));
  auto words = device.download<uint64_t>(cell, 2);
  return {words[1], words[0]};
}

using Result = std::pair<uint64_t, uint64_t>;

TEST(Atomic, Integers) {
  EXPECT_EQ(run("atom.global.add.u32", 32, 0xfffffffe, 3),
            Result(0xfffffffe, 1));
  EXPECT_EQ(run("atom.add.u64", 64, ~0ull, 2), Result(~0ull, 1));
  EXPECT_EQ(run("atom.global.min.s32", 32, 5, 0xfffffff0),
            Result(5, 0xfffffff0));
  EXPECT_EQ(run("atom.global.min.u32", 32, 5, 0xfffffff0), Result(5, 5));
  EXPECT_EQ(run("atom.global.max.s64", 64, 1ull << 63, 2),
            Result(1ull << 63, 2));
  EXPECT_EQ(run("atom.global.and.b32", 32, 0xff0, 0x0ff), Result(0xff0, 0xf0));
  EXPECT_EQ(run("atom.global.or.b64", 64, 1, 1ull << 40),
            Result(1, 1ull << 40 | 1));
  EXPECT_EQ(run("atom.global.xor.b32", 32, 0xff, 0xf), Result(0xff, 0xf0));
  EXPECT_EQ(run("atom.global.exch.b32", 32, 4, 9), Result(4, 9));
  EXPECT_EQ(run("atom.global.inc.u32", 32, 4, 4), Result(4, 0));
  EXPECT_EQ(run("atom.global.inc.u32", 32, 3, 4), Result(3, 4));
  EXPECT_EQ(run("atom.global.dec.u32", 32, 0, 4), Result(0, 4));
  EXPECT_EQ(run("atom.global.dec.u32", 32, 9, 4), Result(9, 4));
  EXPECT_EQ(run("atom.global.dec.u32", 32, 3, 4), Result(3, 2));
}

TEST(Atomic, CompareAndSwap) {
  EXPECT_EQ(run("atom.global.cas.b32", 32, 4, 9, 4), Result(4, 9));
  EXPECT_EQ(run("atom.global.cas.b32", 32, 4, 9, 5), Result(4, 4));
  EXPECT_EQ(run("atom.global.cas.b64", 64, 1ull << 50, 9, 1ull << 50),
            Result(1ull << 50, 9));
  EXPECT_EQ(run("atom.global.cas.b16", 16, 0x12340004, 9, 4),
            Result(4, 0x12340009));
}

TEST(Atomic, Floats) {
  EXPECT_EQ(run("atom.global.add.f32", 32, 0x3f800000, 0x40000000),
            Result(0x3f800000, 0x40400000));
  EXPECT_EQ(
      run("atom.global.add.f64", 64, 0x3ff0000000000000, 0x4000000000000000),
      Result(0x3ff0000000000000, 0x4008000000000000));
  EXPECT_EQ(run("atom.global.add.noftz.f16x2", 32, 0x3c004000, 0x40003c00),
            Result(0x3c004000, 0x42004200));
  EXPECT_EQ(run("atom.global.add.noftz.bf16", 16, 0x3f80, 0x3f80),
            Result(0x3f80, 0x4000));
  // Global f32 additions flush subnormals.
  EXPECT_EQ(run("atom.global.add.f32", 32, 1, 1).second, 0u);
}

TEST(Atomic, VectorsAndBits128) {
  TestDevice device(checkedOptions());
  uint64_t cell = device.upload(
      std::vector<uint32_t>{0x3f800000, 0x40000000, 0, 0x3f800000, 1, 2, 3, 4});
  expectClean(device.run(
      makeModule(1, "mov.b32 %f1, 0f3F800000;\n"
                    "red.global.add.v4.f32 [%rd1], {%f1,%f1,%f1,%f1};\n"
                    ".reg .b128 %a, %b, %c;\n"
                    "mov.b64 %rd5, 0x200000001;\nmov.b64 %rd6, 0x400000003;\n"
                    "mov.b128 %a, {%rd5, %rd6};\nmov.b128 %b, {%rd6, %rd5};\n"
                    "atom.global.cas.b128 %c, [%rd1+16], %a, %b;\n"),
      {}, {}, {cell}));
  EXPECT_EQ(device.download<uint32_t>(cell, 8),
            (std::vector<uint32_t>{0x40000000, 0x40400000, 0x3f800000,
                                   0x40000000, 3, 4, 1, 2}));
}

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

struct HalfForm {
  std::string type;
  /// Elements of the type in one register, and registers of a vector.
  unsigned packed, count;
  std::string op;
};

/// Every form that PTX has of atom and red on f16 and bf16.
std::vector<HalfForm> halfForms() {
  std::vector<HalfForm> forms;
  for (const char *element : {"f16", "bf16"})
    for (unsigned packed : {1u, 2u}) {
      std::string type = std::string(element) + (packed == 2 ? "x2" : "");
      forms.push_back({type, packed, 1, "add"});
      for (unsigned count : {2u, 4u, 8u})
        if (packed * count <= 8)
          for (const char *op : {"add", "min", "max"})
            forms.push_back({type, packed, count, op});
    }
  return forms;
}

/// The codes of -3, -2, .. 3 in f16 and bf16.
uint16_t halfOf(bool isBrain, int value) {
  static const uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200},
                        brain[] = {0, 0x3f80, 0x4000, 0x4040};
  unsigned magnitude = static_cast<unsigned>(std::abs(value));
  return static_cast<uint16_t>((isBrain ? brain : half)[magnitude] |
                               (value < 0 ? 0x8000 : 0));
}

/// A kernel of one thread: the operand from [%rd1], the location at [%rd2],
/// what it held before to [%rd1+16].
std::string halfKernel(const HalfForm &form, bool isRed,
                       const std::string &qualifiers, bool inShared) {
  std::string reg = form.packed == 1 ? "%rs" : "%r", type = "b16";
  if (form.packed == 2)
    type = "b32";
  unsigned bytes = 2 * form.packed, source = form.packed == 1 ? 0 : 2,
           result = source + form.count;
  auto list = [&](unsigned first) {
    std::string names = reg + std::to_string(first);
    for (unsigned i = 1; i < form.count; ++i)
      names += ", " + reg + std::to_string(first + i);
    return form.count == 1 ? names : "{" + names + "}";
  };
  // Between memory and registers from `first` on.
  auto move = [&](const std::string &op, const std::string &address,
                  unsigned first) {
    std::string text;
    for (unsigned i = 0; i < form.count; ++i) {
      std::string place = "[" + address + "+" + std::to_string(bytes * i) + "]",
                  name = reg + std::to_string(first + i);
      text += op + "." + type + " " +
              (op.substr(0, 2) == "ld" ? name + ", " + place
                                       : place + ", " + name) +
              ";\n";
    }
    return text;
  };
  std::string body = move("ld.global", "%rd1", source);
  std::string address = inShared ? "s" : "%rd2";
  if (inShared)
    body += move("ld.global", "%rd2", result) + move("st.shared", "s", result);
  std::string vector =
      form.count > 1 ? ".v" + std::to_string(form.count) : std::string();
  body += (isRed ? "red" : "atom") + qualifiers + "." + form.op + ".noftz" +
          vector + "." + form.type + " ";
  if (!isRed)
    body += list(result) + ", ";
  body += "[" + address + "], " + list(source) + ";\n";
  if (!isRed)
    body += move("st.global", "%rd1+16", result);
  if (inShared)
    body += move("ld.shared", "s", result) + move("st.global", "%rd2", result);
  return makeModule(2, body, ".shared .align 16 .b8 s[16];\n");
}

TEST(Atomic, AllFormsOfHalves) {
  for (const HalfForm &form : halfForms())
    for (bool isRed : {false, true})
      for (const char *qualifiers :
           {".global", "", ".relaxed.gpu.global", ".shared"}) {
        bool inShared = qualifiers == std::string(".shared");
        if (inShared && form.count > 1)
          continue;
        SCOPED_TRACE((isRed ? "red " : "atom ") + form.op + " v" +
                     std::to_string(form.count) + " " + form.type + qualifiers);
        bool isBrain = form.type[0] == 'b';
        unsigned elements = form.packed * form.count;
        std::vector<uint16_t> operand(16), memory(8), want(8);
        for (unsigned i = 0; i < elements; ++i) {
          int a = int(i * 5 % 7) - 3, b = i % 2 ? 1 : -1;
          b = std::abs(a + b) > 3 ? -b : b;
          memory[i] = halfOf(isBrain, a);
          operand[i] = halfOf(isBrain, b);
          want[i] = halfOf(isBrain, form.op == "add"   ? a + b
                                    : form.op == "min" ? std::min(a, b)
                                                       : std::max(a, b));
        }
        TestDevice device(checkedOptions());
        uint64_t in = device.upload(operand), cell = device.upload(memory);
        expectClean(device.run(halfKernel(form, isRed, qualifiers, inShared),
                               {}, {}, {in, cell}));
        EXPECT_EQ(device.download<uint16_t>(cell, 8), want);
        std::vector<uint16_t> old = device.download<uint16_t>(in + 16, 8);
        if (isRed)
          memory.assign(8, 0);
        EXPECT_EQ(old, memory);
      }
}

TEST(Atomic, HalvesThatThereAreNot) {
  TestDevice device;
  for (const char *line : {"atom.global.exch.f16x2 %r2, [%rd1], %r3;",
                           "atom.global.and.noftz.bf16 %rs2, [%rd1], %rs3;",
                           "red.global.inc.noftz.v2.f16 [%rd1], {%rs2, %rs3};",
                           "atom.global.cas.b16x2 %r2, [%rd1], %r3, %r4;"})
    EXPECT_FALSE(device.error(makeModule(1, line), {}, {}, {0}).empty())
        << line;
}

TEST(Atomic, ContendedCounterInSharedMemory) {
  for (const char *schedule : {"eager", "random:1", "random:2"}) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.allocate(4);
    expectClean(device.run(
        makeModule(1,
                   "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [s], 0;\n"
                   "bar.sync 0;\natom.shared.add.u32 %r2, [s], %r1;\n"
                   "bar.sync 0;\nld.shared.u32 %r3, [s];\n"
                   "@%p1 st.global.u32 [%rd1], %r3;\n",
                   ".shared .align 4 .u32 s;\n"),
        {}, {100, 1, 1}, {out}));
    EXPECT_EQ(device.download<uint32_t>(out, 1)[0], 4950u);
  }
}

} // namespace
