//===- TensorRaceTest.cpp - Order of accesses to tensor memory ------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2"};

const std::string globals = ".shared .align 1024 .b8 s[8192];\n"
                            ".shared .align 8 .b64 b;\n"
                            ".shared .align 8 .b64 c;\n"
                            ".shared .align 4 .u32 t;\n";

/// Four warps with 64 columns at %r11 (with each warp's lanes: %r12); all of
/// them written, mbarriers of one arrival in `b` and `c`, zeros in `s`, and in
/// %rd8, %rd9, %r13 what a product of 128 x 8 x 16 needs. %p1 is thread 0.
std::string kernel(const std::string &body) {
  return makeModule(
      1,
      "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 6;\nadd.u32 %r3, %r3, %r2;\n"
      "mov.u32 %r4, 0;\nst.shared.v4.u32 [%r3], {%r4, %r4, %r4, %r4};\n"
      "st.shared.v4.u32 [%r3+16], {%r4, %r4, %r4, %r4};\n"
      "st.shared.v4.u32 [%r3+32], {%r4, %r4, %r4, %r4};\n"
      "st.shared.v4.u32 [%r3+48], {%r4, %r4, %r4, %r4};\n"
      "fence.proxy.async.shared::cta;\n"
      "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [b], 1;\n"
      "@%p1 mbarrier.init.shared.b64 [c], 1;\nsetp.ge.u32 %p2, %r1, 32;\n"
      "@%p2 bra X;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 64;\n"
      "X: bar.sync 0;\nld.shared.u32 %r11, [t];\nshr.u32 %r12, %r1, 5;\n"
      "shl.b32 %r12, %r12, 21;\nadd.u32 %r12, %r12, %r11;\n"
      "add.u32 %r5, %r12, 8;\nadd.u32 %r6, %r12, 16;\n"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r12], "
      "{%r4, %r4, %r4, %r4, %r4, %r4, %r4, %r4};\n"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r5], "
      "{%r4, %r4, %r4, %r4, %r4, %r4, %r4, %r4};\n"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r6], "
      "{%r4, %r4, %r4, %r4, %r4, %r4, %r4, %r4};\n"
      "tcgen05.wait::st.sync.aligned;\n"
      "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
      "tcgen05.fence::after_thread_sync;\n"
      "cvt.u64.u32 %rd8, %r2;\nshr.u64 %rd8, %rd8, 4;\n"
      "add.s64 %rd9, %rd8, 256;\nor.b64 %rd8, %rd8, 0x0000400800800000;\n"
      "or.b64 %rd9, %rd9, 0x0000400800080000;\n"
      "mov.b32 %r13, 0x08020010;\nsetp.ne.u32 %p7, %r1, %r1;\n" +
          body +
          "\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\n@%p2 bra Z;\n"
          "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 64;\nZ:\n",
      globals);
}

/// What is found in every schedule: none, a race, or something else, in which
/// case the test fails. The message of a race contains `part`.
bool races(const std::string &body, const std::string &part = "",
           bool fences = false, bool pairs = false) {
  bool any = false, all = true;
  for (const std::string &schedule : schedules) {
    SCOPED_TRACE(schedule + ":\n" + body);
    Options options = checkedOptions(schedule);
    options.checks.tensorFences = fences;
    options.checks.tensorPairs = pairs;
    TestDevice device(options);
    uint64_t out = device.allocate(4096);
    Report report = device.run(kernel(body), {}, {128, 1, 1}, {out});
    bool race = has(report, FindingKind::Race);
    if (!race)
      expectClean(report);
    bool named = part.empty();
    for (const Finding &finding : report.findings)
      named |= finding.message.find(part) != std::string::npos;
    EXPECT_TRUE(!race || named) << report.findings[0].message;
    any |= race;
    all &= race;
  }
  EXPECT_EQ(any, all) << body;
  return any;
}

const std::string load =
    "tcgen05.ld.sync.aligned.32x32b.x8.b32 "
    "{%r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21}, [%r12];\n";
const std::string waitLoad = "tcgen05.wait::ld.sync.aligned;\n";
const std::string store = "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r12], "
                          "{%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};\n";
