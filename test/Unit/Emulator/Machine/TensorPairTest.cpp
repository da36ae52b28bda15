//===- TensorPairTest.cpp - Pairs of CTAs, shifts and zeroed columns ------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2"};

std::string allocatePair(unsigned columns) {
  return "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [t], " +
         std::to_string(columns) +
         ";\nbar.warp.sync -1;\nld.shared.u32 %r2, [t];\n";
}
std::string freePair(const std::string &address, unsigned columns) {
  return "tcgen05.dealloc.cta_group::2.sync.aligned.b32 " + address + ", " +
         std::to_string(columns) + ";\n";
}

const std::string storeRank = "mov.u32 %r9, %ctaid.x;\n"
                              "mul.wide.u32 %rd5, %r9, 4;\n"
                              "add.s64 %rd5, %rd1, %rd5;\n";

TEST(TensorPair, BothCTAsGetTheSameColumns) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.upload(std::vector<uint32_t>(8));
    // The second allocation begins behind the first.
    expectClean(
        device.run(makeModule(1,
                              allocatePair(128) +
                                  "mov.u32 %r3, %r2;\nbar.warp.sync -1;\n" +
                                  allocatePair(64) + storeRank +
                                  "st.global.u32 [%rd5], %r3;\n"
                                  "st.global.u32 [%rd5+16], %r2;\n" +
                                  freePair("%r3", 128) + freePair("%r2", 64),
                              ".shared .align 4 .u32 t;\n"),
                   {4, 1, 1}, {32, 1, 1}, {out}, 0, {2, 1, 1}));
    EXPECT_EQ(device.download<uint32_t>(out, 8),
              (std::vector<uint32_t>{0, 0, 0, 0, 128, 128, 128, 128}));
  }
}

TEST(TensorPair, Misuse) {
  auto run = [](const std::string &body, Dim3 cluster) {
    TestDevice device(checkedOptions());
    return device.run(
        makeModule(1,
                   "mov.u32 %r9, %ctaid.x;\nsetp.eq.u32 %p1, %r9, 0;\n" + body,
                   ".shared .align 4 .u32 t;\n"),
        {2, 1, 1}, {32, 1, 1}, {device.upload(std::vector<uint32_t>(8))}, 0,
        cluster);
  };
  // One CTA alone waits for the other; a CTA without a peer; other columns.
  Report report = run("@!%p1 exit;\n" + allocatePair(32), {2, 1, 1});
  EXPECT_TRUE(has(report, FindingKind::Deadlock));
  report = run(allocatePair(32), {1, 1, 1});
  EXPECT_TRUE(has(report, FindingKind::IllegalOperand));
  report = run("mov.u32 %r4, 32;\n@%p1 mov.u32 %r4, 64;\n"
               "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [t], "
               "%r4;\n",
               {2, 1, 1});
  EXPECT_TRUE(has(report, FindingKind::TensorMemory));
}

TEST(TensorShift, EightColumnsMoveByOneLane) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t out = device.allocate(32 * 64);
    // Cell (lane, column) holds 100 lane + column; columns 2 to 9 are shifted.
    std::string fill = "mul.lo.u32 %r3, %r1, 100;\n", registers, list, stores;
    for (unsigned c = 0; c < 16; ++c) {
      std::string reg = "%r" + std::to_string(10 + c);
      fill += "add.u32 " + reg + ", %r3, " + std::to_string(c) + ";\n";
      list += (c ? "," : "") + reg;
      stores +=
          "st.global.u32 [%rd5+" + std::to_string(4 * c) + "], " + reg + ";\n";
    }
    expectClean(device.run(
        makeModule(
            1,
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 32;\n"
            "bar.warp.sync -1;\nld.shared.u32 %r2, [t];\nsetp.eq.u32 %p2, %r1, "
            "0;\n"
            "@%p2 mbarrier.init.shared.b64 [b], 1;\n" +
                fill + "tcgen05.st.sync.aligned.32x32b.x16.b32 [%r2], {" +
                list +
                "};\ntcgen05.wait::st.sync.aligned;\nbar.sync 0;\n"
                "add.u32 %r4, %r2, 2;\n@!%p2 bra W;\n"
                "tcgen05.shift.cta_group::1.down [%r4];\n"
                "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::"
                "cluster.b64 [b];\n"
                "W: mbarrier.try_wait.parity.shared.b64 %p3, [b], 0;\n"
                "@!%p3 bra W;\ntcgen05.fence::after_thread_sync;\n"
                "bar.warp.sync -1;\n"
                "tcgen05.ld.sync.aligned.32x32b.x16.b32 {" +
                list +
                "}, [%r2];\ntcgen05.wait::ld.sync.aligned;\n"
                "mul.wide.u32 %rd5, %r1, 64;\nadd.s64 %rd5, %rd1, %rd5;\n" +
                stores +
                "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;\n",
            ".shared .align 4 .u32 t;\n.shared .align 8 .b64 b;\n"),
        {}, {32, 1, 1}, {out}));
    auto cells = device.download<uint32_t>(out, 512);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned c = 0; c < 16; ++c) {
        bool moved = lane && c >= 2 && c < 10;
        EXPECT_EQ(cells[lane * 16 + c], 100 * (lane - moved) + c)
            << lane << ' ' << c;
      }
  }
}

