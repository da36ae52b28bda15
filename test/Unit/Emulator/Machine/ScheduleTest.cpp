//===- ScheduleTest.cpp - Progress, asynchrony, races, deadlocks ----------===//

#include "TestKernel.h"
#include <array>

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2", "random:3"};

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

TEST(Schedule, Parses) {
  EXPECT_EQ(llvm::cantFail(Schedule::parse("random:42")).seed, 42u);
  EXPECT_EQ(llvm::cantFail(Schedule::parse("lazy")).kind, ScheduleKind::Lazy);
  for (const char *bad : {"", "randomly", "random:", "random:x", "eager:1"})
    EXPECT_TRUE(bool(Schedule::parse(bad).takeError())) << bad;
}

TEST(Schedule, ParsesLists) {
  std::vector<Schedule> list =
      llvm::cantFail(Schedule::parseList("lazy,random:7,eager"));
  std::string text;
  for (const Schedule &schedule : list)
    text += schedule.toText() + ";";
  EXPECT_EQ(text, "lazy;random:7;eager;");
  for (const char *bad : {"", "lazy,", "lazy;eager"})
    EXPECT_TRUE(bool(Schedule::parseList(bad).takeError())) << bad;
}

class UnderEach : public testing::Test {
protected:
  llvm::Expected<std::vector<Report>> launch(const std::string &body,
                                             const std::string &schedules) {
    Module *module =
        llvm::cantFail(device.device.loadModule(makeModule(2, body), "k.ptx"));
    LaunchConfig config;
    config.grid = {1, 1, 1};
    config.block = {1, 1, 1};
    std::array<uint64_t, 2> arguments = {cells, untouched};
    std::array<const void *, 2> pointers = {&arguments[0], &arguments[1]};
    config.arguments = Device::packArguments(
        llvm::cantFail(module->getKernel("k")), pointers.data());
    return device.device.launchUnderEach(
        llvm::cantFail(Schedule::parseList(schedules)), module, "k", config);
  }

  TestDevice device{checkedOptions()};
  uint64_t cells = device.upload(std::vector<uint32_t>{5, 6, 7, 8});
  uint64_t untouched = device.allocate(16);
};

TEST_F(UnderEach, BeginsWithTheSameMemory) {
  auto reports =
      llvm::cantFail(launch("ld.global.u32 %r2, [%rd1];\nadd.u32 %r2, %r2, 1;\n"
                            "st.global.u32 [%rd1], %r2;\n",
                            "eager,lazy,random:1"));
  EXPECT_EQ(reports.size(), 3u);
  EXPECT_EQ(device.download<uint32_t>(cells, 1)[0], 6u);
}

TEST_F(UnderEach, BeginsWithWhatIsUnwritten) {
  // In the second run the read comes before the write, too.
  auto reports = llvm::cantFail(
      launch("ld.global.u32 %r2, [%rd2];\nst.global.u32 [%rd2], %r1;\n",
             "eager,lazy"));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(has(reports[0], FindingKind::Uninitialized));
  device.device.getOptions().checks = Checks::none();
  reports = llvm::cantFail(
      launch("ld.global.u32 %r2, [%rd2];\nst.global.u32 [%rd2], %r1;\n",
             "eager,lazy"));
  EXPECT_EQ(reports.size(), 2u);
}

TEST_F(UnderEach, TellsWhereResultsDiffer) {
  // The source of a copy that is overwritten before the wait.
  device.device.getOptions().checks = Checks::none();
  std::string body =
      ".shared .align 16 .b8 s[16];\nmov.u32 %r2, s;\n"
      "cp.async.ca.shared.global [%r2], [%rd1], 4;\nmov.u32 %r3, 9;\n"
      "st.global.u32 [%rd1], %r3;\ncp.async.wait_all;\n"
      "ld.shared.u32 %r4, [%r2];\nst.global.u32 [%rd1+8], %r4;\n";
  EXPECT_EQ(llvm::toString(launch(body, "eager,lazy").takeError()),
            "launch of 'k': under lazy byte 8 of 'buffer' is 0x9, not 0x5 as "
            "under eager");
  EXPECT_EQ(llvm::cantFail(launch(body, "eager,eager")).size(), 2u);
}

