//===- ScopeTest.cpp - Scopes of fences, and what single threads know -----===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

/// Thread 0 of CTA 0 writes data and publishes it; all others that `observe`
/// read it. CTAs are one warp each.
bool races(const std::string &publish, const std::string &observe,
           Dim3 cluster = {1, 1, 1}) {
  std::string body = "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n"
                     "@!%p1 bra C;\nst.global.u32 [%rd1+4], 7;\n" +
                     publish + "bra D;\nC:\nL:\n" + observe +
                     "setp.eq.u32 %p2, %r3, 0;\n@%p2 bra L;\n"
                     "ld.global.u32 %r4, [%rd1+4];\nD:\n";
  TestDevice device(checkedOptions());
  uint64_t cells = device.upload(std::vector<uint32_t>{0, 0});
  Report report =
      device.run(makeModule(1, body), {2, 1, 1}, {}, {cells}, 0, cluster);
  EXPECT_TRUE(report.completed);
  return has(report, FindingKind::Race);
}

std::string release(const std::string &scope) {
  return "st.release." + scope + ".global.u32 [%rd1], 1;\n";
}
std::string acquire(const std::string &scope) {
  return "ld.acquire." + scope + ".global.u32 %r3, [%rd1];\n";
}
std::string fenced(const std::string &scope) {
  return "fence.acq_rel." + scope + ";\nst.relaxed.sys.global.u32 [%rd1], 1;\n";
}
std::string thenFenced(const std::string &scope) {
  return "ld.relaxed.sys.global.u32 %r3, [%rd1];\nfence.acq_rel." + scope +
         ";\n";
}

TEST(Scope, ReleaseAndAcquireBetweenClusters) {
  for (const char *wide : {"gpu", "sys"})
    EXPECT_FALSE(races(release(wide), acquire("gpu")));
  for (const char *narrow : {"cta", "cluster"}) {
    EXPECT_TRUE(races(release(narrow), acquire("gpu"))) << narrow;
    EXPECT_TRUE(races(release("gpu"), acquire(narrow))) << narrow;
  }
}

TEST(Scope, ReleaseAndAcquireInACluster) {
  Dim3 pair{2, 1, 1};
  EXPECT_FALSE(races(release("cluster"), acquire("cluster"), pair));
  EXPECT_FALSE(races(release("gpu"), acquire("cluster"), pair));
  EXPECT_TRUE(races(release("cta"), acquire("cluster"), pair));
  EXPECT_TRUE(races(release("cluster"), acquire("cta"), pair));
}

TEST(Scope, Fences) {
  EXPECT_FALSE(races(fenced("gpu"), thenFenced("gpu")));
  EXPECT_FALSE(races(fenced("sys"), acquire("gpu")));
  for (const char *narrow : {"cta", "cluster"}) {
    EXPECT_TRUE(races(fenced(narrow), thenFenced("gpu"))) << narrow;
    EXPECT_TRUE(races(fenced("gpu"), thenFenced(narrow))) << narrow;
  }
  EXPECT_FALSE(races("membar.gl;\nst.volatile.global.u32 [%rd1], 1;\n",
                     "ld.volatile.global.u32 %r3, [%rd1];\nmembar.gl;\n"));
  EXPECT_TRUE(races("membar.cta;\nst.volatile.global.u32 [%rd1], 1;\n",
                    "ld.volatile.global.u32 %r3, [%rd1];\nmembar.gl;\n"));
  Dim3 pair{2, 1, 1};
  EXPECT_FALSE(races(fenced("cluster"), thenFenced("cluster"), pair));
  EXPECT_TRUE(races(fenced("cta"), thenFenced("cluster"), pair));
}

TEST(Scope, ALaterStoreEndsARelease) {
  // Who reads the second value knows nothing of the first.
  EXPECT_TRUE(races(release("gpu") + "st.relaxed.gpu.global.u32 [%rd1], 2;\n",
                    "ld.acquire.gpu.global.u32 %r3, [%rd1];\n"));
  // A read-modify-write continues it.
  EXPECT_FALSE(races(release("gpu") + "red.relaxed.gpu.global.add.u32 [%rd1], "
                                      "1;\n",
                     acquire("gpu")));
}

TEST(Scope, AtomicsOfTwoCTAs) {
  auto atomics = [](const std::string &scope) {
    TestDevice device(checkedOptions());
    uint64_t cells = device.upload(std::vector<uint32_t>{0});
    Report report = device.run(
        makeModule(1, "red.relaxed." + scope + ".global.add.u32 [%rd1], 1;\n"),
        {2, 1, 1}, {}, {cells});
    for (const Finding &finding : report.findings)
      EXPECT_NE(finding.message.find("scopes do not include both"),
                std::string::npos)
          << finding.message;
    return has(report, FindingKind::Race);
  };
  EXPECT_FALSE(atomics("gpu"));
  EXPECT_TRUE(atomics("cta"));
  EXPECT_TRUE(atomics("cluster"));
}

TEST(Scope, AtomicsOfOneCTA) {
  TestDevice device(checkedOptions());
  uint64_t cells = device.upload(std::vector<uint32_t>{0});
  expectClean(
      device.run(makeModule(1, "red.relaxed.cta.global.add.u32 [%rd1], 1;\n"),
                 {}, {64, 1, 1}, {cells}));
}

