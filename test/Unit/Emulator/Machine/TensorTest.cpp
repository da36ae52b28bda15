//===- TensorTest.cpp - tcgen05 -------------------------------------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2", "random:3"};

const std::string globals = ".shared .align 1024 .b8 s[8192];\n"
                            ".shared .align 8 .b64 bar;\n"
                            ".shared .align 4 .u32 t;\n";

/// D[128][8] = 2 A B by two kind::f16 products; A and B come in the canonical
/// layout without swizzle. `wait` follows the commit.
std::string productKernel(const std::string &wait,
                          const std::string &release =
                              "tcgen05.dealloc.cta_group::1.sync.aligned.b32 "
                              "%r11, 32;\n") {
  uint64_t fixed = uint64_t(128 >> 4) << 32 | uint64_t(1) << 46;
  uint64_t a = fixed | 2048 >> 4 << 16, b = fixed | 128 >> 4 << 16;
  uint32_t instruction = 1 << 4 | 1 << 17 | 8 << 24;
  return makeModule(
      3,
      "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 5;\ncvt.u64.u32 %rd5, %r3;\n"
      "add.s64 %rd6, %rd1, %rd5;\nadd.u32 %r4, %r2, %r3;\n"
      "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd6];\n"
      "st.shared.v4.u32 [%r4], {%r5,%r6,%r7,%r8};\n"
      "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd6+16];\n"
      "st.shared.v4.u32 [%r4+16], {%r5,%r6,%r7,%r8};\n"
      "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra N;\nshl.b32 %r9, %r1, 4;\n"
      "cvt.u64.u32 %rd7, %r9;\nadd.s64 %rd7, %rd2, %rd7;\n"
      "add.u32 %r10, %r2, %r9;\nld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd7];\n"
      "st.shared.v4.u32 [%r10+4096], {%r5,%r6,%r7,%r8};\nN:\n"
      "setp.eq.u32 %p2, %r1, 0;\n@%p2 mbarrier.init.shared.b64 [bar], 1;\n"
      "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra X;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 32;\n"
      "X: fence.proxy.async.shared::cta;\nbar.sync 0;\n"
      "ld.shared.u32 %r11, [t];\n@!%p2 bra W;\n"
      "cvt.u64.u32 %rd8, %r2;\nshr.u64 %rd8, %rd8, 4;\n"
      "or.b64 %rd9, %rd8, " +
          std::to_string(a) +
          ";\n"
          "add.s64 %rd8, %rd8, 256;\nor.b64 %rd10, %rd8, " +
          std::to_string(b) + ";\nmov.b32 %r12, " +
          std::to_string(instruction) +
          ";\n"
          "setp.ne.u32 %p4, %r1, %r1;\n"
          "tcgen05.mma.cta_group::1.kind::f16 [%r11], %rd9, %rd10, %r12, %p4;\n"
          "tcgen05.mma.cta_group::1.kind::f16 [%r11], %rd9, %rd10, %r12, %p2;\n"
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
          "b64 "
          "[bar];\nW:\n" +
          wait +
          "tcgen05.fence::after_thread_sync;\nshr.u32 %r22, %r1, 5;\n"
          "shl.b32 %r22, %r22, 21;\nadd.u32 %r21, %r11, %r22;\n"
          "tcgen05.ld.sync.aligned.32x32b.x8.b32 "
          "{%r13,%r14,%r15,%r16,%r17,%r18,%r19,%r20}, [%r21];\n"
          "tcgen05.wait::ld.sync.aligned;\nadd.s64 %rd6, %rd3, %rd5;\n"
          "st.global.v4.u32 [%rd6], {%r13,%r14,%r15,%r16};\n"
          "st.global.v4.u32 [%rd6+16], {%r17,%r18,%r19,%r20};\nbar.sync 0;\n"
          "@%p3 bra D;\n" +
          release + "D:\n",
      globals);
}

const std::string waitForCommit =
    "L: mbarrier.try_wait.parity.shared.b64 %p5, [bar], 0;\n@!%p5 bra L;\n";

/// Small integers as f16: exact, by a table of the first values.
uint16_t half(int value) {
  if (value == 0)
    return 0;
  unsigned magnitude = static_cast<unsigned>(value < 0 ? -value : value);
  unsigned exponent = 0;
  while (magnitude >> (exponent + 1))
    ++exponent;
  unsigned mantissa = (magnitude << (10 - exponent)) & 0x3ff;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) |
                               (exponent + 15) << 10 | mantissa);
}

int elementA(unsigned m, unsigned k) { return int(m * 3 + k * 5) % 17 - 8; }
int elementB(unsigned n, unsigned k) { return int(n * 7 + k * 2) % 13 - 6; }

struct Operands {
  std::vector<uint8_t> a = std::vector<uint8_t>(4096);
  std::vector<uint8_t> b = std::vector<uint8_t>(256);
  Operands() {
    auto put = [](std::vector<uint8_t> &to, unsigned row, unsigned k,
                  unsigned leading, int value) {
      unsigned byte = 2 * k;
      unsigned at =
          row % 8 * 16 + row / 8 * 128 + byte / 16 * leading + byte % 16;
      uint16_t bits = half(value);
      memcpy(&to[at], &bits, 2);
    };
    for (unsigned k = 0; k < 16; ++k) {
      for (unsigned m = 0; m < 128; ++m)
        put(a, m, k, 2048, elementA(m, k));
      for (unsigned n = 0; n < 8; ++n)
        put(b, n, k, 128, elementB(n, k));
    }
  }
};

