//===- ProxyTest.cpp - Proxy fences, and sources that are reused ----------===//

#include "TestKernel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2"};

const std::string globals = ".shared .align 128 .b8 s[1024];\n"
                            ".shared .align 8 .b64 b;\n";

const std::string store =
    "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 16;\n"
    "cp.async.bulk.commit_group;\n";
const std::string waitStore = "cp.async.bulk.wait_group 0;\n";
const std::string load =
    "mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], "
    "[%rd1], 16, [b];\n";
const std::string waitLoad =
    "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra L;\n";
const std::string init = "mbarrier.init.shared.b64 [b], 1;\n";
const std::string write = "st.shared.v4.u32 [s], {1, 2, 3, 4};\n";

/// Runs a body with %rd1 and %rd2 the addresses of two buffers of 256 bytes and
/// expects a finding of this kind, or none at all, in every schedule.
void expectFinding(const std::string &body, const FindingKind *kind,
                   Dim3 block = {}) {
  for (const std::string &schedule : schedules) {
    SCOPED_TRACE(schedule + ":\n" + body);
    TestDevice device(checkedOptions(schedule));
    uint64_t from = device.upload(std::vector<uint8_t>(256, 7));
    uint64_t to = device.upload(std::vector<uint8_t>(256, 9));
    Report report =
        device.run(makeModule(2, body, globals), {}, block, {from, to});
    if (kind)
      EXPECT_TRUE(has(report, *kind));
    else
      expectClean(report);
  }
}

void expectClean(const std::string &body, Dim3 block = {}) {
  expectFinding(body, nullptr, block);
}
void expectProxyRace(const std::string &body, Dim3 block = {}) {
  FindingKind kind = FindingKind::ProxyRace;
  expectFinding(body, &kind, block);
}
void expectRace(const std::string &body, Dim3 block = {}) {
  FindingKind kind = FindingKind::Race;
  expectFinding(body, &kind, block);
}

//===----------------------------------------------------------------------===//
// fence.proxy.async
//===----------------------------------------------------------------------===//

TEST(Proxy, SharedWritesBeforeABulkStore) {
  expectProxyRace(write + store + waitStore);
  expectClean(write + "fence.proxy.async.shared::cta;\n" + store + waitStore);
  expectClean(write + "fence.proxy.async;\n" + store + waitStore);
  // Of another state space, or before the write.
  expectProxyRace(write + "fence.proxy.async.global;\n" + store + waitStore);
  expectProxyRace("fence.proxy.async;\n" + write + store + waitStore);
  // An ordinary fence is none between proxies.
  expectProxyRace(write + "fence.acq_rel.cta;\n" + store + waitStore);
}

TEST(Proxy, TheFenceMayBeOnEitherSideOfABarrier) {
  std::string other = "setp.eq.u32 %p1, %r1, 32;\n@%p1 " + write;
  std::string fence = "fence.proxy.async.shared::cta;\n";
  std::string issue =
      "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra D;\n" + store + waitStore + "D:\n";
  expectProxyRace(other + "bar.sync 0;\n" + issue, {64, 1, 1});
  expectClean(other + fence + "bar.sync 0;\n" + issue, {64, 1, 1});
  expectClean(other + "bar.sync 0;\n" + fence + issue, {64, 1, 1});
  // A fence by who has nothing to do with it.
  expectProxyRace(other + "setp.eq.u32 %p3, %r1, 1;\n@%p3 " + fence +
                      "bar.sync 0;\n" + issue,
                  {64, 1, 1});
}

TEST(Proxy, SharedReadsBeforeABulkLoad) {
  std::string read = "ld.shared.u32 %r5, [s];\n";
  std::string begin = init + write;
  expectProxyRace(begin + "fence.proxy.async;\n" + read + load + waitLoad);
  expectClean(begin + read + "fence.proxy.async;\n" + load + waitLoad);
}

