//===- SystemCallTest.cpp - malloc, free, __assertfail and alloca ---------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::string heap =
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
    ".extern .func free (.param .b64 p);\n";

std::string allocate(const std::string &bytes, const std::string &to) {
  return "{\n.param .b64 n;\n.param .b64 r;\nst.param.b64 [n], " + bytes +
         ";\ncall.uni (r), malloc, (n);\nld.param.b64 " + to + ", [r];\n}\n";
}
std::string release(const std::string &address) {
  return "{\n.param .b64 p;\nst.param.b64 [p], " + address +
         ";\ncall.uni free, (p);\n}\n";
}

TEST(SystemCall, EachThreadHasMemoryOfItsOwn) {
  for (const char *schedule : {"eager", "random:4"}) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.allocate(4 * 3 * 40);
    Report report = device.run(
        makeModule(
            1,
            allocate("8", "%rd5") +
                "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 40, %r1;\n"
                "st.u32 [%rd5], %r3;\nst.u32 [%rd5+4], 7;\n"
                "bar.sync 0;\nld.u32 %r4, [%rd5];\nld.u32 %r5, [%rd5+4];\n"
                "add.u32 %r4, %r4, %r5;\nmul.wide.u32 %rd6, %r3, 4;\n"
                "add.s64 %rd6, %rd1, %rd6;\nst.global.u32 [%rd6], %r4;\n" +
                release("%rd5"),
            heap),
        {3, 1, 1}, {40, 1, 1}, {out});
    expectClean(report);
    auto values = device.download<uint32_t>(out, 120);
    for (unsigned i = 0; i < 120; ++i)
      EXPECT_EQ(values[i], i + 7);
  }
}

TEST(SystemCall, MisuseOfTheHeap) {
  auto run = [](const std::string &body) {
    TestDevice device(checkedOptions());
    return device.run(makeModule(1, body, heap), {}, {1, 1, 1},
                      {device.upload(std::vector<uint64_t>{0})});
  };
  EXPECT_TRUE(has(run(allocate("8", "%rd5") + "st.u32 [%rd5+8], 1;\n"),
                  FindingKind::OutOfBounds));
  EXPECT_TRUE(has(run(allocate("8", "%rd5") + "ld.u32 %r2, [%rd5];\n"),
                  FindingKind::Uninitialized));
  EXPECT_TRUE(
      has(run(allocate("8", "%rd5") + release("%rd5") + release("%rd5")),
          FindingKind::IllegalOperand));
  EXPECT_TRUE(has(
      run(allocate("8", "%rd5") + "add.s64 %rd6, %rd5, 4;\n" + release("%rd6")),
      FindingKind::IllegalOperand));
  // Memory of the host is not the heap's.
  EXPECT_TRUE(has(run(release("%rd1")), FindingKind::IllegalOperand));
  EXPECT_TRUE(has(run(allocate("8", "%rd5") + "st.u32 [%rd5], 1;\n" +
                      release("%rd5") + "ld.u32 %r2, [%rd5];\n"),
                  FindingKind::OutOfBounds));
  // A null pointer may be freed; no bytes give one.
  Report report = run(allocate("0", "%rd5") + release("%rd5") +
                      "st.global.u64 [%rd1], %rd5;\n");
  expectClean(report);
  EXPECT_TRUE(has(run(allocate("-1", "%rd5") + "st.u32 [%rd5], 1;\n"),
                  FindingKind::OutOfBounds));
}

