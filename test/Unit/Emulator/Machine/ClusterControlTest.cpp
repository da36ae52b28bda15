//===- ClusterControlTest.cpp - clusterlaunchcontrol, perturbed functions -===//

#include "TestKernel.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

/// Each CTA counts itself in a table by x, y and z of the grid, then takes over
/// clusters until none is left.
std::string persistent(const std::string &ask, const std::string &query) {
  return makeModule(
      1,
      "mov.u32 %r10, %ctaid.x;\nmov.u32 %r11, %ctaid.y;\n"
      "mov.u32 %r12, %ctaid.z;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra X;\n"
      "mbarrier.init.shared.b64 [b], 1;\nfence.mbarrier_init.release.cluster;\n"
      "mov.u32 %r5, 0;\nL: mad.lo.u32 %r2, %r12, 3, %r11;\n"
      "mad.lo.u32 %r2, %r2, 8, %r10;\n"
      "mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
      "red.global.add.u32 [%rd5], 1;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;\n" +
          ask +
          "W: mbarrier.try_wait.parity.shared.b64 %p2, [b], %r5;\n@!%p2 bra "
          "W;\n"
          "xor.b32 %r5, %r5, 1;\n{\n.reg .b128 h;\nld.shared.b128 h, [q];\n"
          "fence.proxy.async;\n"
          "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, h;\n"
          "@!%p3 bra X;\n" +
          query + "}\nbra L;\nX:\n",
      ".shared .align 8 .b64 b;\n.shared .align 16 .b8 q[16];\n");
}

const std::string ask =
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::"
    "bytes.b128 [q], [b];\n";

TEST(ClusterControl, EveryCTARunsOrIsTakenOver) {
  const std::string all = "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4"
                          ".b32.b128 {%r10,%r11,%r12,_}, h;\n";
  std::string single;
  for (const char *c : {"x", "y", "z"})
    single +=
        std::string("clusterlaunchcontrol.query_cancel.get_first_ctaid::") + c +
        ".b32.b128 %r1" + std::to_string(c[0] - 'x') + ", h;\n";
  for (const std::string &query : {all, single})
    for (unsigned threads : {1u, 3u})
      for (const char *schedule : {"eager", "lazy", "random:3"}) {
        Options options;
        options.schedule = llvm::cantFail(Schedule::parse(schedule));
        options.checks.uninitialized = options.checks.protocol = true;
        options.threads = threads;
        options.residentCTAs = 2;
        TestDevice device(options);
        uint64_t table = device.upload(std::vector<uint32_t>(8 * 3 * 2));
        Report report =
            device.run(persistent(ask, query), {8, 3, 2}, {32, 1, 1}, {table});
        expectClean(report);
        EXPECT_LT(report.ctas, 48u) << "nothing was taken over";
        for (uint32_t count : device.download<uint32_t>(table, 48))
          EXPECT_EQ(count, 1u) << schedule;
      }
}

TEST(ClusterControl, QueryOfWhatWasNotCanceled) {
  TestDevice device(checkedOptions());
  // The only CTA asks, and does not look at whether it got one.
  std::string ptx = persistent(
      ask, "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 "
           "{%r10,%r11,%r12,_}, h;\n");
  size_t at = ptx.find("@!%p3 bra X;");
  ptx.erase(at, strlen("@!%p3 bra X;"));
  EXPECT_TRUE(has(device.run(ptx, {}, {32, 1, 1},
                             {device.upload(std::vector<uint32_t>(48))}),
                  FindingKind::IllegalOperand));
}

TEST(Perturbation, ErrorsOfApproximateFunctions) {
  // ex2.approx.f32 has a relative error of 2^-22 at most.
  std::vector<float> inputs;
  for (unsigned i = 0; i < 256; ++i)
    inputs.push_back(-20 + 0.157f * float(i));
  auto run = [&](std::optional<uint64_t> seed, unsigned threads) {
    Options options;
    options.perturb = seed;
    options.threads = threads;
    TestDevice device(options);
    uint64_t in = device.upload(inputs), out = device.allocate(1024);
    expectClean(device.run(
        makeModule(2,
                   "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 32, %r1;\n"
                   "mul.wide.u32 %rd5, %r3, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
                   "ld.global.f32 %f1, [%rd6];\nex2.approx.f32 %f2, %f1;\n"
                   "add.s64 %rd6, %rd2, %rd5;\nst.global.f32 [%rd6], %f2;\n"),
        {8, 1, 1}, {32, 1, 1}, {in, out}));
    return device.download<float>(out, 256);
  };
  std::vector<float> exact = run(std::nullopt, 1), one = run(1, 1);
  unsigned differs = 0;
  for (unsigned i = 0; i < 256; ++i) {
    double want = std::exp2(double(inputs[i]));
    EXPECT_EQ(exact[i], float(want));
    EXPECT_LE(std::abs(one[i] - want), want * 0x1p-22);
    differs += one[i] != exact[i];
  }
  EXPECT_GT(differs, 64u);
  EXPECT_EQ(run(1, 4), one);
  EXPECT_NE(run(2, 1), one);
}

} // namespace