TEST(Schedule, SpinningThreadsOfOneWarpMakeProgress) {
  // A spin lock taken by all threads of a warp, which deadlocks without
  // independent thread scheduling.
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t cells = device.upload(std::vector<uint32_t>{0, 0});
    Report report = device.run(
        makeModule(1, "L: atom.acquire.gpu.global.cas.b32 %r2, [%rd1], 0, 1;\n"
                      "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\n"
                      "ld.global.u32 %r3, [%rd1+4];\nadd.u32 %r3, %r3, 1;\n"
                      "st.global.u32 [%rd1+4], %r3;\n"
                      "atom.release.gpu.global.exch.b32 %r4, [%rd1], 0;\n"),
        {3, 1, 1}, {64, 1, 1}, {cells});
    EXPECT_TRUE(report.completed) << schedule;
    EXPECT_EQ(device.download<uint32_t>(cells, 2)[1], 192u) << schedule;
  }
}

TEST(Schedule, GridBarrierAmongManyCTAs) {
  // More CTAs than may be resident at first: all must get to run.
  for (const std::string &schedule :
       {std::string("eager"), std::string("random:9")}) {
    Options options = checkedOptions(schedule);
    options.residentCTAs = 2;
    TestDevice device(options);
    uint64_t cells = device.upload(std::vector<uint32_t>{0});
    Report report =
        device.run(makeModule(1, "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
                                 "red.release.gpu.global.add.u32 [%rd1], 1;\n"
                                 "L: ld.acquire.gpu.global.u32 %r2, [%rd1];\n"
                                 "setp.lt.u32 %p2, %r2, 7;\n@%p2 bra L;\n"
                                 "W: bar.sync 0;\n"),
                   {7, 1, 1}, {64, 1, 1}, {cells});
    expectClean(report);
    EXPECT_EQ(report.ctas, 7u);
  }
}

TEST(Schedule, ProducerAndConsumerThreadsOfOneWarp) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t cells = device.upload(std::vector<uint32_t>{0, 0, 0});
    expectClean(
        device.run(makeModule(1, "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra P;\n"
                                 "L: ld.acquire.gpu.global.u32 %r2, [%rd1];\n"
                                 "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\n"
                                 "ld.global.u32 %r3, [%rd1+4];\n"
                                 "st.global.u32 [%rd1+8], %r3;\nbra D;\n"
                                 "P: st.global.u32 [%rd1+4], 77;\n"
                                 "st.release.gpu.global.u32 [%rd1], 1;\nD:\n"),
                   {}, {2, 1, 1}, {cells}));
    EXPECT_EQ(device.download<uint32_t>(cells, 3)[2], 77u);
  }
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

TEST(Schedule, DeadlockSaysWhoWaitsWhere) {
  TestDevice device;
  Report report = device.run(
      makeModule(0, "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;\n"
                    "@!%p1 bar.sync 2, 64;\n"),
      {}, {64, 1, 1}, {});
  ASSERT_TRUE(has(report, FindingKind::Deadlock));
  const std::string &text = report.findings[0].message;
  EXPECT_NE(text.find("warp 0"), std::string::npos) << text;
  EXPECT_NE(text.find("warp 1"), std::string::npos) << text;
  EXPECT_NE(text.find("barrier 2"), std::string::npos) << text;
}

