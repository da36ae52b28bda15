//===- WarpgroupTest.cpp - wgmma ------------------------------------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2", "random:3"};

int aValue(unsigned row, unsigned k) { return int(row * 3 + k * 5) % 7 - 3; }
int bValue(unsigned k, unsigned col) { return int(k * 4 + col * 3) % 5 - 2; }

/// Small integers as f16.
uint16_t half(int value) {
  unsigned magnitude = static_cast<unsigned>(std::abs(value)), exponent = 0;
  if (!magnitude)
    return 0;
  while (magnitude >> (exponent + 1))
    ++exponent;
  unsigned mantissa = (magnitude << (10 - exponent)) & 0x3ff;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) |
                               (exponent + 15) << 10 | mantissa);
}

/// A (64 x 16) and B (8 columns of 16) in core matrices of 8 rows of 16 bytes:
/// the next 8 rows 128 bytes on, the next 8 elements of K after all rows.
std::vector<uint16_t> operands() {
  std::vector<uint16_t> bytes(2048 / 2 + 256 / 2);
  for (unsigned k = 0; k < 16; ++k) {
    for (unsigned row = 0; row < 64; ++row)
      bytes[(row % 8 * 16 + row / 8 * 128 + k / 8 * 1024) / 2 + k % 8] =
          half(aValue(row, k));
    for (unsigned col = 0; col < 8; ++col)
      bytes[(2048 + col * 16 + k / 8 * 128) / 2 + k % 8] = half(bValue(k, col));
  }
  return bytes;
}

/// The fragments of A that 128 threads hold: rows g and g + 8, then the same
/// for the other half of K.
std::vector<uint16_t> fragments() {
  std::vector<uint16_t> values;
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned reg = 0; reg < 4; ++reg)
      for (unsigned i = 0; i < 2; ++i)
        values.push_back(
            half(aValue(16 * (thread / 32) + thread % 32 / 4 + 8 * (reg % 2),
                        8 * (reg / 2) + thread % 4 * 2 + i)));
  return values;
}

uint64_t descriptor(uint64_t leading, uint64_t stride) {
  return leading >> 4 << 16 | stride >> 4 << 32;
}

std::string kernel(bool registers, const std::string &wait,
                   const std::string &fence = "fence.proxy.async;\n") {
  std::string a = registers ? "{%r10,%r11,%r12,%r13}" : "%rd10";
  std::string tail = registers ? "1, -1, 0;\n" : "1, -1, 0, 0;\n";
  std::string product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                        "{%f1,%f2,%f3,%f4}, " +
                        a + ", %rd11, ";
  return makeModule(
      3,
      "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 4;\ncvt.u64.u32 %rd5, %r3;\n"
      "add.s64 %rd6, %rd1, %rd5;\nadd.u32 %r4, %r2, %r3;\n"
      "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd6];\n"
      "st.shared.v4.u32 [%r4], {%r5,%r6,%r7,%r8};\n"
      "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra N;\n"
      "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd6+2048];\n"
      "st.shared.v4.u32 [%r4+2048], {%r5,%r6,%r7,%r8};\nN:\n"
      "add.s64 %rd7, %rd2, %rd5;\n"
      "ld.global.v4.u32 {%r10,%r11,%r12,%r13}, [%rd7];\n" +
          fence +
          "bar.sync 0;\ncvt.u64.u32 %rd8, %r2;\nshr.u64 %rd8, %rd8, 4;\n"
          "or.b64 %rd10, %rd8, " +
          std::to_string(descriptor(1024, 128)) +
          ";\nadd.s64 %rd9, %rd8, 128;\nor.b64 %rd11, %rd9, " +
          std::to_string(descriptor(128, 128)) +
          ";\nsetp.eq.u32 %p2, %r1, %r1;\nwgmma.fence.sync.aligned;\n" +
          product + "0, " + tail + product + "%p2, " + tail +
          "wgmma.commit_group.sync.aligned;\n" + wait +
          "add.s64 %rd12, %rd3, %rd5;\n"
          "st.global.v4.f32 [%rd12], {%f1,%f2,%f3,%f4};\n",
      ".shared .align 1024 .b8 s[4096];\n");
}

const std::string waitForAll = "wgmma.wait_group.sync.aligned 0;\n";