const std::string waitStore = "tcgen05.wait::st.sync.aligned;\n";
const std::string product = "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r11], "
                            "%rd8, %rd9, %r13, %p7;\n";
const std::string commit =
    "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
    "b64 [b];\n";
const std::string waitProduct =
    "L: mbarrier.try_wait.parity.shared.b64 %p3, [b], 0;\n@!%p3 bra L;\n";
const std::string before = "tcgen05.fence::before_thread_sync;\n";
const std::string after = "tcgen05.fence::after_thread_sync;\n";

//===----------------------------------------------------------------------===//
// Loads and stores of one warp
//===----------------------------------------------------------------------===//

TEST(TensorRace, LoadThenStore) {
  EXPECT_TRUE(races(load + store + waitLoad + waitStore,
                    "no tcgen05.wait::ld lies between"));
  EXPECT_FALSE(races(load + waitLoad + store + waitStore));
  // That the registers are used is no order of memory.
  EXPECT_TRUE(
      races(load + "add.u32 %r22, %r14, 1;\n" + store + waitLoad + waitStore));
}

TEST(TensorRace, StoreThenLoad) {
  EXPECT_TRUE(races(store + load + waitLoad + waitStore,
                    "no tcgen05.wait::st lies between"));
  EXPECT_TRUE(races(store + waitLoad + load + waitLoad + waitStore));
  EXPECT_FALSE(races(store + waitStore + load + waitLoad));
}

TEST(TensorRace, WorkThatIsNeverWaitedFor) {
  // The columns are freed under it.
  EXPECT_TRUE(races(load, "freeing tensor memory conflicts with the read"));
  EXPECT_TRUE(races(store, "freeing tensor memory conflicts with the write"));
  EXPECT_TRUE(races(product + commit));
}

TEST(TensorRace, OtherColumnsAreNoConflict) {
  EXPECT_FALSE(races("add.u32 %r22, %r12, 8;\n" + load +
                     "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r22], {%r1};\n" +
                     waitLoad + waitStore));
}

