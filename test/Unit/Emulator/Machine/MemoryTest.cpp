//===- MemoryTest.cpp - Loads, stores, spaces and their checks ------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

TEST(Memory, VectorsAndExtension) {
  TestDevice device(checkedOptions());
  std::vector<uint8_t> in(64);
  for (unsigned i = 0; i < 64; ++i)
    in[i] = static_cast<uint8_t>(0x70 + 7 * i);
  uint64_t from = device.upload(in), to = device.allocate(128);
  expectClean(device.run(
      makeModule(2,
                 "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+16];\n"
                 "st.global.v4.b32 [%rd2], {%r5,%r4,%r3,%r2};\n"
                 "ld.global.s8 %r6, [%rd1+20];\nst.global.u32 [%rd2+16], %r6;\n"
                 "ld.global.u8 %r6, [%rd1+20];\nst.global.u32 [%rd2+20], %r6;\n"
                 "ld.global.s16 %rd5, [%rd1+20];\n"
                 "st.global.u64 [%rd2+24], %rd5;\n"
                 "ld.global.v8.b32 {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17},"
                 " [%rd1+32];\n"
                 "st.global.v8.b32 [%rd2+32], "
                 "{%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17};\n"
                 ".reg .b128 %v;\nld.global.b128 %v, [%rd1];\n"
                 "st.global.b128 [%rd2+64], %v;\n"),
      {}, {}, {from, to}));
  auto out = device.download<uint8_t>(to, 80);
  for (unsigned i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], in[16 + (3 - i / 4) * 4 + i % 4]);
    EXPECT_EQ(out[64 + i], in[i]);
  }
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[32 + i], in[32 + i]);
  int32_t s8, u8;
  int64_t s16;
  memcpy(&s8, &out[16], 4);
  memcpy(&u8, &out[20], 4);
  memcpy(&s16, &out[24], 8);
  EXPECT_EQ(s8, int8_t(in[20]));
  EXPECT_EQ(u8, in[20]);
  EXPECT_EQ(s16, int16_t(in[20] | in[21] << 8));
}

TEST(Memory, SpacesAndGenericAddresses) {
  // The same word through shared, local, const and their generic addresses.
  TestDevice device(checkedOptions());
  uint64_t to = device.allocate(32);
  expectClean(device.run(
      makeModule(1,
                 ".local .align 8 .b8 depot[16];\n"
                 "mov.u32 %r2, s;\ncvta.shared.u64 %rd5, s;\n"
                 "st.shared.u32 [s+4], 17;\nld.u32 %r3, [%rd5+4];\n"
                 "st.u32 [%rd5], 18;\nld.shared.u32 %r4, [%r2];\n"
                 "mov.u64 %rd6, depot;\ncvta.local.u64 %rd7, %rd6;\n"
                 "st.u32 [%rd7+8], 19;\nld.local.u32 %r5, [%rd6+8];\n"
                 "cvta.const.u64 %rd8, c;\nld.u32 %r6, [%rd8+4];\n"
                 "ld.const.u32 %r7, [c];\n"
                 "isspacep.shared %p1, %rd5;\nisspacep.local %p2, %rd7;\n"
                 "isspacep.global %p3, %rd1;\nisspacep.const %p4, %rd8;\n"
                 "isspacep.global %p5, %rd5;\n"
                 "selp.u32 %r8, 1, 0, %p1;\nselp.u32 %r9, 2, 0, %p2;\n"
                 "selp.u32 %r10, 4, 0, %p3;\nselp.u32 %r11, 8, 0, %p4;\n"
                 "selp.u32 %r12, 16, 0, %p5;\n"
                 "or.b32 %r8, %r8, %r9;\nor.b32 %r8, %r8, %r10;\n"
                 "or.b32 %r8, %r8, %r11;\nor.b32 %r8, %r8, %r12;\n"
                 "st.global.v4.u32 [%rd1], {%r3,%r4,%r5,%r6};\n"
                 "st.global.v2.u32 [%rd1+16], {%r7,%r8};\n",
                 ".shared .align 8 .b8 s[16];\n"
                 ".const .align 4 .u32 c[2] = {41, 42};\n"),
      {}, {}, {to}));
  EXPECT_EQ(device.download<uint32_t>(to, 6),
            (std::vector<uint32_t>{17, 18, 19, 42, 41, 15}));
}

