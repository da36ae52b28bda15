//===- SpinTest.cpp - Threads that spin for nothing, and others -----------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2"};

/// Runs `body`, which gets two words of zeros in global memory in %rd1, under
/// all schedules with and without checks, and expects a deadlock whose text has
/// `part`.
void expectDeadlock(const std::string &body, const std::string &part,
                    Dim3 grid = {}, Dim3 block = {32, 1, 1},
                    Dim3 cluster = {0, 0, 0}) {
  for (const std::string &schedule : schedules)
    for (bool checks : {true, false}) {
      Options options = checkedOptions(schedule);
      if (!checks)
        options.checks = Checks();
      options.threads = 3;
      TestDevice device(options);
      uint64_t words = device.upload(std::vector<uint32_t>{0, 0});
      Report report =
          device.run(makeModule(1, body,
                                ".shared .align 8 .b64 b;\n"
                                ".shared .align 4 .u32 s;\n"
                                ".func (.param .b32 r) get(.param .b64 p) {\n"
                                ".reg .b64 %a;\n.reg .b32 %v;\n"
                                "ld.param.b64 %a, [p];\n"
                                "ld.relaxed.gpu.u32 %v, [%a];\n"
                                "st.param.b32 [r], %v;\nret;\n}\n"),
                     grid, block, {words}, 0, cluster);
      SCOPED_TRACE(schedule + (checks ? "" : " without checks") + body);
      ASSERT_TRUE(has(report, FindingKind::Deadlock));
      const Finding *finding = nullptr;
      for (const Finding &f : report.findings)
        if (f.kind == FindingKind::Deadlock)
          finding = &f;
      EXPECT_NE(finding->message.find(part), std::string::npos)
          << finding->message;
      EXPECT_NE(finding->line, 0u);
    }
}

/// The same for a kernel that ends with nothing found; returns the words.
std::vector<uint32_t> expectEnd(const std::string &body,
                                const std::string &schedule, Dim3 grid = {},
                                Dim3 block = {32, 1, 1}, unsigned threads = 1) {
  Options options = checkedOptions(schedule);
  options.threads = threads;
  if (threads > 1)
    options.checks = Checks();
  TestDevice device(options);
  uint64_t words = device.upload(std::vector<uint32_t>{0, 0});
  expectClean(device.run(makeModule(1, body, ".shared .align 8 .b64 b;\n"),
                         grid, block, {words}));
  return device.download<uint32_t>(words, 2);
}

TEST(Spin, OnAFlagThatNobodySets) {
  const std::string loop = "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\n";
  expectDeadlock("L: ld.relaxed.gpu.global.u32 %r2, [%rd1+4];\n" + loop,
                 "repeat themselves, reading 0x");
  expectDeadlock("L: ld.acquire.gpu.u32 %r2, [%rd1];\n" + loop,
                 "('ld.acquire.gpu.u32 %r2, [%rd1]')", {5, 1, 1});
  expectDeadlock("L: atom.global.cas.b32 %r2, [%rd1], 1, 2;\n" + loop,
                 "('atom.global.cas.b32 %r2, [%rd1], 1, 2')");
  expectDeadlock("atom.shared.exch.b32 %r2, [s], 0;\n"
                 "L: ld.volatile.shared.u32 %r2, [s];\nnanosleep.u32 20;\n" +
                     loop,
                 "reading 0x00000400");
  // The lock is never free: the second thread holds it.
  expectDeadlock("L: atom.global.exch.b32 %r2, [%rd1], 1;\n"
                 "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\n",
                 "('atom.global.exch.b32 %r2, [%rd1], 1')");
}

TEST(Spin, OnNothing) { expectDeadlock("L: bra L;\n", "repeat themselves at"); }

TEST(Spin, WithRegistersThatComeBack) {
  // The counter wraps around after 16 rounds.
  expectDeadlock(".reg .u32 %n;\nmov.u32 %n, 0;\n"
                 "L: add.u32 %n, %n, 1;\nand.b32 %n, %n, 15;\n"
                 "mul.lo.u32 %r3, %n, %n;\n"
                 "ld.relaxed.gpu.global.u32 %r2, [%rd1];\n"
                 "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\n",
                 "repeat themselves, reading 0x");
}

TEST(Spin, InFunctionsWithLocalMemory) {
  expectDeadlock(".local .u32 rounds;\n.reg .u32 %n;\n"
                 "L: { .param .b64 p;\n.param .b32 r;\n"
                 "st.param.b64 [p], %rd1;\ncall (r), get, (p);\n"
                 "ld.param.b32 %r2, [r]; }\n"
                 "st.local.u32 [rounds], %r2;\n"
                 "ld.local.u32 %n, [rounds];\n"
                 "setp.eq.u32 %p1, %n, 0;\n@%p1 bra L;\n",
                 "('ld.relaxed.gpu.u32 %v, [%a]')");
}

TEST(Spin, OnATestOfAnMBarrier) {
  expectDeadlock(
      "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
      "mbarrier.init.shared.b64 [b], 2;\n"
      "mbarrier.arrive.shared.b64 _, [b];\n"
      "W: bar.sync 0;\n"
      "L: mbarrier.test_wait.parity.shared.b64 %p2, [b], 0;\n"
      "@!%p2 bra L;\n",
      "poll for phase 0 of the mbarrier at 0x00000400, which lacks 1 "
      "of 2 arrivals");
}