TEST(TensorRace, ShapesOfSixteenLanes) {
  // Columns 4 to 7 of the upper half, and of the lower one.
  std::string quarter =
      "tcgen05.st.sync.aligned.16x128b.x1.b32 [%r22], {%r1, %r1};\n";
  std::string half =
      "tcgen05.ld.sync.aligned.16x64b.x4.b32 {%r14, %r15, %r16, %r17}, "
      "[%r12];\n";
  EXPECT_TRUE(races("add.u32 %r22, %r12, 4;\n" + quarter + half + waitLoad +
                    waitStore));
  EXPECT_FALSE(races("add.u32 %r22, %r12, 0x100004;\n" + quarter + half +
                     waitLoad + waitStore));
  // 16x32bx2 reads two runs of columns.
  std::string split =
      "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r14, %r15}, [%r12], 8;\n";
  for (auto [column, conflict] :
       {std::pair(1, true), {2, false}, {7, false}, {9, true}, {10, false}})
    EXPECT_EQ(
        races("add.u32 %r22, %r12, " + std::to_string(column) +
              ";\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%r22], {%r1};\n" +
              split + waitLoad + waitStore),
        conflict)
        << column;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TEST(TensorRace, ProductThenLoad) {
  EXPECT_FALSE(races(product + commit + waitProduct + load + waitLoad));
  EXPECT_TRUE(races(product + commit + load + waitLoad + waitProduct));
  // A barrier does not wait for products.
  EXPECT_TRUE(races(product + commit + "bar.sync 0;\n" + load + waitLoad +
                    waitProduct));
  // The commit must follow the product.
  EXPECT_TRUE(races(commit + product + waitProduct + load + waitLoad));
}

TEST(TensorRace, LoadThenProduct) {
  std::string end = commit + waitProduct;
  EXPECT_TRUE(races(load + waitLoad + product + end));
  EXPECT_FALSE(races(load + waitLoad + "bar.sync 0;\n" + product + end));
  // Each warp must have waited before the barrier.
  EXPECT_TRUE(races(load + "bar.sync 0;\n" + waitLoad + product + end));
}

TEST(TensorRace, ProductsIntoOneAccumulatorKeepTheirOrder) {
  EXPECT_FALSE(races(product + product + commit + waitProduct));
  // Not so with another shape or kind, or over part of it.
  std::string other =
      "mov.b32 %r22, 0x08020010;\n@%p1 tcgen05.mma.cta_group::1."
      "kind::f8f6f4 [%r11], %rd8, %rd9, %r22, %p7;\n";
  EXPECT_TRUE(races(product + other + commit + waitProduct));
  std::string wide = "mov.b32 %r22, 0x08040010;\n@%p1 tcgen05.mma.cta_group::1."
                     "kind::f16 [%r11], %rd8, %rd8, %r22, %p7;\n";
  EXPECT_TRUE(races(product + wide + commit + waitProduct));
  std::string shifted = "add.u32 %r22, %r11, 4;\n@%p1 tcgen05.mma.cta_group::1."
                        "kind::f16 [%r22], %rd8, %rd9, %r13, %p7;\n";
  EXPECT_TRUE(races(product + shifted + commit + waitProduct));
}

TEST(TensorRace, OperandsInTensorMemory) {
  // A in columns 8 to 15; its accumulator in columns 0 to 7.
  std::string read = "add.u32 %r22, %r11, 8;\n@%p1 tcgen05.mma.cta_group::1."
                     "kind::f16 [%r11], [%r22], %rd9, %r13, %p7;\n";
  EXPECT_FALSE(races(read + commit + waitProduct));
  // The product that makes A must be complete.
  std::string make = "add.u32 %r22, %r11, 8;\n@%p1 tcgen05.mma.cta_group::1."
                     "kind::f16 [%r22], %rd8, %rd9, %r13, %p7;\n";
  EXPECT_TRUE(races(make + read + commit + waitProduct));
  EXPECT_FALSE(races(
      make + commit + waitProduct + read +
      "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
      "b64 [c];\nM: mbarrier.try_wait.parity.shared.b64 %p3, [c], 0;\n"
      "@!%p3 bra M;\n"));
}

TEST(TensorRace, OperandsUnderWayMayBeOverwrittenInOrder) {
  auto onlyPairs = [](const std::string &body, const std::string &part = "") {
    return races(body, part, /*fences=*/false, /*pairs=*/true);
  };
  // A in columns 8 to 15; its accumulator in columns 0 to 7.
  std::string address = "add.u32 %r22, %r11, 8;\n";
  std::string read = "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r11], [%r22], "
                     "%rd9, %r13, %p7;\n";
  std::string end = "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one."
                    "shared::cluster.b64 [c];\n"
                    "M: mbarrier.try_wait.parity.shared.b64 %p3, [c], 0;\n"
                    "@!%p3 bra M;\n";
  for (const std::string &write :
       {std::string("@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r22], %rd8, "
                    "%rd9, %r13, %p7;\n"),
        std::string("@%p1 tcgen05.cp.cta_group::1.128x128b [%r22], %rd8;\n")}) {
    EXPECT_FALSE(races(address + read + write + end));
    EXPECT_TRUE(onlyPairs(address + read + write + end,
                          "this write to tensor memory conflicts with the "
                          "read"));
    EXPECT_FALSE(
        onlyPairs(address + read + commit + waitProduct + write + end));
  }
  // Two copies to one place are no pair, a copy and a product that reads it or
  // writes over it are.
  std::string copy = "@%p1 tcgen05.cp.cta_group::1.128x128b [%r22], %rd8;\n";
  EXPECT_FALSE(races(address + copy + copy + end));
  EXPECT_TRUE(onlyPairs(address + copy + copy + end));
  EXPECT_FALSE(onlyPairs(address + copy + read + end));
  EXPECT_FALSE(onlyPairs(product + product + end));
}

TEST(TensorRace, CopiesComeBeforeLaterProducts) {
  std::string copy = "@%p1 tcgen05.cp.cta_group::1.128x128b [%r11], %rd8;\n";
  EXPECT_FALSE(races(copy + product + commit + waitProduct));
  EXPECT_TRUE(races(copy + commit + load + waitLoad + waitProduct));
  EXPECT_FALSE(races(copy + commit + waitProduct + load + waitLoad));
  // A product does not come before a later copy over its result.
  EXPECT_TRUE(races(product + copy + commit + waitProduct));
}

TEST(TensorRace, SharedOperandsMustStayUntilTheCommitArrives) {
  std::string overwrite = "@%p1 st.shared.u32 [s], 1;\n";
  EXPECT_TRUE(races(product + commit + overwrite + waitProduct));
  EXPECT_FALSE(races(product + commit + waitProduct + overwrite));
  // Of B, and by another thread.
  std::string other = "setp.eq.u32 %p4, %r1, 40;\n@%p4 st.shared.u32 [s+4096], "
                      "1;\n";
  EXPECT_TRUE(races(product + commit + other + waitProduct));
  EXPECT_FALSE(races(product + commit + waitProduct + other));
  // Behind the last byte of B.
  std::string behind = "@%p1 st.shared.u32 [s+4352], 1;\n";
  EXPECT_FALSE(races(product + commit + behind + waitProduct));
}

//===----------------------------------------------------------------------===//
// tcgen05.fence
//===----------------------------------------------------------------------===//

TEST(TensorRace, FencesBetweenThreads) {
  auto missing = [](const std::string &body, const std::string &part) {
    // Only who asks for them is told.
    EXPECT_FALSE(races(body));
    return races(body, part, /*fences=*/true);
  };
  std::string use = load + waitLoad;
  EXPECT_TRUE(missing(product + commit + waitProduct + use,
                      "a tcgen05.fence::after_thread_sync is missing"));
  EXPECT_FALSE(missing(product + commit + waitProduct + after + use, ""));
  std::string end = commit + waitProduct;
  EXPECT_FALSE(
      missing(use + before + "bar.sync 0;\n" + after + product + end, ""));
  EXPECT_TRUE(missing(use + "bar.sync 0;\n" + after + product + end,
                      "a tcgen05.fence::before_thread_sync or"));
  EXPECT_TRUE(missing(use + before + "bar.sync 0;\n" + product + end,
                      "a tcgen05.fence::after_thread_sync is missing"));
}

TEST(TensorRace, FencesMakeRelaxedOperationsEnough) {
  // Thread 0 of warp 0 makes products; warp 1 takes the lanes that it reaches.
  std::string arrive = "@%p4 mbarrier.arrive.relaxed.cta.shared.b64 _, [c];\n";
  std::string wait = "M: mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p3, "
                     "[c], 0;\n@!%p3 bra M;\n";
  std::string waitRelaxed =
      "L: mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p3, [b], 0;\n"
      "@!%p3 bra L;\n";
  // A product, complete by the commit.
  EXPECT_TRUE(races(product + commit + waitRelaxed + load + waitLoad));
  EXPECT_FALSE(races(product + commit + waitRelaxed + after + load + waitLoad));
  // A load, handed over by one thread of warp 1 to the products.
  auto handOver = [&](const std::string &release, const std::string &acquire) {
    return "setp.eq.u32 %p4, %r1, 32;\nshr.u32 %r22, %r1, 5;\n"
           "setp.ne.u32 %p5, %r22, 1;\n@%p5 bra N;\n" +
           load + waitLoad + release + arrive + "N: @%p2 bra O;\n" + wait +
           acquire + product + commit + "O:\n" + waitProduct;
  };
  EXPECT_FALSE(races(handOver(before, after)));
  EXPECT_TRUE(races(handOver("", after)));
  EXPECT_TRUE(races(handOver(before, "")));
  // Without them the order of other memory would do.
  std::string ordered = handOver("", "");
  for (std::string::size_type at;
       (at = ordered.find(".relaxed.cta")) != std::string::npos;)
    ordered.erase(at, strlen(".relaxed.cta"));
  EXPECT_FALSE(races(ordered));
}

TEST(TensorRace, CopiesAndProductsOfTwoThreads) {
  // Pairs that keep their order need not be waited for, only be ordered.
  auto handOver = [&](const std::string &release, const std::string &acquire) {
    return "setp.eq.u32 %p4, %r1, 32;\n"
           "@%p4 tcgen05.cp.cta_group::1.128x128b [%r11], %rd8;\n" +
           release +
           "@%p4 mbarrier.arrive.relaxed.cta.shared.b64 _, [c];\n"
           "@%p4 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::"
           "cluster.b64 [s+8000];\n"
           "@%p2 bra O;\nM: mbarrier.try_wait.parity.relaxed.cta.shared.b64 "
           "%p3, [c], 0;\n@!%p3 bra M;\n" +
           acquire + product + commit + "O:\n" + waitProduct +
           "P: mbarrier.try_wait.parity.shared.b64 %p3, [s+8000], 0;\n"
           "@!%p3 bra P;\n";
  };
  std::string init = "@%p1 mbarrier.init.shared.b64 [s+8000], 1;\n"
                     "bar.sync 0;\n";
  EXPECT_FALSE(races(init + handOver(before, after)));
  EXPECT_TRUE(races(init + handOver("", after)));
  EXPECT_TRUE(races(init + handOver(before, "")));
}

//===----------------------------------------------------------------------===//
// Registers of loads
//===----------------------------------------------------------------------===//

/// Stores tid into the column whose value the load before it takes, and gives
/// out that value.
std::vector<uint32_t> loadedValues(const std::string &schedule,
                                   const std::string &between) {
  Options options;
  options.schedule = llvm::cantFail(Schedule::parse(schedule));
  TestDevice device(options);
  uint64_t out = device.allocate(512);
  Report report = device.run(
      kernel(load + between + store + waitStore +
             "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd5, %rd1;\n"
             "st.global.u32 [%rd5], %r14;\n" +
             waitLoad),
      {}, {128, 1, 1}, {out});
  expectClean(report);
  return device.download<uint32_t>(out, 128);
}

TEST(TensorLoad, TakesEffectWhenObserved) {
  std::vector<uint32_t> zeros(128, 0), threads(128);
  for (unsigned i = 0; i < 128; ++i)
    threads[i] = i;
  EXPECT_EQ(loadedValues("eager", ""), zeros);
  // Without a wait the later store may come first.
  EXPECT_EQ(loadedValues("lazy", ""), threads);
  for (const std::string &schedule : schedules) {
    EXPECT_EQ(loadedValues(schedule, waitLoad), zeros) << schedule;
    // A use waits for the value.
    EXPECT_EQ(loadedValues(schedule, "add.u32 %r22, %r14, 0;\n"), zeros)
        << schedule;
  }
}

TEST(TensorLoad, UsingARegisterNeedsNoWait) {
  EXPECT_FALSE(races(load + "add.u32 %r14, %r14, 1;\n" + waitLoad));
}

TEST(TensorLoad, OverwritingARegisterNeedsAWait) {
  TestDevice device(checkedOptions("lazy"));
  uint64_t out = device.allocate(4096);
  Report report = device.run(kernel(load + "mov.u32 %r15, 1;\n" + waitLoad), {},
                             {128, 1, 1}, {out});
  ASSERT_TRUE(has(report, FindingKind::TensorMemory));
  EXPECT_NE(report.findings[0].message.find("overwrites a register that line"),
            std::string::npos);
  expectClean(device.run(kernel(load + waitLoad + "mov.u32 %r15, 1;\n"), {},
                         {128, 1, 1}, {out}));
}

TEST(TensorLoad, InAFunction) {
  // The registers of the load are those of its own frame.
  std::string function = ".func f()\n{\n.reg .b32 %r<32>;\nmov.u32 %r14, 5;\n"
                         "mov.u32 %r15, 6;\nret;\n}\n";
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.allocate(512);
    std::string text =
        kernel(load + "call f;\n" + waitLoad +
               "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd5, %rd1;\n"
               "st.global.u32 [%rd5], %r14;\n");
    text.insert(text.find(".visible"), function);
    expectClean(device.run(text, {}, {128, 1, 1}, {out}));
    EXPECT_EQ(device.download<uint32_t>(out, 128),
              std::vector<uint32_t>(128, 0));
  }
}

} // namespace