TEST(Scope, RemoteArrivals) {
  // CTA 1 writes into CTA 0 and arrives at its mbarrier.
  auto arrives = [](const std::string &arrive, const std::string &wait) {
    std::string body =
        "mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p1, %r2, 0;\n"
        "@%p1 mbarrier.init.shared.b64 [b], 1;\n"
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
        "@%p1 bra W;\nmov.u32 %r3, b;\nmapa.shared::cluster.u32 %r4, %r3, 0;\n"
        "mov.u32 %r5, s;\nmapa.shared::cluster.u32 %r6, %r5, 0;\n"
        "st.shared::cluster.u32 [%r6], 5;\n" +
        arrive + "bra D;\nW:\nL: " + wait +
        "@!%p2 bra L;\nld.shared.u32 %r7, [s];\nD:\n"
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    TestDevice device(checkedOptions());
    Report report = device.run(makeModule(0, body,
                                          ".shared .align 8 .b64 b;\n"
                                          ".shared .align 4 .u32 s;\n"),
                               {2, 1, 1}, {}, {}, 0, {2, 1, 1});
    EXPECT_TRUE(report.completed);
    return has(report, FindingKind::Race);
  };
  auto arrive = [](const std::string &how) {
    return "mbarrier.arrive" + how + ".shared::cluster.b64 _, [%r4];\n";
  };
  auto wait = [](const std::string &how) {
    return "mbarrier.try_wait.parity" + how + ".shared::cta.b64 %p2, [b], 0;\n";
  };
  EXPECT_FALSE(arrives(arrive(".release.cluster"), wait(".acquire.cluster")));
  EXPECT_FALSE(arrives(arrive(""), wait("")));
  EXPECT_TRUE(arrives(arrive(".release.cta"), wait(".acquire.cluster")));
  EXPECT_TRUE(arrives(arrive(".release.cluster"), wait(".acquire.cta")));
  EXPECT_TRUE(arrives(arrive(".relaxed.cluster"), wait(".acquire.cluster")));
  EXPECT_TRUE(arrives(arrive(".release.cluster"), wait(".relaxed.cluster")));
}

TEST(Scope, RelaxedClusterBarriers) {
  auto exchanges = [](const std::string &arrive) {
    std::string body =
        "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n"
        "@%p1 st.global.u32 [%rd1], 5;\n" +
        arrive +
        "barrier.cluster.wait.aligned;\n@!%p1 ld.global.u32 %r3, [%rd1];\n";
    TestDevice device(checkedOptions());
    uint64_t cell = device.upload(std::vector<uint32_t>{0});
    return has(
        device.run(makeModule(1, body), {2, 1, 1}, {}, {cell}, 0, {2, 1, 1}),
        FindingKind::Race);
  };
  EXPECT_FALSE(exchanges("barrier.cluster.arrive.aligned;\n"));
  EXPECT_TRUE(exchanges("barrier.cluster.arrive.relaxed.aligned;\n"));
  EXPECT_FALSE(exchanges("fence.acq_rel.cluster;\n"
                         "barrier.cluster.arrive.relaxed.aligned;\n"));
  EXPECT_TRUE(exchanges("fence.acq_rel.cta;\n"
                        "barrier.cluster.arrive.relaxed.aligned;\n"));
}

//===----------------------------------------------------------------------===//
// Threads of one warp
//===----------------------------------------------------------------------===//

TEST(Lanes, WhatOneThreadWaitedForIsItsOwn) {
  // Warp 1 writes and arrives; one thread of warp 0 waits, another reads.
  auto reads = [](const std::string &sync) {
    std::string body =
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [b], 1;\n"
        "bar.sync 0;\nsetp.eq.u32 %p2, %r1, 32;\n"
        "@%p2 st.shared.u32 [s], 5;\n@%p2 mbarrier.arrive.shared.b64 _, [b];\n"
        "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra D;\n@!%p1 bra M;\n"
        "L: mbarrier.try_wait.parity.shared.b64 %p4, [b], 0;\n@!%p4 bra L;\n"
        "M:\n" +
        sync + "setp.eq.u32 %p5, %r1, 7;\n@%p5 ld.shared.u32 %r2, [s];\nD:\n";
    TestDevice device(checkedOptions("random:4"));
    return has(device.run(makeModule(0, body,
                                     ".shared .align 8 .b64 b;\n"
                                     ".shared .align 4 .u32 s;\n"),
                          {}, {64, 1, 1}, {}),
               FindingKind::Race);
  };
  EXPECT_TRUE(reads(""));
  EXPECT_TRUE(reads("setp.lt.u32 %p6, %r1, 4;\n@%p6 bar.warp.sync 0xf;\n"));
  EXPECT_FALSE(reads("bar.warp.sync -1;\n"));
}

TEST(Lanes, AnArrivalIsForOneThread) {
  // All threads of warp 0 write, one of them arrives for all.
  auto arrives = [](const std::string &sync) {
    std::string body =
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 mbarrier.init.shared.b64 [b], 1;\n"
        "bar.sync 0;\nsetp.ge.u32 %p3, %r1, 32;\n@%p3 bra R;\n"
        "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n"
        "st.shared.u32 [%r2], %r1;\n" +
        sync +
        "@%p1 mbarrier.arrive.shared.b64 _, [b];\nbra D;\n"
        "R: mbarrier.try_wait.parity.shared.b64 %p4, [b], 0;\n@!%p4 bra R;\n"
        "ld.shared.u32 %r4, [s+124];\nD:\n";
    TestDevice device(checkedOptions());
    return has(device.run(makeModule(0, body,
                                     ".shared .align 8 .b64 b;\n"
                                     ".shared .align 4 .b8 s[128];\n"),
                          {}, {64, 1, 1}, {}),
               FindingKind::Race);
  };
  EXPECT_TRUE(arrives(""));
  EXPECT_TRUE(arrives("shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;\n"));
  EXPECT_FALSE(arrives("bar.warp.sync -1;\n"));
}

} // namespace