TEST(Schedule, DeadlockOfAnMBarrier) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    Report report = device.run(
        makeModule(0,
                   "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
                   "mbarrier.init.shared.b64 [b], 2;\n"
                   "mbarrier.arrive.expect_tx.shared.b64 %rd5, [b], 96;\n"
                   "W: bar.sync 0;\n"
                   "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n"
                   "@!%p2 bra L;\n",
                   ".shared .align 8 .b64 b;\n"),
        {}, {32, 1, 1}, {});
    ASSERT_TRUE(has(report, FindingKind::Deadlock)) << schedule;
    // Whether they wait just then or look again, all threads are described.
    EXPECT_NE(report.findings[0].message.find(
                  "for phase 0 of the mbarrier at 0x00000400, which lacks 1 of "
                  "2 arrivals and 96 bytes"),
              std::string::npos)
        << report.findings[0].message;
  }
}

TEST(Schedule, MismatchedBarrierCounts) {
  TestDevice device;
  Report report = device.run(
      makeModule(0, "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;\n"
                    "@!%p1 bar.sync 1, 96;\n"),
      {}, {96, 1, 1}, {});
  EXPECT_TRUE(has(report, FindingKind::BarrierMisuse));
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// Copies 16 bytes per thread and gives back those of the neighbour.
std::string copyKernel(const std::string &wait) {
  return makeModule(
      2,
      "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 4;\nadd.u32 %r4, %r2, %r3;\n"
      "cvt.u64.u32 %rd5, %r3;\nadd.s64 %rd6, %rd1, %rd5;\n"
      "st.shared.v4.u32 [%r4], {%r1,%r1,%r1,%r1};\n"
      "cp.async.cg.shared.global [%r4], [%rd6], 16;\n"
      "cp.async.commit_group;\n" +
          wait +
          "bar.sync 0;\nxor.b32 %r5, %r3, 16;\nadd.u32 %r5, %r5, %r2;\n"
          "ld.shared.v4.u32 {%r6,%r7,%r8,%r9}, [%r5];\n"
          "add.s64 %rd7, %rd2, %rd5;\n"
          "st.global.v4.u32 [%rd7], {%r6,%r7,%r8,%r9};\n",
      ".shared .align 16 .b8 s[1024];\n");
}

bool copied(TestDevice &device, uint64_t to) {
  auto out = device.download<uint32_t>(to, 256);
  for (unsigned i = 0; i < 256; ++i)
    if (out[i] != 1000 + (i ^ 4))
      return false;
  return true;
}

TEST(AsyncCopy, WaitedCopiesArriveInAllSchedules) {
  std::vector<uint32_t> in(256);
  for (unsigned i = 0; i < 256; ++i)
    in[i] = 1000 + i;
  for (const std::string &wait :
       {"cp.async.wait_group 0;\n", "cp.async.wait_all;\n"})
    for (const std::string &schedule : schedules) {
      TestDevice device(checkedOptions(schedule));
      uint64_t from = device.upload(in), to = device.allocate(1024);
      expectClean(device.run(copyKernel(wait), {}, {64, 1, 1}, {from, to}));
      EXPECT_TRUE(copied(device, to)) << schedule;
    }
}

TEST(AsyncCopy, AMissingWaitShows) {
  std::vector<uint32_t> in(256);
  for (unsigned i = 0; i < 256; ++i)
    in[i] = 1000 + i;
  for (const std::string &wait : {"", "cp.async.wait_group 1;\n"}) {
    // Lazily the stale values are read.
    Options lazy;
    lazy.schedule = llvm::cantFail(Schedule::parse("lazy"));
    TestDevice device(lazy);
    uint64_t from = device.upload(in), to = device.allocate(1024);
    device.run(copyKernel(wait), {}, {64, 1, 1}, {from, to});
    EXPECT_FALSE(copied(device, to));
    // The race check sees it whatever the schedule.
    for (const std::string &schedule : schedules) {
      TestDevice checked(checkedOptions(schedule));
      from = checked.upload(in);
      to = checked.allocate(1024);
      EXPECT_TRUE(has(checked.run(copyKernel(wait), {}, {64, 1, 1}, {from, to}),
                      FindingKind::Race))
          << schedule;
    }
  }
}

TEST(AsyncCopy, GroupsCompleteOldestFirst) {
  // Two groups; waiting for all but one completes the first only.
  Options lazy;
  lazy.schedule = llvm::cantFail(Schedule::parse("lazy"));
  TestDevice device(lazy);
  uint64_t from = device.upload(std::vector<uint32_t>{11, 22});
  uint64_t to = device.allocate(8);
  expectClean(
      device.run(makeModule(2,
                            "st.shared.v2.u32 [s], {%r1, %r1};\n"
                            "cp.async.ca.shared.global [s], [%rd1], 4;\n"
                            "cp.async.commit_group;\n"
                            "cp.async.ca.shared.global [s+4], [%rd1+4], 4;\n"
                            "cp.async.commit_group;\ncp.async.wait_group 1;\n"
                            "ld.shared.v2.u32 {%r2, %r3}, [s];\n"
                            "st.global.v2.u32 [%rd2], {%r2, %r3};\n",
                            ".shared .align 8 .b8 s[8];\n"),
                 {}, {}, {from, to}));
  EXPECT_EQ(device.download<uint32_t>(to, 2), (std::vector<uint32_t>{11, 0}));
}

TEST(AsyncCopy, ZeroFillReadsOnlyTheSource) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    // Six bytes: reading more would be out of bounds.
    uint64_t from = device.upload(std::vector<uint8_t>{1, 2, 3, 4, 5, 6});
    uint64_t to = device.allocate(16);
    expectClean(device.run(
        makeModule(2,
                   "mov.u32 %r3, 6;\nsetp.eq.u32 %p1, %r1, 0;\n"
                   "cp.async.cg.shared.global [s], [%rd1], 16, %r3;\n"
                   "cp.async.cg.shared.global [s+16], [%rd1], 16, %p1;\n"
                   "cp.async.wait_all;\nld.shared.v2.u64 {%rd5, %rd6}, [s];\n"
                   "ld.shared.u64 %rd7, [s+16];\nadd.s64 %rd6, %rd6, %rd7;\n"
                   "st.global.v2.u64 [%rd2], {%rd5, %rd6};\n",
                   ".shared .align 16 .b8 s[32];\n"),
        {}, {}, {from, to}));
    EXPECT_EQ(device.download<uint64_t>(to, 2),
              (std::vector<uint64_t>{0x060504030201ull, 0}));
  }
}

