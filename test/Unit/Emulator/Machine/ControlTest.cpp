//===- ControlTest.cpp - Branches, calls, divergence, ends ----------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::string storeR2 = "mul.wide.u32 %rd5, %r1, 4;\n"
                            "add.s64 %rd5, %rd1, %rd5;\n"
                            "st.global.u32 [%rd5], %r2;\n";

std::vector<uint32_t> runThreads(const std::string &body, unsigned threads,
                                 const std::string &globals = "",
                                 const std::string &schedule = "eager") {
  TestDevice device(checkedOptions(schedule));
  uint64_t out = device.allocate(threads * 4);
  expectClean(device.run(makeModule(1, body + storeR2, globals), {},
                         {threads, 1, 1}, {out}));
  return device.download<uint32_t>(out, threads);
}

TEST(Control, DivergentLoopsCountPerThread) {
  // Collatz steps: every thread leaves the loop at another time.
  std::string body = "add.u32 %r3, %r1, 1;\nmov.u32 %r2, 0;\n"
                     "L: setp.eq.u32 %p1, %r3, 1;\n@%p1 bra D;\n"
                     "add.u32 %r2, %r2, 1;\nand.b32 %r4, %r3, 1;\n"
                     "setp.eq.u32 %p2, %r4, 0;\n@%p2 bra E;\n"
                     "mad.lo.u32 %r3, %r3, 3, 1;\nbra L;\n"
                     "E: shr.u32 %r3, %r3, 1;\nbra L;\nD:\n";
  for (const char *schedule : {"eager", "random:7"}) {
    auto results = runThreads(body, 200, "", schedule);
    for (uint32_t i = 0; i < 200; ++i) {
      uint32_t steps = 0;
      for (uint32_t n = i + 1; n != 1; ++steps)
        n = n % 2 ? 3 * n + 1 : n / 2;
      ASSERT_EQ(results[i], steps);
    }
  }
}

TEST(Control, ReconvergesAfterABranch) {
  TestDevice device;
  uint64_t out = device.allocate(128);
  Report report = device.run(
      makeModule(1, "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n"
                    "@%p1 bra E;\nmov.u32 %r3, 1;\nbra J;\n"
                    "E: mov.u32 %r3, 2;\nJ: activemask.b32 %r2;\n" +
                        storeR2),
      {}, {32, 1, 1}, {out});
  for (uint32_t mask : device.download<uint32_t>(out, 32))
    EXPECT_EQ(mask, 0xffffffffu);
}