TEST(TensorShift, Misuse) {
  auto run = [](const std::string &address) {
    TestDevice device;
    return device.run(
        makeModule(0,
                   "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
                   "[t], 32;\nld.shared.u32 %r2, [t];\n" +
                       address +
                       "setp.eq.u32 %p2, %r1, 0;\n"
                       "@%p2 tcgen05.shift.cta_group::1.down [%r2];\n",
                   ".shared .align 4 .u32 t;\n"),
        {}, {32, 1, 1}, {});
  };
  EXPECT_TRUE(has(run("add.u32 %r2, %r2, 25;\n"), FindingKind::TensorMemory));
  EXPECT_TRUE(
      has(run("add.u32 %r2, %r2, 1048576;\n"), FindingKind::TensorMemory));
}

TEST(TensorZeroColumns, ColumnsCountAsZero) {
  // M = 32, N = 64, K = 32 bytes of E4M3 ones: every sum is 32, but for the
  // columns that the mask zeroes: in each of its four parts runs of three
  // zeroed and five used columns, beginning with zeroed ones in parts 0 and 2.
  const uint64_t runs = uint64_t(1) << 39 | uint64_t(2) << 40 |
                        uint64_t(4) << 48 | uint64_t(5) << 32;
  for (uint64_t mask : {uint64_t(0), runs}) {
    TestDevice device(checkedOptions());
    uint64_t out = device.allocate(4 * 128 * 16);
    uint64_t fixed = uint64_t(128 >> 4) << 32 | uint64_t(1) << 46;
    uint64_t a = fixed | 512 >> 4 << 16, b = fixed | 1024 >> 4 << 16;
    uint32_t instruction = 1 << 4 | 8 << 17 | 2 << 24;
    std::string list, stores;
    for (unsigned c = 0; c < 16; ++c) {
      std::string reg = "%r" + std::to_string(10 + c);
      list += (c ? "," : "") + reg;
      stores +=
          "st.global.u32 [%rd5+" + std::to_string(4 * c) + "], " + reg + ";\n";
    }
    Report report = device.run(
        makeModule(
            1,
            "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 5;\nadd.u32 %r3, %r3, %r2;\n"
            "mov.b32 %r4, 0x38383838;\n"
            "st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4};\n"
            "st.shared.v4.u32 [%r3+16], {%r4,%r4,%r4,%r4};\n"
            "setp.eq.u32 %p2, %r1, 0;\n@%p2 mbarrier.init.shared.b64 [b], 1;\n"
            "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra X;\n"
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 32;\n"
            "X: fence.proxy.async.shared::cta;\nbar.sync 0;\n"
            "ld.shared.u32 %r5, [t];\n@!%p2 bra W;\ncvt.u64.u32 %rd6, %r2;\n"
            "shr.u64 %rd6, %rd6, 4;\nor.b64 %rd7, %rd6, " +
                std::to_string(a) + ";\nadd.s64 %rd6, %rd6, 64;\n" +
                "or.b64 %rd8, %rd6, " + std::to_string(b) +
                ";\nmov.u64 %rd9, " + std::to_string(mask) +
                ";\nsetp.ne.u32 %p4, %r1, %r1;\nmov.b32 %r6, " +
                std::to_string(instruction) +
                ";\ntcgen05.mma.ws.cta_group::1.kind::f8f6f4 [%r5], %rd7, "
                "%rd8, %r6, %p4, %rd9;\n"
                "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::"
                "cluster.b64 [b];\n"
                "W: mbarrier.try_wait.parity.shared.b64 %p5, [b], 0;\n"
                "@!%p5 bra W;\ntcgen05.fence::after_thread_sync;\n"
                "shr.u32 %r7, %r1, 5;\nshl.b32 %r7, %r7, 21;\n"
                "add.u32 %r7, %r7, %r5;\n"
                "tcgen05.ld.sync.aligned.32x32b.x16.b32 {" +
                list +
                "}, [%r7];\ntcgen05.wait::ld.sync.aligned;\n"
                "mul.wide.u32 %rd5, %r1, 64;\nadd.s64 %rd5, %rd1, %rd5;\n" +
                stores +
                "bar.sync 0;\n@%p3 bra D;\n"
                "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 32;\nD:\n",
            ".shared .align 1024 .b8 s[4096];\n.shared .align 8 .b64 b;\n"
            ".shared .align 4 .u32 t;\n"),
        {}, {128, 1, 1}, {out});
    expectClean(report);
    auto sums = device.download<float>(out, 128 * 16);
    // Layout G: column n of row m is in lane m + 32 (n / 16).
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned c = 0; c < 16; ++c) {
        bool zeroed = mask && (lane / 32 % 2 == 0 ? c % 8 < 3 : c % 8 >= 5);
        EXPECT_EQ(sums[lane * 16 + c], zeroed ? 0 : 32) << lane << ' ' << c;
      }
  }
}

} // namespace