TEST(AsyncCopy, ArriveOnAnMBarrier) {
  std::vector<uint32_t> in(256);
  for (unsigned i = 0; i < 256; ++i)
    in[i] = 1000 + i;
  std::string body = copyKernel(
      "cp.async.mbarrier.arrive.noinc.shared.b64 [b];\n"
      "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra L;\n");
  body.insert(body.find("mov.u32 %r2, s;"),
              "setp.eq.u32 %p1, %r1, 0;\n"
              "@%p1 mbarrier.init.shared.b64 [b], 64;\nbar.sync 0;\n");
  body.insert(body.find("\n.visible"), "\n.shared .align 8 .b64 b;\n");
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t from = device.upload(in), to = device.allocate(1024);
    expectClean(device.run(body, {}, {64, 1, 1}, {from, to}));
    EXPECT_TRUE(copied(device, to)) << schedule;
  }
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

/// Each thread writes its word and reads that of thread `^ distance`.
std::string exchange(const std::string &sync, unsigned distance) {
  return makeModule(1,
                    "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\n"
                    "add.u32 %r4, %r2, %r3;\nst.shared.u32 [%r4], %r1;\n" +
                        sync + "xor.b32 %r5, %r3, " +
                        std::to_string(4 * distance) +
                        ";\nadd.u32 %r5, %r5, %r2;\n"
                        "ld.shared.u32 %r6, [%r5];\n",
                    ".shared .align 4 .b8 s[512];\n");
}