bool isProduct(const std::vector<float> &out) {
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2);
      unsigned col = thread % 4 * 2 + i % 2;
      int sum = 0;
      for (unsigned k = 0; k < 16; ++k)
        sum += aValue(row, k) * bValue(k, col);
      // Twice, and B is negated.
      if (out[thread * 4 + i] != float(-2 * sum))
        return false;
    }
  return true;
}

TEST(Warpgroup, ProductsInAllSchedules) {
  for (bool registers : {false, true})
    for (const std::string &schedule : schedules) {
      TestDevice device(checkedOptions(schedule));
      uint64_t in = device.upload(operands()), a = device.upload(fragments()),
               out = device.allocate(2048);
      Report report = device.run(kernel(registers, waitForAll), {}, {128, 1, 1},
                                 {in, a, out});
      expectClean(report);
      EXPECT_TRUE(isProduct(device.download<float>(out, 512)))
          << schedule << registers;
      TensorCounts counts = report.counters.tensorTotal();
      EXPECT_EQ(counts.instructions, 2u);
      EXPECT_EQ(counts.multiplyAdds, 2u * 64 * 8 * 16);
      EXPECT_EQ(counts.sharedBytes, 2u * 32 * (registers ? 8 : 64 + 8));
    }
}

TEST(Warpgroup, AMissingWaitShows) {
  for (const char *wait : {"", "wgmma.wait_group.sync.aligned 1;\n"}) {
    TestDevice device(checkedOptions("lazy"));
    uint64_t in = device.upload(operands()), a = device.upload(fragments()),
             out = device.allocate(2048);
    device.run(kernel(false, wait), {}, {128, 1, 1}, {in, a, out});
    EXPECT_FALSE(isProduct(device.download<float>(out, 512)));
  }
}

TEST(Warpgroup, AMissingProxyFenceIsFound) {
  TestDevice device(checkedOptions());
  uint64_t in = device.upload(operands()), a = device.upload(fragments()),
           out = device.allocate(2048);
  EXPECT_TRUE(has(
      device.run(kernel(false, waitForAll, ""), {}, {128, 1, 1}, {in, a, out}),
      FindingKind::ProxyRace));
}

TEST(Warpgroup, Errors) {
  TestDevice device(checkedOptions());
  uint64_t in = device.upload(operands()), a = device.upload(fragments()),
           out = device.allocate(2048);
  EXPECT_TRUE(
      has(device.run(kernel(false, waitForAll), {}, {96, 1, 1}, {in, a, out}),
          FindingKind::IllegalOperand));
  auto message = [&](const std::string &text) {
    return device.error(makeModule(0, text), {}, {128, 1, 1}, {});
  };
  const std::string d = "{%f1,%f2,%f3,%f4}",
                    base = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 ";
  EXPECT_NE(message(base + d + ", %rd1, %rd2, 1, 2, 1, 0, 0;").find("1 or -1"),
            std::string::npos);
  EXPECT_NE(message(base + d + ", %rd1, %rd2, 1, 1, 1, 0, 3;").find("0 or 1"),
            std::string::npos);
  EXPECT_NE(
      message(base + "{%f1,%f2}, %rd1, %rd2, 1, 1, 1, 0, 0;").find("needs 4"),
      std::string::npos);
  EXPECT_NE(message("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 " + d +
                    ", %rd1, %rd2, 1, 1, 1, 0, 0;")
                .find("no such N"),
            std::string::npos);
}

TEST(Sparse, EachFormIsAnError) {
  TestDevice device;
  for (const char *text :
       {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
        "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, "
        "{%f1,%f2,%f3,%f4}, %r9, 0;",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
        " {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, "
        "{%f1,%f2,%f3,%f4}, %r9, 0;",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 "
        "{%f1,%f2,%f3,%f4}, %rd1, %rd2, %r9, 0, 1, 1, 1, 0, 0;",
        "tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r4, "
        "%p1;",
        "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], "
        "%r4, %p1;"}) {
    std::string message =
        device.error(makeModule(0, text), {}, {128, 1, 1}, {});
    EXPECT_NE(message.find("sparse products are not supported"),
              std::string::npos)
        << message;
  }
  std::string message =
      device.error(makeModule(0, "multimem.ld_reduce.global.add.f32 %f1, "
                                 "[%rd1];"),
                   {}, {32, 1, 1}, {});
  EXPECT_NE(message.find("multimem addresses several devices"),
            std::string::npos)
      << message;
}

} // namespace