/// Whether D is right.
bool isProduct(const std::vector<float> &d) {
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned n = 0; n < 8; ++n) {
      int sum = 0;
      for (unsigned k = 0; k < 16; ++k)
        sum += 2 * elementA(m, k) * elementB(n, k);
      if (d[m * 8 + n] != float(sum))
        return false;
    }
  return true;
}

TEST(Tensor, ProductInAllSchedules) {
  Operands operands;
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t a = device.upload(operands.a), b = device.upload(operands.b);
    uint64_t d = device.allocate(4096);
    Report report =
        device.run(productKernel(waitForCommit), {}, {128, 1, 1}, {a, b, d});
    expectClean(report);
    EXPECT_TRUE(isProduct(device.download<float>(d, 1024))) << schedule;
    EXPECT_EQ(report.counters.tensorTotal().multiplyAdds, 2u * 128 * 8 * 16);
    EXPECT_EQ(report.counters.tensorMemoryReadBytes, 4096u);
  }
}

TEST(Tensor, AMissingWaitShows) {
  Operands operands;
  TestDevice device(checkedOptions("lazy"));
  uint64_t a = device.upload(operands.a), b = device.upload(operands.b);
  uint64_t d = device.allocate(4096);
  Report report = device.run(productKernel(""), {}, {128, 1, 1}, {a, b, d});
  EXPECT_TRUE(has(report, FindingKind::Uninitialized));
}

TEST(Tensor, LeaksAreReported) {
  Operands operands;
  TestDevice device(checkedOptions());
  uint64_t a = device.upload(operands.a), b = device.upload(operands.b);
  uint64_t d = device.allocate(4096);
  Report report =
      device.run(productKernel(waitForCommit, ""), {}, {128, 1, 1}, {a, b, d});
  EXPECT_TRUE(has(report, FindingKind::TensorMemory));
  EXPECT_TRUE(report.completed);
}

/// Runs one warp after an allocation of 64 columns at 0.
Report runWarp(TestDevice &device, const std::string &body, uint64_t out,
               Dim3 block = {32, 1, 1}) {
  return device.run(
      makeModule(1,
                 "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra X;\n"
                 "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], "
                 "64;\nX: bar.sync 0;\nld.shared.u32 %r11, [t];\n" +
                     body +
                     "bar.sync 0;\n@%p3 bra D;\n"
                     "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 64;\n"
                     "D:\n",
                 globals),
      {}, block, {out});
}

TEST(Tensor, LoadsAndStoresShareTheirCells) {
  // A row per thread is stored; 16x64b and 16x256b read it in their own order.
  TestDevice device(checkedOptions());
  uint64_t out = device.allocate(32 * 8);
  expectClean(runWarp(
      device,
      "shl.b32 %r2, %r1, 8;\nadd.u32 %r3, %r2, 1;\nadd.u32 %r4, %r2, 2;\n"
      "add.u32 %r5, %r2, 3;\nadd.u32 %r6, %r2, 4;\nadd.u32 %r7, %r2, 5;\n"
      "add.u32 %r8, %r2, 6;\nadd.u32 %r9, %r2, 7;\n"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r11], "
      "{%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9};\n"
      "tcgen05.wait::st.sync.aligned;\n"
      "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r12}, [%r11];\n"
      "tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r13,%r14,%r15,%r16}, [%r11];\n"
      "tcgen05.wait::ld.sync.aligned;\nshl.b32 %r17, %r1, 3;\n"
      "cvt.u64.u32 %rd5, %r17;\nadd.s64 %rd5, %rd1, %rd5;\n"
      "st.global.v2.u32 [%rd5], {%r12, %r16};\n",
      out));
  auto words = device.download<uint32_t>(out, 64);
  for (unsigned t = 0; t < 32; ++t) {
    unsigned lane = (t >> 2) + 8 * (t & 1), column = t >> 1 & 1;
    EXPECT_EQ(words[2 * t], lane << 8 | column);
    // Register 3: the upper eight lanes, odd column.
    EXPECT_EQ(words[2 * t + 1], ((t >> 2) + 8) << 8 | (2 * (t & 3) + 1));
  }
}

TEST(Tensor, MisuseIsReported) {
  TestDevice device(checkedOptions());
  std::string load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r12}, [%r13];\n";
  auto misused = [&](const std::string &body, Dim3 block = {32, 1, 1}) {
    return has(runWarp(device, body, 0, block), FindingKind::TensorMemory);
  };
  // Columns outside the allocation, another warp's lanes, a wrong release.
  EXPECT_TRUE(misused("add.u32 %r13, %r11, 64;\n" + load));
  EXPECT_TRUE(misused("add.u32 %r13, %r11, 0x200000;\n" + load));
  EXPECT_FALSE(misused("add.u32 %r13, %r11, 63;\n" + load));
  EXPECT_TRUE(
      misused("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 32;\n"));
  EXPECT_TRUE(misused(
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 32;\n"));
  EXPECT_TRUE(misused(
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 48;\n"));
  // Two allocations of all columns: the second waits for ever.
  EXPECT_TRUE(has(
      runWarp(device,
              "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], "
              "512;\n",
              0),
      FindingKind::Deadlock));
}

TEST(Tensor, BadDescriptorsAreReported) {
  TestDevice device(checkedOptions());
  Report report = runWarp(
      device,
      "mov.b64 %rd8, 0;\nsetp.eq.u32 %p2, %r1, 0;\n"
      "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r11], %rd8, %rd8, 0x8020010, "
      "%p2;\n",
      0);
  ASSERT_TRUE(has(report, FindingKind::IllegalOperand));
  EXPECT_NE(report.findings[0].message.find("descriptor"), std::string::npos);
}

} // namespace
