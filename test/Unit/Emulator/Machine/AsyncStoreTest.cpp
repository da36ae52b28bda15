//===- AsyncStoreTest.cpp - st.async and red.async ------------------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2"};

const std::string globals = ".shared .align 8 .b64 s;\n"
                            ".shared .align 8 .b64 b;\n";

/// Two CTAs: each has `before` in its [s], does `op` with the other's, waits
/// for `bytes` bytes and returns [s]. The other's [s] and [b] are at %r5 and
/// %r6, and at the generic addresses %rd9 and %rd10.
uint64_t exchange(const std::string &op, unsigned bytes, uint64_t before,
                  const std::string &schedule) {
  TestDevice device(checkedOptions(schedule));
  uint64_t out = device.allocate(16);
  expectClean(device.run(
      makeModule(
          1,
          "mov.u32 %r2, %cluster_ctarank;\n"
          "mov.b64 %rd6, " +
              std::to_string(before) +
              ";\nst.shared.b64 [s], %rd6;\n"
              "mbarrier.init.shared.b64 [b], 1;\n"
              "mbarrier.arrive.expect_tx.shared.b64 _, [b], " +
              std::to_string(bytes) +
              ";\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
              "xor.b32 %r3, %r2, 1;\n"
              "mov.u32 %r5, s;\nmapa.shared::cluster.u32 %r5, %r5, %r3;\n"
              "mov.u32 %r6, b;\nmapa.shared::cluster.u32 %r6, %r6, %r3;\n"
              "cvt.u64.u32 %rd9, %r5;\ncvta.shared::cluster.u64 %rd9, %rd9;\n"
              "cvt.u64.u32 %rd10, %r6;\n"
              "cvta.shared::cluster.u64 %rd10, %rd10;\n" +
              op +
              "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n"
              "@!%p2 bra L;\n"
              "ld.shared.b64 %rd7, [s];\nmul.wide.u32 %rd5, %r2, 8;\n"
              "add.s64 %rd5, %rd1, %rd5;\nst.global.b64 [%rd5], %rd7;\n"
              "barrier.cluster.arrive;\nbarrier.cluster.wait;\n",
          globals),
      {2, 1, 1}, {}, {out}, 0, {2, 1, 1}));
  auto words = device.download<uint64_t>(out, 2);
  EXPECT_EQ(words[0], words[1]);
  return words[0];
}

TEST(AsyncStore, ReachesTheOtherCTA) {
  for (const std::string &schedule : schedules) {
    const std::string form =
        "st.async.shared::cluster.mbarrier::complete_tx::bytes";
    EXPECT_EQ(exchange(form + ".u32 [%r5], 51, [%r6];\n", 4, 1ull << 40 | 7,
                       schedule),
              1ull << 40 | 51);
    EXPECT_EQ(exchange("mov.b64 %rd8, 0x123456789a;\n" + form +
                           ".b64 [%r5], %rd8, [%r6];\n",
                       8, 0, schedule),
              0x123456789aull);
    EXPECT_EQ(
        exchange(form + ".v2.b32 [%r5], {3, 4}, [%r6];\n", 8, 0, schedule),
        4ull << 32 | 3);
    EXPECT_EQ(exchange("st.async.weak.mbarrier::complete_tx::bytes.b32 "
                       "[%rd9], 9, [%rd10];\n",
                       4, 0, schedule),
              9u)
        << "generic addresses";
  }
}

TEST(AsyncStore, ReducesAtTheOtherCTA) {
  struct {
    const char *op;
    uint64_t before, value, after;
  } cases[] = {
      {"inc.u32", 6, 7, 7},
      {"inc.u32", 7, 7, 0},
      {"dec.u32", 0, 7, 7},
      {"dec.u32", 5, 7, 4},
      {"min.u32", 5, 0xfffffffe, 5},
      {"min.s32", 5, 0xfffffffe, 0xfffffffe},
      {"max.u32", 5, 0xfffffffe, 0xfffffffe},
      {"max.s32", 5, 0xfffffffe, 5},
      {"and.b32", 0xff0, 0x0ff, 0x0f0},
      {"or.b32", 0xf00, 0x0f0, 0xff0},
      {"xor.b32", 0xff0, 0x0ff, 0xf0f},
      {"add.u32", 0xffffffff, 3, 2},
      {"add.s32", 5, 0xfffffffe, 3},
      {"add.u64", 0xffffffff, 3, 0x100000002},
  };
  for (const std::string &schedule : schedules)
    for (const auto &c : cases) {
      bool wide = std::string(c.op) == "add.u64";
      std::string op = "mov.b64 %rd8, " + std::to_string(c.value) +
                       ";\ncvt.u32.u64 %r8, %rd8;\n"
                       "red.async.relaxed.cluster.shared::cluster.mbarrier::"
                       "complete_tx::bytes." +
                       std::string(c.op) + " [%r5], " +
                       (wide ? "%rd8" : "%r8") + ", [%r6];\n";
      EXPECT_EQ(exchange(op, wide ? 8 : 4, c.before, schedule), c.after)
          << c.op;
    }
}