TEST(Race, MissingBarriersAreReported) {
  for (const std::string &schedule : schedules) {
    auto races = [&](const std::string &sync, unsigned distance) {
      TestDevice device(checkedOptions(schedule));
      return has(device.run(exchange(sync, distance), {}, {128, 1, 1}, {0}),
                 FindingKind::Race);
    };
    EXPECT_FALSE(races("bar.sync 0;\n", 64)) << schedule;
    EXPECT_FALSE(races("bar.sync 0;\n", 1)) << schedule;
    EXPECT_FALSE(races("bar.warp.sync -1;\n", 1)) << schedule;
    EXPECT_TRUE(races("bar.warp.sync -1;\n", 64)) << schedule;
    EXPECT_TRUE(races("", 64)) << schedule;
    EXPECT_TRUE(races("", 1)) << schedule;
    EXPECT_FALSE(races("", 0)) << schedule;
    // A fence alone orders nothing.
    EXPECT_TRUE(races("membar.cta;\n", 64)) << schedule;
  }
}

TEST(Race, ReportNamesBothAccesses) {
  TestDevice device(checkedOptions());
  Report report = device.run(exchange("", 64), {}, {128, 1, 1}, {0});
  // The thread that comes second is blamed, with the other access in words.
  bool found = false;
  for (const Finding &finding : report.findings)
    if (finding.kind == FindingKind::Race &&
        finding.instruction == "ld.shared.u32 %r6, [%r5]") {
      found = true;
      EXPECT_NE(finding.message.find("st.shared.u32 [%r4], %r1"),
                std::string::npos)
          << finding.message;
    }
  EXPECT_TRUE(found);
}

TEST(Race, OverwritingBeforeReadersAreDone) {
  auto body = [](const std::string &sync) {
    return makeModule(1,
                      "setp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [s], 5;\n"
                      "bar.sync 0;\nld.shared.u32 %r2, [s];\n" +
                          sync + "@!%p1 st.shared.u32 [s], 6;\n",
                      ".shared .align 4 .u32 s;\n");
  };
  TestDevice device(checkedOptions());
  EXPECT_TRUE(
      has(device.run(body(""), {}, {64, 1, 1}, {0}), FindingKind::Race));
  expectClean(device.run(body("bar.sync 0;\n"), {}, {64, 1, 1}, {0}));
}

TEST(Race, EqualValues) {
  // Threads that store one value to one word do no harm, whatever warp they
  // are of: compilers replicate stores. Different values are a race.
  auto races = [](const std::string &value, unsigned threads) {
    TestDevice device(checkedOptions());
    return has(device.run(makeModule(0,
                                     "mov.u32 %r2, 7;\nst.shared.u32 [s], " +
                                         value + ";\n",
                                     ".shared .align 4 .u32 s;\n"),
                          {}, {threads, 1, 1}, {}),
               FindingKind::Race);
  };
  EXPECT_FALSE(races("%r2", 32));
  EXPECT_TRUE(races("%r1", 32));
  EXPECT_FALSE(races("%r2", 64));
  EXPECT_TRUE(races("%r1", 64));
}