TEST(Control, IndexedBranches) {
  auto results = runThreads("rem.u32 %r3, %r1, 3;\n"
                            "T: .branchtargets A, B, C;\nbrx.idx %r3, T;\n"
                            "A: mov.u32 %r2, 10;\nbra J;\n"
                            "B: mov.u32 %r2, 20;\nbra J;\n"
                            "C: mov.u32 %r2, 30;\nJ:\n",
                            64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(results[i], 10 * (i % 3 + 1));
}

const std::string functions =
    ".func (.param .b32 r) fib(.param .b32 n)\n{\n"
    ".reg .pred %p<2>;\n.reg .b32 %a<8>;\n"
    "ld.param.u32 %a1, [n];\nsetp.lt.u32 %p1, %a1, 2;\n@%p1 bra D;\n"
    "{ .param .b32 x; .param .b32 y;\nadd.u32 %a2, %a1, -1;\n"
    "st.param.b32 [x], %a2;\ncall.uni (y), fib, (x);\n"
    "ld.param.b32 %a3, [y]; }\n"
    "{ .param .b32 x; .param .b32 y;\nadd.u32 %a2, %a1, -2;\n"
    "st.param.b32 [x], %a2;\ncall.uni (y), fib, (x);\n"
    "ld.param.b32 %a4, [y]; }\nadd.u32 %a1, %a3, %a4;\n"
    "D: st.param.b32 [r], %a1;\nret;\n}\n"
    ".func (.reg .b32 %d) twice(.reg .b32 %x)\n{\n"
    "add.u32 %d, %x, %x;\nret;\n}\n"
    ".func (.reg .b32 %d) thrice(.reg .b32 %x)\n{\n"
    "mul.lo.u32 %d, %x, 3;\nret;\n}\n";

TEST(Control, DivergentRecursion) {
  auto results =
      runThreads("{ .param .b32 x; .param .b32 y;\n"
                 "and.b32 %r3, %r1, 15;\nst.param.b32 [x], %r3;\n"
                 "call.uni (y), fib, (x);\nld.param.b32 %r2, [y]; }\n",
                 64, functions);
  uint32_t fib[16] = {0, 1};
  for (int i = 2; i < 16; ++i)
    fib[i] = fib[i - 1] + fib[i - 2];
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(results[i], fib[i % 16]);
}

TEST(Control, IndirectAndPredicatedCalls) {
  auto results =
      runThreads("mov.u64 %rd6, twice;\nmov.u64 %rd7, thrice;\n"
                 "rem.u32 %r3, %r1, 3;\nsetp.eq.u32 %p1, %r3, 0;\n"
                 "selp.b64 %rd8, %rd6, %rd7, %p1;\nmov.u32 %r2, 1000;\n"
                 "setp.ne.u32 %p2, %r3, 2;\n"
                 "P: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
                 "@%p2 call (%r2), %rd8, (%r1), P;\n",
                 64, functions);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(results[i], i % 3 == 0 ? 2 * i : i % 3 == 1 ? 3 * i : 1000);
}

TEST(Control, ExitedThreadsAreNotWaitedFor) {
  auto body = "mov.u32 %r2, 1;\nsetp.ge.u32 %p1, %r1, 40;\n@%p1 exit;\n"
              "bar.sync 0;\nmov.u32 %r2, 2;\n";
  TestDevice device(checkedOptions());
  uint64_t out = device.allocate(64 * 4);
  llvm::cantFail(device.device.fill(out, 0, 256));
  expectClean(device.run(makeModule(1, body + storeR2), {}, {64, 1, 1}, {out}));
  auto results = device.download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(results[i], i < 40 ? 2u : 0u);
}

TEST(Control, TrapAndAssertAreReported) {
  TestDevice device;
  Report report =
      device.run(makeModule(0, "setp.eq.u32 %p1, %r1, 5;\n@%p1 trap;"), {},
                 {32, 1, 1}, {});
  ASSERT_TRUE(has(report, FindingKind::Trap));
  EXPECT_EQ(report.findings[0].thread.x, 5u);
  EXPECT_FALSE(report.completed);
}

TEST(Control, StepLimitAndInterrupt) {
  Options options;
  options.maxWarpInstructions = 10000;
  TestDevice limited(options);
  EXPECT_TRUE(has(limited.run(makeModule(0, "L: bra L;"), {}, {}, {}),
                  FindingKind::StepLimit));
  std::atomic<bool> stop{true};
  Options interrupted;
  interrupted.interrupt = &stop;
  TestDevice device(interrupted);
  EXPECT_TRUE(has(device.run(makeModule(0, "L: bra L;"), {}, {}, {}),
                  FindingKind::Interrupted));
}

TEST(Control, UnsupportedInstructionsNameTheirLine) {
  TestDevice device;
  std::string text = device.error(
      makeModule(0, "multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;"), {},
      {}, {});
  EXPECT_NE(text.find("test.ptx:"), std::string::npos) << text;
  EXPECT_NE(text.find("multimem.red"), std::string::npos) << text;
}

TEST(Control, LaunchShapeIsChecked) {
  TestDevice device;
  std::string module = makeModule(0, "");
  EXPECT_NE(device.error(module, {0, 1, 1}, {}, {}).find("grid"),
            std::string::npos);
  EXPECT_NE(device.error(module, {}, {1025, 1, 1}, {}).find("block"),
            std::string::npos);
  EXPECT_NE(device.error(module, {}, {}, {1}).find("bytes of arguments"),
            std::string::npos);
}

TEST(Control, PrintfFormats) {
  std::string printed;
  Options options;
  options.print = [&](llvm::StringRef text) { printed += text.str(); };
  TestDevice device(options);
  expectClean(device.run(
      makeModule(0,
                 ".local .align 8 .b8 buffer[32];\nmov.u64 %rd5, buffer;\n"
                 "cvta.local.u64 %rd6, %rd5;\nst.local.u32 [%rd5], -7;\n"
                 "mov.f64 %fd1, 0d3FF8000000000000;\n"
                 "st.local.f64 [%rd5+8], %fd1;\nmov.u64 %rd9, str;\n"
                 "cvta.global.u64 %rd9, %rd9;\nst.local.u64 [%rd5+16], %rd9;\n"
                 "mov.u64 %rd7, fmt;\ncvta.global.u64 %rd8, %rd7;\n"
                 "{ .param .b64 a; .param .b64 b; .param .b32 c;\n"
                 "st.param.b64 [a], %rd8;\nst.param.b64 [b], %rd6;\n"
                 "call.uni (c), vprintf, (a, b); }\n",
                 ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param "
                 ".b64 b);\n"
                 // "%5d|%.2f|%s%%\n"
                 ".global .align 1 .b8 fmt[15] = {37,53,100,124,37,46,50,102,"
                 "124,37,115,37,37,10};\n"
                 ".global .align 1 .b8 str[3] = {111,107};\n"),
      {}, {2, 1, 1}, {}));
  EXPECT_EQ(printed, "   -7|1.50|ok%\n   -7|1.50|ok%\n");
}

} // namespace
