//===- ParallelTest.cpp - The same results on any number of threads -------===//

#include "TestKernel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const unsigned threadCounts[] = {1, 2, 3, 8};

std::string toText(const Report &report) {
  return llvm::formatv("{0}", report.toJSON()).str();
}

Options withThreads(unsigned threads, Options options = {}) {
  options.threads = threads;
  options.maxWarpInstructions = 100'000'000;
  return options;
}

/// Every thread adds its index to a sum, counts itself, and writes a value that
/// depends on its CTA; CTAs run for times that differ.
std::string mixedKernel(const std::string &more = "") {
  return makeModule(2, "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
                       "mad.lo.u32 %r4, %r2, %r3, %r1;\nand.b32 %r5, %r2, 15;\n"
                       "shl.b32 %r5, %r5, 6;\n"
                       "L: mad.lo.u32 %r6, %r6, 5, %r4;\nsub.s32 %r5, %r5, 1;\n"
                       "setp.gt.s32 %p1, %r5, 0;\n@%p1 bra L;\n"
                       "red.global.add.u32 [%rd1], %r4;\n"
                       "atom.global.add.u64 %rd5, [%rd1+8], 1;\n"
                       "atom.global.max.u32 %r7, [%rd1+4], %r4;\n"
                       "mul.wide.u32 %rd6, %r4, 4;\nadd.s64 %rd6, %rd2, %rd6;\n"
                       "st.global.u32 [%rd6], %r6;\n" +
                           more);
}

TEST(Parallel, SameResultsAndReports) {
  constexpr unsigned grid = 100, block = 96, total = grid * block;
  std::vector<uint32_t> firstOut;
  std::string firstReport;
  for (bool uninitialized : {false, true})
    for (unsigned threads : threadCounts) {
      Options options;
      options.checks.uninitialized = uninitialized;
      TestDevice device(withThreads(threads, options));
      uint64_t sums = device.upload(std::vector<uint32_t>(4)),
               out = device.allocate(4 * total);
      Report report =
          device.run(mixedKernel(), {grid, 1, 1}, {block, 1, 1}, {sums, out});
      expectClean(report);
      EXPECT_EQ(report.ctas, grid);
      auto values = device.download<uint32_t>(sums, 4);
      EXPECT_EQ(values[0], uint32_t(uint64_t(total) * (total - 1) / 2));
      EXPECT_EQ(values[1], total - 1);
      EXPECT_EQ(values[2], total);
      auto all = device.download<uint32_t>(out, total);
      if (firstOut.empty()) {
        firstOut = all;
        firstReport = toText(report);
      }
      EXPECT_EQ(all, firstOut) << threads;
      EXPECT_EQ(toText(report), firstReport) << threads;
    }
}

TEST(Parallel, CTAsWaitForEachOther) {
  // A barrier of the whole grid, of more CTAs than there are threads.
  for (unsigned threads : threadCounts) {
    TestDevice device(withThreads(threads));
    uint64_t cells = device.upload(std::vector<uint32_t>{0, 0});
    Report report =
        device.run(makeModule(1, "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
                                 "red.release.gpu.global.add.u32 [%rd1], 1;\n"
                                 "L: ld.acquire.gpu.global.u32 %r2, [%rd1];\n"
                                 "setp.lt.u32 %p2, %r2, 40;\n@%p2 bra L;\n"
                                 "red.global.add.u32 [%rd1+4], 1;\n"
                                 "W: bar.sync 0;\n"),
                   {40, 1, 1}, {64, 1, 1}, {cells});
    expectClean(report);
    EXPECT_EQ(device.download<uint32_t>(cells, 2)[1], 40u);
  }
}

TEST(Parallel, ALockIsTakenByOneThread) {
  for (unsigned threads : threadCounts) {
    TestDevice device(withThreads(threads));
    uint64_t cells = device.upload(std::vector<uint32_t>{0, 0});
    Report report = device.run(
        makeModule(1, "L: atom.acquire.gpu.global.cas.b32 %r2, [%rd1], 0, 1;\n"
                      "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\n"
                      "ld.global.u32 %r3, [%rd1+4];\nadd.u32 %r3, %r3, 1;\n"
                      "st.global.u32 [%rd1+4], %r3;\n"
                      "st.release.gpu.global.u32 [%rd1], 0;\n"),
        {64, 1, 1}, {4, 1, 1}, {cells});
    expectClean(report);
    EXPECT_EQ(device.download<uint32_t>(cells, 2)[1], 256u) << threads;
  }
}

TEST(Parallel, TheFirstFaultInTheOrderOfCTAs) {
  // CTAs from 20 on store out of bounds; those with odd numbers read what
  // nothing wrote. Of what comes behind CTA 20 nothing is told. What lies
  // behind the array such a CTA may write.
  std::string first;
  for (unsigned threads : threadCounts) {
    Options options;
    options.checks.uninitialized = true;
    TestDevice device(withThreads(threads, options));
    uint64_t sums = device.upload(std::vector<uint32_t>(4)),
             fresh = device.allocate(64), out = device.allocate(4 * 20 * 64);
    Report report = device.run(
        mixedKernel("and.b32 %r8, %r2, 1;\nsetp.ne.u32 %p2, %r8, 0;\n"
                    "@%p2 ld.global.u32 %r9, [" +
                    std::to_string(fresh) + "];\n"),
        {64, 1, 1}, {64, 1, 1}, {sums, out});
    EXPECT_FALSE(report.completed);
    EXPECT_EQ(report.ctas, 20u);
    ASSERT_EQ(report.findings.size(), 2u) << threads;
    EXPECT_EQ(report.findings[0].kind, FindingKind::Uninitialized);
    EXPECT_EQ(report.findings[0].cta.x, 1u);
    EXPECT_EQ(report.findings[0].occurrences, 10u * 64);
    EXPECT_EQ(report.findings[1].kind, FindingKind::OutOfBounds);
    EXPECT_EQ(report.findings[1].cta.x, 20u);
    // Addresses differ from run to run, counts do not.
    std::string text = llvm::formatv(
        "{0}", llvm::json::Value(report.counters.instructions().toJSON()));
    if (first.empty())
      first = text;
    EXPECT_EQ(text, first) << threads;
  }
}