TEST(Proxy, GlobalMemory) {
  std::string begin = init + "st.global.u32 [%rd1], 5;\n";
  expectProxyRace(begin + load + waitLoad);
  expectProxyRace(begin + "fence.proxy.async.shared::cta;\n" + load + waitLoad);
  expectClean(begin + "fence.proxy.async.global;\n" + load + waitLoad);
}

TEST(Proxy, CompletionIsAFence) {
  // What a copy has brought, or written, is there for all proxies.
  expectClean(init + load + waitLoad + "ld.shared.u32 %r5, [s];\n" + write);
  expectClean(write + "fence.proxy.async;\n" + store + waitStore +
              "ld.global.u32 %r5, [%rd2];\n" + write);
}

TEST(Proxy, CopiesOfThreadsAreGeneric) {
  std::string copy = "cp.async.cg.shared.global [s], [%rd1], 16;\n"
                     "cp.async.wait_all;\n";
  expectProxyRace(copy + store + waitStore);
  expectClean(copy + "fence.proxy.async;\n" + store + waitStore);
  // A fence before the wait comes too early.
  expectProxyRace("cp.async.cg.shared.global [s], [%rd1], 16;\n"
                  "fence.proxy.async;\ncp.async.wait_all;\n" +
                  store + waitStore);
}

TEST(Proxy, TheReportNamesBothAccesses) {
  TestDevice device(checkedOptions());
  uint64_t to = device.allocate(256);
  Report report = device.run(makeModule(2, write + store + waitStore, globals),
                             {}, {}, {to, to});
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding &finding = report.findings[0];
  EXPECT_EQ(finding.kernel, "k");
  EXPECT_EQ(finding.instruction,
            "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 16");
  EXPECT_GT(finding.line, 0u);
  EXPECT_NE(finding.address, 0u);
  for (const char *part :
       {"this read conflicts with the write that line ",
        "st.shared.v4.u32 [s], {1, 2, 3, 4}", "made by thread 0 of CTA 0",
        "a fence.proxy.async is missing"})
    EXPECT_NE(finding.message.find(part), std::string::npos) << finding.message;
}

//===----------------------------------------------------------------------===//
// fence.proxy.tensormap
//===----------------------------------------------------------------------===//

/// Changes a tensor map in global memory and loads a box by it.
std::string mapKernel(const std::string &fences) {
  return makeModule(
      2,
      init +
          "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], "
          "%rd2;\n" +
          fences +
          "mbarrier.arrive.expect_tx.shared.b64 _, [b], 64;\n"
          "mov.u32 %r2, 0;\n"
          "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::"
          "complete_tx::bytes [s], [%rd1, {%r2}], [b];\n" +
          waitLoad,
      globals);
}

TEST(Proxy, TensorMaps) {
  auto findings = [](const std::string &fences, bool cleanly) {
    for (const std::string &schedule : schedules) {
      SCOPED_TRACE(schedule + ":\n" + fences);
      TestDevice device(checkedOptions(schedule));
      uint64_t data = device.upload(std::vector<uint8_t>(256, 7));
      TensorMap map;
      map.element = TensorElement::U8;
      map.globalAddress = data + 128;
      map.globalDims = {128};
      map.boxDims = {64};
      map.elementStrides = {1};
      std::vector<uint8_t> bytes(128);
      llvm::cantFail(encodeTensorMap(map, bytes.data()));
      uint64_t address = device.upload(bytes);
      Report report = device.run(mapKernel(fences), {}, {}, {address, data});
      if (cleanly)
        kvq::emu::test::expectClean(report);
      else
        EXPECT_TRUE(has(report, FindingKind::ProxyRace));
    }
  };
  std::string release = "fence.proxy.tensormap::generic.release.gpu;\n";
  std::string acquire =
      "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
  findings("", false);
  findings("fence.proxy.async;\n", false);
  findings(release, false);
  findings(acquire, false);
  findings(acquire + release, false);
  findings(release + acquire, true);
}

//===----------------------------------------------------------------------===//
// Reuse before completion
//===----------------------------------------------------------------------===//