TEST(Race, MessagePassingBetweenCTAs) {
  auto body = [](const std::string &publish, const std::string &observe) {
    return makeModule(1, "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n"
                         "@!%p1 bra C;\nst.global.u32 [%rd1+4], 7;\n" +
                             publish + "bra D;\nC:\nL:\n" + observe +
                             "setp.eq.u32 %p2, %r3, 0;\n@%p2 bra L;\n"
                             "ld.global.u32 %r4, [%rd1+4];\nD:\n");
  };
  auto races = [&](const std::string &publish, const std::string &observe) {
    TestDevice device(checkedOptions());
    uint64_t cells = device.upload(std::vector<uint32_t>{0, 0});
    Report report = device.run(body(publish, observe), {2, 1, 1}, {}, {cells});
    EXPECT_TRUE(report.completed);
    return has(report, FindingKind::Race);
  };
  std::string release = "st.release.gpu.global.u32 [%rd1], 1;\n";
  std::string relaxed = "st.relaxed.gpu.global.u32 [%rd1], 1;\n";
  std::string acquire = "ld.acquire.gpu.global.u32 %r3, [%rd1];\n";
  std::string plain = "ld.relaxed.gpu.global.u32 %r3, [%rd1];\n";
  std::string fence = "fence.acq_rel.gpu;\n";
  EXPECT_FALSE(races(release, acquire));
  EXPECT_FALSE(races(fence + relaxed, plain + fence));
  EXPECT_FALSE(races("membar.gl;\nst.volatile.global.u32 [%rd1], 1;\n",
                     "ld.volatile.global.u32 %r3, [%rd1];\nmembar.gl;\n"));
  EXPECT_FALSE(races(fence + "red.global.add.u32 [%rd1], 1;\n", acquire));
  EXPECT_TRUE(races(relaxed, acquire));
  EXPECT_TRUE(races(release, plain));
  EXPECT_TRUE(races("red.global.add.u32 [%rd1], 1;\n", acquire));
}

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

TEST(MBarrier, PhasesCountsAndTransactions) {
  TestDevice device(checkedOptions());
  uint64_t out = device.allocate(64);
  expectClean(device.run(
      makeModule(1,
                 "mbarrier.init.shared.b64 [b], 2;\n"
                 // Nothing has arrived: phase 0 is open, phase 1 "before" it.
                 "mbarrier.test_wait.parity.shared.b64 %p1, [b], 0;\n"
                 "mbarrier.test_wait.parity.shared.b64 %p2, [b], 1;\n"
                 "mbarrier.arrive.shared.b64 %rd5, [b];\n"
                 "mbarrier.pending_count.b64 %r2, %rd5;\n"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [b], 64;\n"
                 // All have arrived, 64 bytes are still on their way.
                 "mbarrier.test_wait.shared.b64 %p3, [b], %rd5;\n"
                 "mbarrier.complete_tx.shared::cta.b64 [b], 64;\n"
                 "mbarrier.test_wait.shared.b64 %p4, [b], %rd5;\n"
                 "mbarrier.test_wait.parity.shared.b64 %p5, [b], 0;\n"
                 "selp.u32 %r3, 1, 0, %p1;\nselp.u32 %r4, 1, 0, %p2;\n"
                 "selp.u32 %r5, 1, 0, %p3;\nselp.u32 %r6, 1, 0, %p4;\n"
                 "selp.u32 %r7, 1, 0, %p5;\n"
                 "st.global.v4.u32 [%rd1], {%r2,%r3,%r4,%r5};\n"
                 "st.global.v2.u32 [%rd1+16], {%r6,%r7};\n"
                 "mbarrier.inval.shared.b64 [b];\n",
                 ".shared .align 8 .b64 b;\n"),
      {}, {}, {out}));
  EXPECT_EQ(device.download<uint32_t>(out, 6),
            (std::vector<uint32_t>{2, 0, 1, 0, 1, 1}));
}

