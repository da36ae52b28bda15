//===- WarpTest.cpp - Votes, shuffles, matches, reductions, barriers ------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

/// Runs `body`, which leaves a result in %r2 (and %p1 where `predicate`), for
/// each thread.
std::vector<uint32_t> runWarp(const std::string &body, unsigned threads = 32,
                              const std::string &schedule = "eager") {
  TestDevice device(checkedOptions(schedule));
  uint64_t out = device.allocate(threads * 4);
  expectClean(device.run(makeModule(1, body + "mul.wide.u32 %rd5, %r1, 4;\n"
                                              "add.s64 %rd5, %rd1, %rd5;\n"
                                              "st.global.u32 [%rd5], %r2;\n"),
                         {}, {threads, 1, 1}, {out}));
  return device.download<uint32_t>(out, threads);
}

TEST(Warp, Shuffles) {
  // Every mode, several widths: the pseudo-code of the PTX document.
  for (const char *mode : {"up", "down", "bfly", "idx"})
    for (unsigned width : {32u, 16u, 8u, 4u})
      for (unsigned b : {0u, 1u, 3u, 5u, 17u, 31u}) {
        unsigned clamp = mode == std::string("up") ? 0 : 31;
        unsigned c = (32 - width) << 8 | clamp;
        auto results = runWarp(
            std::string("mad.lo.u32 %r3, %r1, 10, 7;\nshfl.sync.") + mode +
            ".b32 %r4|%p1, %r3, " + std::to_string(b) + ", " +
            std::to_string(c) +
            ", -1;\nselp.u32 %r2, 1000, 0, %p1;\nadd.u32 %r2, %r2, %r4;\n");
        for (unsigned lane = 0; lane < 32; ++lane) {
          unsigned seg = lane / width * width, last = seg + width - 1;
          int source = mode == std::string("up")     ? int(lane) - int(b)
                       : mode == std::string("down") ? int(lane + b)
                       : mode == std::string("bfly")
                           ? int(lane ^ b)
                           : int(seg | (b & (width - 1)));
          bool valid = mode == std::string("up") ? source >= int(seg)
                                                 : source <= int(last);
          if (!valid)
            source = int(lane);
          ASSERT_EQ(results[lane],
                    uint32_t(source) * 10 + 7 + (valid ? 1000 : 0))
              << mode << " " << width << " " << b << " " << lane;
        }
      }
}

TEST(Warp, VotesAndMatches) {
  auto ballot = runWarp("and.b32 %r3, %r1, 3;\nsetp.eq.u32 %p1, %r3, 1;\n"
                        "vote.sync.ballot.b32 %r2, %p1, -1;\n");
  EXPECT_EQ(ballot[9], 0x22222222u);
  for (auto [kind, expected] :
       {std::pair("all", 0u), std::pair("any", 1u), std::pair("uni", 0u)}) {
    auto votes =
        runWarp(std::string("setp.lt.u32 %p1, %r1, 31;\nvote.sync.") + kind +
                ".pred %p2, %p1, -1;\nselp.u32 %r2, 1, 0, %p2;\n");
    EXPECT_EQ(votes[3], expected) << kind;
  }
  auto any =
      runWarp("shr.u32 %r3, %r1, 3;\nmatch.any.sync.b32 %r2, %r3, -1;\n");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(any[i], 0xffu << i / 8 * 8);
  auto all = runWarp("mov.u64 %rd6, 5;\nmatch.all.sync.b64 %r3|%p1, %rd6, -1;\n"
                     "selp.u32 %r2, %r3, 0, %p1;\n");
  EXPECT_EQ(all[0], 0xffffffffu);
}

TEST(Warp, Reductions) {
  auto reduce = [](const std::string &op) {
    return runWarp("xor.b32 %r3, %r1, 0x8000001F;\nredux.sync." + op +
                   " %r2, %r3, -1;\n")[4];
  };
  uint32_t sum = 0, all = ~0u, any = 0, odd = 0, least = ~0u;
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t v = i ^ 0x8000001fu;
    sum += v;
    all &= v;
    any |= v;
    odd ^= v;
    least = std::min(least, v);
  }
  EXPECT_EQ(reduce("add.u32"), sum);
  EXPECT_EQ(reduce("and.b32"), all);
  EXPECT_EQ(reduce("or.b32"), any);
  EXPECT_EQ(reduce("xor.b32"), odd);
  EXPECT_EQ(reduce("min.u32"), least);
  EXPECT_EQ(reduce("max.s32"), 0x8000001fu);
  auto f = runWarp("cvt.rn.f32.u32 %f1, %r1;\nneg.f32 %f1, %f1;\n"
                   "redux.sync.max.abs.f32 %f2, %f1, -1;\nmov.b32 %r2, %f2;\n");
  EXPECT_EQ(f[0], 0x41f80000u);
}

TEST(Warp, PartialMasksFromDivergentCode) {
  // Even threads shuffle among themselves in one branch, odd ones in another.
  auto results =
      runWarp("and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra E;\n"
              "shfl.sync.idx.b32 %r2, %r1, 31, 31, 0xAAAAAAAA;\nbra J;\n"
              "E: shfl.sync.idx.b32 %r2, %r1, 30, 31, 0x55555555;\nJ:\n");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(results[i], i % 2 ? 31u : 30u);
}