/// CTAs 1 to 3 each write a word of %rd1 and then do `signal`; CTA 0 polls
/// [%rd2] with `load` until it is `value` and sums the words into [%rd3].
Report passMessage(const std::string &signal, const std::string &load,
                   unsigned value, const std::string &schedule, uint32_t &sum) {
  TestDevice device(checkedOptions(schedule));
  uint64_t data = device.allocate(16),
           flag = device.upload(std::vector<uint32_t>{0}),
           out = device.upload(std::vector<uint32_t>{0});
  Report report = device.run(
      makeModule(3, "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd5, %r2, 4;\n"
                    "add.s64 %rd6, %rd1, %rd5;\nsetp.eq.u32 %p1, %r2, 0;\n"
                    "@%p1 bra W;\nmul.lo.u32 %r3, %r2, 10;\n"
                    "st.global.u32 [%rd6], %r3;\n" +
                        signal + "ret;\nW: " + load +
                        " %r4, [%rd2];\n"
                        "setp.ne.u32 %p2, %r4, " +
                        std::to_string(value) +
                        ";\n@%p2 bra W;\n"
                        "ld.global.u32 %r5, [%rd6+4];\n"
                        "ld.global.u32 %r6, [%rd6+8];\n"
                        "ld.global.u32 %r7, [%rd6+12];\n"
                        "add.u32 %r5, %r5, %r6;\nadd.u32 %r5, %r5, %r7;\n"
                        "st.global.u32 [%rd3], %r5;\n"),
      {4, 1, 1}, {}, {data, flag, out});
  sum = device.download<uint32_t>(out, 1)[0];
  return report;
}

TEST(AsyncStore, ReleasesWhatCameBefore) {
  const std::string acquire = "ld.acquire.gpu.global.u32";
  for (const std::string &schedule : schedules) {
    uint32_t sum = 0;
    expectClean(passMessage("red.async.release.gpu.global.add.u32 [%rd2], 1;\n",
                            acquire, 3, schedule, sum));
    EXPECT_EQ(sum, 60u);
    expectClean(passMessage("red.async.mmio.release.sys.add.s32 [%rd2], 1;\n",
                            acquire, 3, schedule, sum));
    EXPECT_EQ(sum, 60u);
    // Reading the value without acquiring it orders nothing.
    EXPECT_TRUE(
        has(passMessage("red.async.release.gpu.global.add.u32 [%rd2], 1;\n",
                        "ld.relaxed.gpu.global.u32", 3, schedule, sum),
            FindingKind::Race));
  }
}

TEST(AsyncStore, OfAllSizesToGlobalMemory) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.upload(std::vector<uint64_t>(2)),
             seen = device.upload(std::vector<uint32_t>{77});
    expectClean(device.run(
        makeModule(2, "mov.b64 %rd5, 0x123456789abcdef0;\n"
                      "cvt.u32.u64 %r2, %rd5;\ncvt.u16.u64 %rs1, %rd5;\n"
                      "st.async.release.gpu.global.b64 [%rd1+8], %rd5;\n"
                      "st.async.release.sys.global.u32 [%rd1], %r2;\n"
                      "st.async.mmio.release.sys.b16 [%rd1+4], %rs1;\n"
                      "st.async.release.gpu.global.s8 [%rd1+6], %rs1;\n"
                      "ld.relaxed.gpu.global.u32 %r3, [%rd1];\n"
                      "st.global.u32 [%rd2], %r3;\n"),
        {}, {}, {out, seen}));
    EXPECT_EQ(device.download<uint64_t>(out, 2),
              (std::vector<uint64_t>{0x00f0def09abcdef0, 0x123456789abcdef0}));
    // Nothing waits for the store.
    uint32_t early = device.download<uint32_t>(seen, 1)[0];
    if (schedule == "eager")
      EXPECT_EQ(early, 0x9abcdef0u);
    else if (schedule == "lazy")
      EXPECT_EQ(early, 0u);
    else
      EXPECT_TRUE(early == 0 || early == 0x9abcdef0u);
  }
}

TEST(AsyncStore, FormsThatThereAreNot) {
  TestDevice device;
  const std::string signal = ".shared::cluster.mbarrier::complete_tx::bytes";
  for (const std::string &line :
       {std::string("red.async.release.gpu.global.min.u32 [%rd1], 1;\n"),
        std::string("st.async.release.gpu.global.v2.b32 [%rd1], {1, 2};\n"),
        std::string("st.async.global.b32 [%rd1], 1;\n"),
        "st.async" + signal + ".b16 [%r2], %rs1, [%r3];\n",
        "st.async.release.gpu" + signal + ".b32 [%r2], 1, [%r3];\n",
        "red.async.relaxed.cluster" + signal + ".add.f32 [%r2], %f1, [%r3];\n"})
    EXPECT_NE(device.error(makeModule(1, line), {}, {}, {0})
                  .find("this instruction is not supported"),
              std::string::npos)
        << line;
}

} // namespace