TEST(Parallel, DeadlockOfOneCTA) {
  for (unsigned threads : threadCounts) {
    TestDevice device(withThreads(threads));
    // CTA 7 waits for a barrier that nobody else comes to, CTA 9 for a word
    // in global memory between waits for an mbarrier.
    Report report = device.run(
        makeModule(1,
                   "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 9;\n"
                   "@%p1 bra N;\nmbarrier.init.shared.b64 [b], 1;\n"
                   "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n"
                   "ld.volatile.global.u32 %r3, [%rd1];\n"
                   "setp.eq.u32 %p3, %r3, 0;\n@%p3 bra L;\n"
                   "N: setp.eq.u32 %p2, %r2, 7;\n@%p2 bar.sync 1, 64;\n",
                   ".shared .align 8 .b64 b;\n"),
        {16, 1, 1}, {32, 1, 1}, {device.upload(std::vector<uint32_t>{0})});
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, FindingKind::Deadlock);
    EXPECT_EQ(report.findings[0].cta.x, 7u);
  }
  // Without the first one the second is a deadlock too.
  for (unsigned threads : threadCounts) {
    TestDevice device(withThreads(threads));
    Report report = device.run(
        makeModule(1,
                   "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 9;\n"
                   "@%p1 bra N;\nmbarrier.init.shared.b64 [b], 1;\n"
                   "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n"
                   "ld.volatile.global.u32 %r3, [%rd1];\n"
                   "setp.eq.u32 %p3, %r3, 0;\n@%p3 bra L;\nN:\n",
                   ".shared .align 8 .b64 b;\n"),
        {16, 1, 1}, {1, 1, 1}, {device.upload(std::vector<uint32_t>{0})});
    ASSERT_EQ(report.findings.size(), 1u) << threads;
    EXPECT_EQ(report.findings[0].kind, FindingKind::Deadlock);
    EXPECT_EQ(report.ctas, 9u);
  }
}

TEST(Parallel, TextComesInTheOrderOfCTAs) {
  const std::string ptx =
      makeModule(0,
                 "mov.u32 %r2, %ctaid.x;\n{\n.param .b64 a;\n.param .b64 c;\n"
                 ".param .b32 q;\n.local .b32 args;\n"
                 "st.local.u32 [args], %r2;\nmov.u64 %rd5, args;\n"
                 "cvta.local.u64 %rd5, %rd5;\nmov.u64 %rd6, text;\n"
                 "cvta.global.u64 %rd6, %rd6;\nst.param.b64 [a], %rd6;\n"
                 "st.param.b64 [c], %rd5;\n"
                 "call.uni (q), vprintf, (a, c);\n}\n",
                 ".global .b8 text[4] = {37, 100, 32, 0};\n"
                 ".extern .func (.param .b32 r) vprintf (.param .b64 f, "
                 ".param .b64 v);\n");
  std::string expected;
  for (unsigned i = 0; i < 50; ++i)
    expected += std::to_string(i) + " ";
  for (unsigned threads : threadCounts) {
    std::string text;
    Options options;
    options.print = [&](llvm::StringRef more) { text += more; };
    TestDevice device(withThreads(threads, options));
    expectClean(device.run(ptx, {50, 1, 1}, {1, 1, 1}, {}));
    EXPECT_EQ(text, expected);
  }
}

TEST(Parallel, SumsOfFloatsHaveOneOrder) {
  std::vector<float> first;
  for (unsigned threads : threadCounts) {
    TestDevice device(withThreads(threads));
    uint64_t sum = device.upload(std::vector<float>{0});
    expectClean(device.run(
        makeModule(1, "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 77, %r1;\n"
                      "cvt.rn.f32.u32 %f1, %r3;\nsin.approx.f32 %f1, %f1;\n"
                      "red.global.add.f32 [%rd1], %f1;\n"),
        {64, 1, 1}, {32, 1, 1}, {sum}));
    auto result = device.download<float>(sum, 1);
    if (first.empty())
      first = result;
    EXPECT_EQ(result, first);
  }
}

TEST(Parallel, LimitAndInterrupt) {
  for (unsigned threads : threadCounts) {
    Options options;
    options.threads = threads;
    options.maxWarpInstructions = 10000;
    TestDevice device(options);
    const std::string forever =
        makeModule(0, "L: add.u32 %r2, %r2, 1;\nbra L;\n");
    Report report = device.run(forever, {8, 1, 1}, {32, 1, 1}, {});
    EXPECT_FALSE(report.completed);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, FindingKind::StepLimit);
    std::atomic<bool> interrupt{true};
    device.device.getOptions().maxWarpInstructions = 0;
    device.device.getOptions().interrupt = &interrupt;
    report = device.run(forever, {8, 1, 1}, {32, 1, 1}, {});
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, FindingKind::Interrupted);
  }
}

} // namespace