TEST(Reuse, TheSourceOfABulkStore) {
  std::string begin = write + "fence.proxy.async;\n" + store;
  expectRace(begin + "st.shared.u32 [s], 9;\n" + waitStore);
  expectRace(begin +
             "cp.async.bulk.wait_group.read 1;\nst.shared.u32 [s], "
             "9;\n" +
             waitStore);
  expectClean(begin + "cp.async.bulk.wait_group.read 0;\nst.shared.u32 [s], "
                      "9;\n");
  // .read says nothing of the writes.
  expectRace(begin + "cp.async.bulk.wait_group.read 0;\nld.global.u32 %r5, "
                     "[%rd2];\n");
  expectClean(begin + waitStore + "ld.global.u32 %r5, [%rd2];\n");
  // The wait of one thread is none of another's.
  expectRace("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra X;\n" + begin + waitStore +
                 "X: @%p1 st.shared.u32 [s], 9;\n",
             {64, 1, 1});
}

TEST(Reuse, BulkGroupsCompleteOldestFirst) {
  std::string second =
      "st.shared.v4.u32 [s+16], {1, 2, 3, 4};\nfence.proxy.async;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [s+16], 16;\n"
      "cp.async.bulk.commit_group;\n";
  std::string begin = write + "fence.proxy.async;\n" + store + second +
                      "cp.async.bulk.wait_group.read 1;\n";
  std::string end = "cp.async.bulk.wait_group 0;\n";
  expectClean(begin + "st.shared.u32 [s], 9;\n" + end);
  expectRace(begin + "st.shared.u32 [s+16], 9;\n" + end);
}

TEST(Reuse, TheTargetOfABulkLoad) {
  expectRace(init + load + write + waitLoad);
  expectRace(init + load + "ld.shared.u32 %r5, [s];\n" + waitLoad);
  // The other barrier tells nothing.
  expectRace("mbarrier.init.shared.b64 [s+512], 1;\n" + init + load +
             "mbarrier.arrive.shared.b64 _, [s+512];\n"
             "M: mbarrier.try_wait.parity.shared.b64 %p3, [s+512], 0;\n"
             "@!%p3 bra M;\nld.shared.u32 %r5, [s];\n" +
             waitLoad);
}

TEST(Reuse, AnEarlierPhaseSaysNothingOfALaterCopy) {
  std::string again = load;
  std::string wait1 =
      "M: mbarrier.try_wait.parity.shared.b64 %p2, [b], 1;\n@!%p2 bra M;\n";
  expectClean(init + load + waitLoad + again + wait1 +
              "ld.shared.u32 %r5, [s];\n");
  expectRace(init + load + waitLoad + again + "ld.shared.u32 %r5, [s];\n" +
             wait1);
}

TEST(Reuse, ThreadsThatEndTooEarly) {
  FindingKind kind = FindingKind::BarrierMisuse;
  std::string begin = write + "fence.proxy.async;\n";
  expectFinding(begin + store, &kind);
  expectFinding(begin + store + "cp.async.bulk.wait_group.read 1;\n", &kind);
  expectClean(begin + store + "cp.async.bulk.wait_group.read 0;\n");
}

TEST(Reuse, GroupsOfCpAsync) {
  std::string copy = "cp.async.cg.shared.global [s], [%rd1], 16;\n"
                     "cp.async.commit_group;\n"
                     "cp.async.cg.shared.global [s+16], [%rd1], 16;\n"
                     "cp.async.commit_group;\ncp.async.wait_group 1;\n";
  expectClean(copy + "ld.shared.u32 %r5, [s];\ncp.async.wait_all;\n");
  expectRace(copy + "ld.shared.u32 %r5, [s+16];\ncp.async.wait_all;\n");
  expectRace(copy + "st.shared.u32 [s+16], 3;\ncp.async.wait_all;\n");
  // Its source, too, must stay.
  expectRace(copy + "st.global.u32 [%rd1], 3;\ncp.async.wait_all;\n");
}

} // namespace