TEST(SystemCall, AssertFail) {
  auto text = [](const char *name, const std::string &value) {
    std::string bytes;
    for (char c : value)
      bytes += std::to_string(int(c)) + ", ";
    return ".global .b8 " + std::string(name) + "[] = {" + bytes + "0};\n";
  };
  TestDevice device;
  Report report = device.run(
      makeModule(0,
                 "setp.ne.u32 %p1, %r1, 5;\n@%p1 bra E;\n"
                 "{\n.param .b64 a;\n.param .b64 b;\n.param .b32 c;\n"
                 ".param .b64 d;\n.param .b64 e;\n"
                 "mov.u64 %rd5, m;\nst.param.b64 [a], %rd5;\n"
                 "mov.u64 %rd5, f;\nst.param.b64 [b], %rd5;\n"
                 "st.param.b32 [c], 42;\nmov.u64 %rd5, g;\n"
                 "st.param.b64 [d], %rd5;\nst.param.b64 [e], 1;\n"
                 "call.uni __assertfail, (a, b, c, d, e);\n}\nE:\n",
                 text("m", "x < 3") + text("f", "k.cu") +
                     text("g", "void k()") +
                     ".extern .func __assertfail (.param .b64 a, .param .b64 b,"
                     " .param .b32 c, .param .b64 d, .param .b64 e);\n"),
      {2, 1, 1}, {32, 1, 1}, {});
  EXPECT_FALSE(report.completed);
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding &finding = report.findings[0];
  EXPECT_EQ(finding.kind, FindingKind::AssertFailed);
  EXPECT_EQ(finding.message,
            "assertion `x < 3` failed at k.cu:42, in void k()");
  EXPECT_EQ(finding.thread.x, 5u);
  EXPECT_EQ(finding.cta.x, 0u);
}

TEST(SystemCall, FunctionsThatTheSystemHasNot) {
  TestDevice device;
  std::string message = device.error(
      makeModule(0, "call.uni launch, ();\n", ".extern .func launch ();\n"), {},
      {1, 1, 1}, {});
  EXPECT_NE(message.find("'launch' has no body"), std::string::npos) << message;
}

TEST(Alloca, BlocksOfThreadsAndFrames) {
  for (const char *schedule : {"eager", "random:1"}) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.allocate(4 * 64);
    // Thread t writes t to a block of 4(t+1) bytes, calls a function that
    // writes to one of its own, and reads its own again.
    Report report = device.run(
        makeModule(1,
                   "cvt.u64.u32 %rd5, %r1;\nadd.s64 %rd5, %rd5, 1;\n"
                   "shl.b64 %rd5, %rd5, 2;\nstacksave.u64 %rd8;\n"
                   "alloca.u64 %rd6, %rd5, 16;\nand.b64 %rd7, %rd6, 15;\n"
                   "cvt.u32.u64 %r5, %rd7;\n"
                   "st.local.u32 [%rd6], %r1;\ncall.uni inner, ();\n"
                   "cvta.local.u64 %rd9, %rd6;\nld.u32 %r2, [%rd9];\n"
                   "stackrestore.u64 %rd8;\nalloca.u64 %rd10, 4, 16;\n"
                   "sub.s64 %rd11, %rd10, %rd6;\ncvt.u32.u64 %r3, %rd11;\n"
                   "add.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r5;\n"
                   "mul.wide.u32 %rd12, %r1, 4;\nadd.s64 %rd12, %rd1, %rd12;\n"
                   "st.global.u32 [%rd12], %r2;\n",
                   ".func inner ()\n{\n.reg .b64 %rd<2>;\n"
                   "alloca.u64 %rd1, 64;\nst.local.u32 [%rd1], 99;\nret;\n}\n"),
        {}, {64, 1, 1}, {out});
    expectClean(report);
    auto values = device.download<uint32_t>(out, 64);
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(values[i], i);
  }
}

TEST(Alloca, Misuse) {
  auto run = [](const std::string &body) {
    TestDevice device(checkedOptions());
    return device.run(makeModule(0, body), {}, {1, 1, 1}, {});
  };
  EXPECT_TRUE(has(run("alloca.u64 %rd5, 8;\nst.local.u32 [%rd5+8], 1;\n"),
                  FindingKind::OutOfBounds));
  EXPECT_TRUE(has(run("alloca.u64 %rd5, 8;\nld.local.u32 %r2, [%rd5];\n"),
                  FindingKind::Uninitialized));
  EXPECT_TRUE(has(run("alloca.u64 %rd5, 600000;\n"), FindingKind::OutOfBounds));
  EXPECT_TRUE(has(run("mov.u64 %rd5, 12;\nstackrestore.u64 %rd5;\n"),
                  FindingKind::IllegalOperand));
  TestDevice device;
  EXPECT_NE(device.error(makeModule(0, "alloca.u64 %rd5, 8, 12;\n"), {}, {}, {})
                .find("power of two"),
            std::string::npos);
}

} // namespace