TEST(Spin, WhileOthersWait) {
  // Warp 0 spins, warp 1 is at a barrier, warp 2 in a wait that times out.
  expectDeadlock(
      "setp.eq.u32 %p1, %r1, 0;\n"
      "@%p1 mbarrier.init.shared.b64 [b], 1;\nbar.sync 0;\n"
      "shr.u32 %r3, %r1, 5;\nsetp.eq.u32 %p1, %r3, 1;\n"
      "@%p1 bar.sync 1, 64;\nsetp.eq.u32 %p1, %r3, 2;\n@%p1 bra T;\n"
      "L: ld.relaxed.gpu.global.u32 %r2, [%rd1];\n"
      "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret;\n"
      "T: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra T;\n",
      "wait at barrier 1", {}, {96, 1, 1});
  // Both halves of a warp, each for the other's flag.
  expectDeadlock("and.b32 %r3, %r1, 16;\nsetp.eq.u32 %p1, %r3, 0;\n"
                 "@%p1 bra A;\n"
                 "L: ld.relaxed.gpu.global.u32 %r2, [%rd1];\n"
                 "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\n"
                 "st.relaxed.gpu.global.u32 [%rd1+4], 1;\nret;\n"
                 "A: ld.relaxed.gpu.global.u32 %r2, [%rd1+4];\n"
                 "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra A;\n"
                 "st.relaxed.gpu.global.u32 [%rd1], 1;\n",
                 "threads 0x0000ffff repeat themselves");
}

TEST(Spin, AmongClustersOfSeveralWorkers) {
  expectDeadlock("mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p1, %r3, 3;\n"
                 "@%p1 bra E;\n"
                 "L: ld.relaxed.gpu.global.u32 %r2, [%rd1];\n"
                 "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nE:\n",
                 "repeat themselves, reading 0x", {8, 1, 1}, {32, 1, 1},
                 {2, 1, 1});
}

//===----------------------------------------------------------------------===//
// What comes to an end
//===----------------------------------------------------------------------===//

TEST(Spin, LongComputationBeforeTheFlagIsSet) {
  // Warp 1 computes for long without writing anything, then sets the flag.
  for (const std::string &schedule : schedules)
    EXPECT_EQ(expectEnd("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\n"
                        "mov.u32 %r2, 100000;\n"
                        "C: sub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p2, %r2, 0;\n"
                        "@%p2 bra C;\nst.release.gpu.global.u32 [%rd1], 1;\n"
                        "ret;\n"
                        "L: ld.acquire.gpu.global.u32 %r2, [%rd1];\n"
                        "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\n"
                        "setp.eq.u32 %p3, %r1, 0;\n"
                        "@%p3 st.global.u32 [%rd1+4], 7;\n",
                        schedule, {}, {64, 1, 1}),
              (std::vector<uint32_t>{1, 7}))
        << schedule;
}

TEST(Spin, UntilATimeHasCome) {
  for (const char *clock : {"%clock64", "%globaltimer"})
    for (const std::string &schedule : schedules)
      EXPECT_EQ(expectEnd("mov.u64 %rd5, " + std::string(clock) +
                              ";\nadd.u64 %rd5, %rd5, 60000;\n"
                              "L: mov.u64 %rd6, " +
                              clock +
                              ";\nsetp.lt.u64 %p1, %rd6, %rd5;\n"
                              "mov.u64 %rd6, 0;\n@%p1 bra L;\n"
                              "setp.eq.u32 %p3, %r1, 0;\n"
                              "@%p3 st.global.u32 [%rd1], 9;\n",
                          schedule)[0],
                9u);
}

TEST(Spin, UntilAWaitHasTimedOut) {
  // Warp 1 spins until warp 0 has given up on its mbarrier five times.
  for (const std::string &schedule : schedules)
    EXPECT_EQ(expectEnd("setp.eq.u32 %p1, %r1, 0;\n"
                        "@%p1 mbarrier.init.shared.b64 [b], 1;\nbar.sync 0;\n"
                        "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra T;\n"
                        "L: ld.acquire.gpu.global.u32 %r2, [%rd1];\n"
                        "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret;\n"
                        "T: mov.u32 %r3, 0;\n"
                        "U: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n"
                        "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 5;\n"
                        "@%p3 bra U;\n"
                        "setp.eq.u32 %p1, %r1, 0;\n"
                        "@%p1 st.release.gpu.global.u32 [%rd1], 1;\n",
                        schedule, {}, {64, 1, 1})[0],
              1u);
}

TEST(Spin, OnWhatAnotherWorkersClusterSets) {
  // A chain: each CTA passes a token on, after a while of computing.
  for (unsigned repeat = 0; repeat < 3; ++repeat)
    EXPECT_EQ(expectEnd("mov.u32 %r3, %ctaid.x;\n"
                        "L: ld.acquire.gpu.global.u32 %r2, [%rd1];\n"
                        "setp.ne.u32 %p1, %r2, %r3;\n@%p1 bra L;\n"
                        "mov.u32 %r4, 500;\n"
                        "C: sub.u32 %r4, %r4, 1;\nsetp.ne.u32 %p2, %r4, 0;\n"
                        "@%p2 bra C;\nadd.u32 %r3, %r3, 1;\n"
                        "st.release.gpu.global.u32 [%rd1], %r3;\n",
                        "eager", {12, 1, 1}, {1, 1, 1}, 3)[0],
              12u);
}

} // namespace