TEST(Warp, MembersWaitForEachOther) {
  // The two halves come to the same shuffle at different times.
  for (const char *schedule : {"eager", "random:5", "random:6"}) {
    auto results =
        runWarp("mov.u32 %r3, %r1;\nsetp.lt.u32 %p1, %r1, 16;\n"
                "@!%p1 bra S;\nmov.u32 %r4, 0;\n"
                "L: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 100;\n"
                "@%p2 bra L;\nadd.u32 %r3, %r3, %r4;\n"
                "S: shfl.sync.bfly.b32 %r2, %r3, 16, 31, -1;\n",
                32, schedule);
    for (unsigned i = 0; i < 32; ++i)
      ASSERT_EQ(results[i], i < 16 ? i + 16 : i - 16 + 100);
  }
}

TEST(Warp, ElectChoosesOne) {
  auto results =
      runWarp("elect.sync %r3|%p1, 0xFFFFFFFF;\n"
              "selp.u32 %r2, 100, 0, %p1;\nadd.u32 %r2, %r2, %r3;\n");
  EXPECT_EQ(results[0], 100u);
  for (unsigned i = 1; i < 32; ++i)
    EXPECT_EQ(results[i], 0u);
}

TEST(Warp, NamedBarriersAndReductions) {
  auto count = runWarp("setp.lt.u32 %p1, %r1, 50;\n"
                       "barrier.cta.red.popc.aligned.u32 %r2, 3, %p1;\n",
                       128);
  for (uint32_t value : count)
    EXPECT_EQ(value, 50u);
  auto all =
      runWarp("setp.lt.u32 %p1, %r1, 127;\nbar.red.and.pred %p2, 1, %p1;\n"
              "bar.red.or.pred %p3, 1, %p1;\nselp.u32 %r2, 1, 0, %p2;\n"
              "selp.u32 %r3, 2, 0, %p3;\nor.b32 %r2, %r2, %r3;\n",
              128);
  EXPECT_EQ(all[77], 2u);
  // Producer warps arrive, consumer warps wait: 64 threads each.
  TestDevice device(checkedOptions("random:3"));
  uint64_t out = device.allocate(512);
  expectClean(device.run(
      makeModule(
          1,
          "mov.u32 %r5, s;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r5, %r5, %r6;\n"
          "setp.lt.u32 %p1, %r1, 64;\n@!%p1 bra C;\n"
          "st.shared.u32 [%r5], %r1;\nbar.arrive 2, 128;\nbra J;\n"
          "C: bar.sync 2, 128;\nld.shared.u32 %r2, [%r5+-256];\n"
          "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
          "st.global.u32 [%rd5], %r2;\nJ:\n",
          ".shared .align 4 .b8 s[512];\n"),
      {}, {128, 1, 1}, {out}));
  auto results = device.download<uint32_t>(out, 128);
  for (unsigned i = 64; i < 128; ++i)
    EXPECT_EQ(results[i], i - 64);
}

TEST(Warp, MatrixTransposeThroughSharedMemory) {
  // ldmatrix.trans of what plain stores wrote, against the layout formula.
  auto results = runWarp(
      ".shared .align 16 .b8 m[128];\nmov.u32 %r5, m;\n"
      // Thread t writes the pair (row t/4, columns 2*(t%4), +1) = {2t, 2t+1}.
      "shl.b32 %r6, %r1, 2;\nadd.u32 %r7, %r5, %r6;\nshl.b32 %r8, %r1, 1;\n"
      "add.u32 %r9, %r8, 1;\nprmt.b32 %r10, %r8, %r9, 0x5410;\n"
      "st.shared.b32 [%r7], %r10;\nbar.warp.sync -1;\n"
      "and.b32 %r11, %r1, 7;\nshl.b32 %r11, %r11, 4;\nadd.u32 %r11, %r11, "
      "%r5;\n"
      "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r2}, [%r11];\n");
  for (unsigned t = 0; t < 32; ++t) {
    unsigned low = (2 * (t % 4)) * 8 + t / 4,
             high = (2 * (t % 4) + 1) * 8 + t / 4;
    EXPECT_EQ(results[t], low | high << 16);
  }
}

TEST(Warp, MmaOfSmallIntegers) {
  // A[i][k] = i + 1 where k == i, B[k][j] = k + 10 j: D = diag(i + 1) B.
  auto results = runWarp(
      "shr.u32 %r3, %r1, 2;\nand.b32 %r4, %r1, 3;\n"
      // A fragment of m8n8k4 f64 is A[t/4][t%4].
      "setp.eq.u32 %p1, %r3, %r4;\nadd.u32 %r5, %r3, 1;\n"
      "cvt.rn.f64.u32 %fd1, %r5;\nselp.f64 %fd1, %fd1, 0d0000000000000000, "
      "%p1;\n"
      // B is B[t%4][t/4].
      "mad.lo.u32 %r6, %r3, 10, %r4;\ncvt.rn.f64.u32 %fd2, %r6;\n"
      "mov.f64 %fd3, 0d0000000000000000;\n"
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd4, %fd5}, {%fd1}, "
      "{%fd2}, {%fd3, %fd3};\ncvt.rzi.u32.f64 %r7, %fd4;\n"
      "cvt.rzi.u32.f64 %r8, %fd5;\nprmt.b32 %r2, %r7, %r8, 0x5410;\n");
  for (unsigned t = 0; t < 32; ++t) {
    unsigned row = t / 4, col = 2 * (t % 4);
    auto d = [&](unsigned j) {
      return row < 4 ? (row + 1) * (row + 10 * j) : 0;
    };
    EXPECT_EQ(results[t], d(col) | d(col + 1) << 16);
  }
}

} // namespace