TEST(Memory, GlobalVariablesKeepTheirValues) {
  Device device;
  auto *module = llvm::cantFail(device.loadModule(
      makeModule(0,
                 "ld.global.u32 %r2, [g+4];\nadd.s32 %r2, %r2, 1;\n"
                 "st.global.u32 [g+4], %r2;\n",
                 ".global .align 4 .u32 g[3] = {7, 8};\n")));
  LaunchConfig config;
  for (int i = 0; i < 2; ++i)
    expectClean(llvm::cantFail(device.launch(module, "k", config)));
  auto [address, size] = llvm::cantFail(module->getGlobal("g"));
  EXPECT_EQ(size, 12u);
  uint32_t words[3];
  llvm::cantFail(device.copyFromDevice(words, address, 12));
  EXPECT_EQ(words[0], 7u);
  EXPECT_EQ(words[1], 10u);
  EXPECT_EQ(words[2], 0u);
  EXPECT_TRUE(bool(module->getGlobal("h").takeError()));
}

TEST(Memory, OutOfBoundsNamesTheAllocation) {
  TestDevice device;
  uint64_t to = device.allocate(128);
  std::string body = "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
                     "st.global.u32 [%rd5], %r1;\n";
  expectClean(device.run(makeModule(1, body), {}, {32, 1, 1}, {to}));
  Report report = device.run(makeModule(1, body), {}, {33, 1, 1}, {to});
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding &finding = report.findings[0];
  EXPECT_FALSE(report.completed);
  EXPECT_EQ(finding.kind, FindingKind::OutOfBounds);
  EXPECT_TRUE(finding.fatal);
  EXPECT_EQ(finding.thread.x, 32u);
  EXPECT_EQ(finding.address, to + 128);
  EXPECT_EQ(finding.file, "test.ptx");
  EXPECT_EQ(finding.instruction, "st.global.u32 [%rd5], %r1");
  EXPECT_NE(finding.message.find("0 bytes past the end of 'buffer'"),
            std::string::npos)
      << finding.message;
}

TEST(Memory, BoundsOfSharedAndLocal) {
  TestDevice device;
  auto kind = [&](const std::string &body, uint64_t shared) {
    Report report =
        device.run(makeModule(0, body, ".extern .shared .align 16 .b8 d[];\n"),
                   {}, {}, {}, shared);
    return report.findings.empty() ? std::string("none")
                                   : stringify(report.findings[0].kind);
  };
  EXPECT_EQ(kind("st.shared.u32 [d+60], 1;", 64), "none");
  EXPECT_EQ(kind("st.shared.u32 [d+64], 1;", 64), "out-of-bounds");
  EXPECT_EQ(kind("st.shared.u32 [d+62], 1;", 64), "misaligned");
  EXPECT_EQ(kind("mov.u32 %r2, 0;\nst.shared.u32 [%r2], 1;", 64),
            "out-of-bounds");
  EXPECT_EQ(kind(".local .b8 l[8];\nmov.u64 %rd5, l;\n"
                 "st.local.u32 [%rd5+4096], 1;",
                 0),
            "out-of-bounds");
  EXPECT_EQ(kind("mov.u64 %rd5, 0;\nld.global.u32 %r2, [%rd5];", 0),
            "out-of-bounds");
}

TEST(Memory, UninitializedReads) {
  TestDevice device(checkedOptions());
  uint64_t from = device.allocate(64), to = device.allocate(64);
  std::string body = "ld.global.u32 %r2, [%rd1];\nst.global.u32 [%rd2], %r2;\n";
  Report report = device.run(makeModule(2, body), {}, {}, {from, to});
  EXPECT_TRUE(report.completed);
  EXPECT_TRUE(has(report, FindingKind::Uninitialized));
  uint32_t word = 5;
  llvm::cantFail(device.device.copyToDevice(from, &word, 4));
  expectClean(device.run(makeModule(2, body), {}, {}, {from, to}));
  Report shared = device.run(
      makeModule(2, "st.shared.u16 [s], 1;\nld.shared.u32 %r2, [s];\n",
                 ".shared .align 4 .b8 s[8];\n"),
      {}, {}, {from, to});
  ASSERT_TRUE(has(shared, FindingKind::Uninitialized));
  EXPECT_NE(shared.findings[0].message.find("byte 2 of 4"), std::string::npos);
}