TEST(MBarrier, PipelineBetweenWarpsHasNoRace) {
  // A producer warp and a consumer warp pass ten values through one slot.
  std::string body =
      "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [full], 1;\n"
      "@%p1 mbarrier.init.shared.b64 [empty], 1;\nbar.sync 0;\n"
      "mov.u32 %r2, 0;\nmov.u32 %r9, 0;\nsetp.eq.u32 %p2, %r1, 32;\n"
      "@%p2 bra C;\n@!%p1 bra D;\n"
      "P: and.b32 %r3, %r2, 1;\nxor.b32 %r4, %r3, 1;\n"
      "W: mbarrier.try_wait.parity.shared.b64 %p3, [empty], %r4;\n@!%p3 bra "
      "W;\n"
      "st.shared.u32 [slot], %r2;\nmbarrier.arrive.shared.b64 _, [full];\n"
      "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p4, %r2, 10;\n@%p4 bra P;\nbra D;\n"
      "C: and.b32 %r3, %r2, 1;\n"
      "V: mbarrier.try_wait.parity.shared.b64 %p3, [full], %r3;\n@!%p3 bra V;\n"
      "ld.shared.u32 %r5, [slot];\nadd.u32 %r9, %r9, %r5;\n"
      "ARRIVE\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p4, %r2, 10;\n@%p4 bra C;\n"
      "st.global.u32 [%rd1], %r9;\nD:\n";
  std::string globals = ".shared .align 8 .b64 full;\n"
                        ".shared .align 8 .b64 empty;\n"
                        ".shared .align 4 .u32 slot;\n";
  std::string good = body;
  good.replace(good.find("ARRIVE"), 6,
               "mbarrier.arrive.shared.b64 _, [empty];");
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.allocate(4);
    expectClean(
        device.run(makeModule(1, good, globals), {}, {64, 1, 1}, {out}));
    EXPECT_EQ(device.download<uint32_t>(out, 1)[0], 45u);
  }
  // Without the arrival the producer waits forever.
  std::string bad = body;
  bad.replace(bad.find("ARRIVE"), 6, "");
  TestDevice device(checkedOptions());
  uint64_t out = device.allocate(4);
  EXPECT_TRUE(
      has(device.run(makeModule(1, bad, globals), {}, {64, 1, 1}, {out}),
          FindingKind::Deadlock));
}

TEST(MBarrier, MisuseIsReported) {
  auto kind = [](const std::string &body) {
    TestDevice device;
    return has(device.run(makeModule(0, body, ".shared .align 8 .b64 b;\n"), {},
                          {}, {}),
               FindingKind::BarrierMisuse);
  };
  EXPECT_TRUE(kind("mbarrier.arrive.shared.b64 _, [b];"));
  EXPECT_TRUE(kind("mbarrier.init.shared.b64 [b], 0;"));
  EXPECT_TRUE(kind("mbarrier.init.shared.b64 [b], 1;\n"
                   "mbarrier.arrive.shared.b64 _, [b], 2;"));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

TEST(Cluster, DistributedSharedMemory) {
  std::string body =
      "mov.u32 %r2, %cluster_ctarank;\nadd.u32 %r3, %r2, 100;\n"
      "st.shared.u32 [s], %r3;\nBARRIER"
      "xor.b32 %r4, %r2, 1;\nmov.u32 %r5, s;\n"
      "mapa.shared::cluster.u32 %r6, %r5, %r4;\n"
      "ld.shared::cluster.u32 %r7, [%r6];\nmov.u32 %r8, %ctaid.x;\n"
      "mul.wide.u32 %rd5, %r8, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
      "st.global.u32 [%rd5], %r7;\nbarrier.cluster.arrive.aligned;\n"
      "barrier.cluster.wait.aligned;\n";
  auto with = [&](const std::string &barrier) {
    std::string text = body;
    text.replace(text.find("BARRIER"), 7, barrier);
    return makeModule(1, text, ".shared .align 4 .u32 s;\n");
  };
  std::string barrier = "barrier.cluster.arrive.aligned;\n"
                        "barrier.cluster.wait.aligned;\n";
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.allocate(16);
    expectClean(device.run(with(barrier), {4, 1, 1}, {}, {out}, 0, {2, 1, 1}));
    EXPECT_EQ(device.download<uint32_t>(out, 4),
              (std::vector<uint32_t>{101, 100, 101, 100}));
  }
  TestDevice device(checkedOptions());
  uint64_t out = device.allocate(16);
  EXPECT_TRUE(has(device.run(with(""), {4, 1, 1}, {}, {out}, 0, {2, 1, 1}),
                  FindingKind::Race));
}

} // namespace