TEST(Memory, RegisteredHostMemory) {
  std::vector<uint32_t> host(64, 3);
  TestDevice device;
  llvm::cantFail(device.device.registerHost(host.data(), 256, "host"));
  expectClean(device.run(makeModule(1, "st.global.u32 [%rd1+8], 9;"), {}, {},
                         {reinterpret_cast<uint64_t>(host.data())}));
  EXPECT_EQ(host[2], 9u);
  EXPECT_TRUE(bool(device.device.registerHost(host.data() + 4, 4)));
  llvm::cantFail(device.device.unregisterHost(host.data()));
  EXPECT_TRUE(has(device.run(makeModule(1, "st.global.u32 [%rd1+8], 9;"), {},
                             {}, {reinterpret_cast<uint64_t>(host.data())}),
                  FindingKind::OutOfBounds));
}

TEST(Memory, FreedMemoryIsOutOfBounds) {
  TestDevice device;
  uint64_t a = device.allocate(4096), b = device.allocate(1);
  llvm::cantFail(device.device.free(a));
  EXPECT_TRUE(bool(device.device.free(a)));
  EXPECT_TRUE(
      has(device.run(makeModule(1, "st.global.u32 [%rd1], 9;"), {}, {}, {a}),
          FindingKind::OutOfBounds));
  // The hole is used again.
  EXPECT_EQ(device.allocate(4096), a);
  llvm::cantFail(device.device.free(b));
}

TEST(Memory, CountsSectorsAndWavefronts) {
  TestDevice device;
  uint64_t buffer = device.allocate(32 * 128);
  auto count = [&](unsigned stride) {
    return device
        .run(makeModule(1, "mul.wide.u32 %rd5, %r1, " + std::to_string(stride) +
                               ";\nadd.s64 %rd5, %rd1, %rd5;\n"
                               "ld.global.u32 %r2, [%rd5];\n"),
             {}, {32, 1, 1}, {buffer})
        .counters;
  };
  EXPECT_EQ(count(4).globalReadSectors, 4u);
  EXPECT_EQ(count(32).globalReadSectors, 32u);
  EXPECT_EQ(count(8).globalReadSectors, 8u);
  EXPECT_EQ(count(0).globalReadSectors, 1u);
  EXPECT_EQ(count(8).distinctReadSectors, 8u);
  EXPECT_EQ(count(8).globalReadBytes, 128u);
  auto wavefronts = [&](unsigned stride, const std::string &load) {
    return device
        .run(makeModule(0,
                        "mov.u32 %r3, s;\nmul.lo.u32 %r2, %r1, " +
                            std::to_string(stride) +
                            ";\nadd.u32 %r2, %r2, %r3;\n" + load,
                        ".shared .align 128 .b8 s[8192];\n"),
             {}, {32, 1, 1}, {})
        .counters.sharedWavefronts;
  };
  EXPECT_EQ(wavefronts(4, "ld.shared.u32 %r4, [%r2];"), 1u);
  EXPECT_EQ(wavefronts(8, "ld.shared.u32 %r4, [%r2];"), 2u);
  EXPECT_EQ(wavefronts(128, "ld.shared.u32 %r4, [%r2];"), 32u);
  EXPECT_EQ(wavefronts(132, "ld.shared.u32 %r4, [%r2];"), 1u);
  EXPECT_EQ(wavefronts(0, "ld.shared.u32 %r4, [%r2];"), 1u);
  EXPECT_EQ(wavefronts(16, "ld.shared.v4.u32 {%r4,%r5,%r6,%r7}, [%r2];"), 4u);
}

} // namespace
