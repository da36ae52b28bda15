//===- MisuseTest.cpp - What is no race and wrong all the same ------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

/// The findings of a body whose launch has all checks.
Report findings(const std::string &body, Dim3 block = {32, 1, 1},
                const std::string &globals =
                    ".shared .align 1024 .b8 s[8192];\n"
                    ".shared .align 8 .b64 b;\n.shared .align 4 .u32 t;\n") {
  TestDevice device(checkedOptions());
  return device.run(makeModule(0, body, globals), {}, block, {});
}

/// Expects a finding of this kind whose message has `part`.
void expectFinding(const Report &report, FindingKind kind,
                   const std::string &part) {
  for (const Finding &finding : report.findings)
    if (finding.kind == kind && finding.message.find(part) != std::string::npos)
      return;
  std::string all;
  for (const Finding &finding : report.findings)
    all += finding.message + "\n";
  ADD_FAILURE() << "no finding with '" << part << "' among:\n" << all;
}

//===----------------------------------------------------------------------===//
// .aligned instructions
//===----------------------------------------------------------------------===//

TEST(Misuse, AlignedInstructionsThatThreadsSkip) {
  // One string in two lines needs its parentheses.
  const std::string wholeWarp[] = {
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [s];\n",
      "tcgen05.wait::ld.sync.aligned;\n",
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n",
      "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r6;\n",
      ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
       "{%f1,%f2,%f3,%f4}, {%r2,%r3,%r4,%r5}, {%r6,%r7}, "
       "{%f1,%f2,%f3,%f4};\n")};
  for (const std::string &instruction : wholeWarp) {
    SCOPED_TRACE(instruction);
    std::string begin = "mov.u32 %r3, 0;\nshl.b32 %r2, %r1, 2;\n"
                        "mov.u32 %r4, s;\nadd.u32 %r4, %r4, %r2;\n"
                        "st.shared.u32 [%r4], %r3;\nbar.sync 0;\n"
                        "setp.lt.u32 %p1, %r1, 31;\n";
    expectFinding(findings(begin + "@%p1 " + instruction),
                  FindingKind::Divergence, "threads 0x80000000 have ended");
    expectFinding(findings(begin + "@!%p1 ret;\n" + instruction),
                  FindingKind::Divergence, "threads 0x80000000 have ended");
    // A warp that is not full.
    expectFinding(findings(begin + instruction, {16, 1, 1}),
                  FindingKind::Divergence, "threads 0xffff0000 have ended");
    expectClean(findings(begin + instruction));
  }
}

TEST(Misuse, TwoAlignedInstructionsAtOnce) {
  expectFinding(findings("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\n"
                         "tcgen05.wait::ld.sync.aligned;\nbra B;\n"
                         "A: tcgen05.wait::st.sync.aligned;\nB:\n"),
                FindingKind::Divergence,
                "wait at different warp-level instructions");
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

/// A body between allocation and release of 64 columns at %r11, by one warp.
Report withTensorMemory(const std::string &body) {
  return findings(
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 64;\n"
      "bar.sync 0;\nld.shared.u32 %r11, [t];\nsetp.eq.u32 %p1, %r1, 0;\n"
      "mov.u32 %r2, s;\ncvt.u64.u32 %rd8, %r2;\nshr.u64 %rd8, %rd8, 4;\n"
      "or.b64 %rd8, %rd8, 0x0000400800800000;\nmov.b32 %r13, 0x08020010;\n" +
      body + "\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 64;\n");
}

TEST(Misuse, ColumnsThatAreNotAligned) {
  auto expect = [](const std::string &body, const std::string &part) {
    SCOPED_TRACE(body);
    expectFinding(withTensorMemory(body), FindingKind::Misaligned, part);
  };
  std::string at1 = "add.u32 %r12, %r11, 1;\n",
              at2 = "add.u32 %r12, %r11, 2;\n";
  expect(at1 + "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r12], %rd8, %rd8, "
               "%r13, %p1;\n",
         "column 1 of the accumulator is not a multiple of 2");
  expect(at2 + "@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r11], [%r12], %rd8, "
               "%r13, %p1;\n",
         "column 2 of operand A is not a multiple of 4");
  std::string scaled = "mov.b32 %r13, 0x08020480;\n@%p1 tcgen05.mma.cta_group::"
                       "1.kind::mxf4nvf4.block_scale.block16 [%r11], %rd8, "
                       "%rd8, %r13, ";
  expect(at1 + scaled + "[%r12], [%r11], %p1;\n", "column 1 of scales of A");
  expect(at1 + scaled + "[%r11], [%r12], %p1;\n", "column 1 of scales of B");
  expect(at2 + "@%p1 tcgen05.cp.cta_group::1.128x256b [%r12], %rd8;\n",
         "column 2 of the copy's target is not a multiple of 4");
  expect(at1 + "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r14}, [%r12];\n",
         "column 1 of tensor memory is not a multiple of 2");
}

TEST(Misuse, ScalesThatAreNotReplicated) {
  std::string zeros = "mov.u32 %r14, 0;\n";
  auto body = [&](const std::string &change) {
    return makeModule(
        0,
        "shl.b32 %r3, %r1, 6;\nmov.u32 %r2, s;\nadd.u32 %r3, %r3, %r2;\n"
        "mov.u32 %r14, 0;\n"
        "st.shared.v4.u32 [%r3], {%r14, %r14, %r14, %r14};\n"
        "st.shared.v4.u32 [%r3+16], {%r14, %r14, %r14, %r14};\n"
        "st.shared.v4.u32 [%r3+32], {%r14, %r14, %r14, %r14};\n"
        "st.shared.v4.u32 [%r3+48], {%r14, %r14, %r14, %r14};\n"
        "fence.proxy.async.shared::cta;\nsetp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 mbarrier.init.shared.b64 [b], 1;\nsetp.ge.u32 %p2, %r1, 32;\n"
        "@%p2 bra X;\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 64;\n"
        "X: bar.sync 0;\nld.shared.u32 %r11, [t];\nshr.u32 %r12, %r1, 5;\n"
        "shl.b32 %r12, %r12, 21;\nadd.u32 %r12, %r12, %r11;\n" +
            change +
            "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r12+32], "
            "{%r14, %r14, %r14, %r14, %r14, %r14, %r14, %r14};\n"
            "tcgen05.wait::st.sync.aligned;\nbar.sync 0;\n"
            "cvt.u64.u32 %rd8, %r2;\nshr.u64 %rd8, %rd8, 4;\n"
            "or.b64 %rd8, %rd8, 0x0000400800800000;\n"
            "mov.b32 %r13, 0x08020480;\nadd.u32 %r15, %r11, 32;\n"
            "add.u32 %r16, %r11, 36;\nsetp.ne.u32 %p3, %r1, %r1;\n"
            "@%p1 tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 "
            "[%r11], %rd8, %rd8, %r13, [%r15], [%r16], %p3;\n"
            "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::"
            "cluster.b64 [b];\n"
            "L: mbarrier.try_wait.parity.shared.b64 %p4, [b], 0;\n@!%p4 bra "
            "L;\n"
            "bar.sync 0;\n@%p2 bra Z;\n"
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r11, 64;\nZ:\n",
        ".shared .align 1024 .b8 s[8192];\n.shared .align 8 .b64 b;\n"
        ".shared .align 4 .u32 t;\n");
  };
  TestDevice device(checkedOptions());
  expectClean(device.run(body(""), {}, {128, 1, 1}, {}));
  expectFinding(device.run(body("setp.eq.u32 %p5, %r1, 96;\n"
                                "selp.u32 %r14, 0x38383838, %r14, %p5;\n"),
                           {}, {128, 1, 1}, {}),
                FindingKind::TensorMemory,
                "the scales of A in lane 96 are not those");
}

TEST(Misuse, WordsOfProducts) {
  auto expect = [](const std::string &instruction, const std::string &matrix,
                   const std::string &part) {
    SCOPED_TRACE(instruction + ", " + matrix);
    expectFinding(
        withTensorMemory("mov.b32 %r13, " + instruction + ";\nmov.b64 %rd9, " +
                         matrix +
                         ";\n@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r11], "
                         "%rd9, %rd8, %r13, %p1;\n"),
        FindingKind::IllegalOperand, part);
  };
  std::string word = "0x08020010", matrix = "0x0000400800800000";
  // Reserved bits, N, M, types; the constant of a descriptor, its swizzle.
  expect("0x48020010", matrix, "");
  expect("0x08000010", matrix, "N");
  expect("0x06020010", matrix, "M");
  expect("0x08020390", matrix, "");
  expect(word, "0x0000000800800000", "descriptor");
  expect(word, "0x6000400800800000", "descriptor");
  expect(word, "0x0001400800800000", "descriptor");
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TEST(Misuse, BytesThatAreNotThoseOfTheCopy) {
  for (const char *bytes : {"32", "0", "16"}) {
    TestDevice device(checkedOptions());
    uint64_t from = device.upload(std::vector<uint8_t>(64, 1));
    Report report = device.run(
        makeModule(1,
                   "mbarrier.init.shared.b64 [b], 1;\n"
                   "mbarrier.arrive.expect_tx.shared.b64 _, [b], " +
                       std::string(bytes) +
                       ";\ncp.async.bulk.shared::cluster.global.mbarrier::"
                       "complete_tx::bytes [s], [%rd1], 16, [b];\n"
                       "L: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;\n"
                       "@!%p1 bra L;\nld.shared.u32 %r5, [s];\n",
                   ".shared .align 16 .b8 s[64];\n.shared .align 8 .b64 b;\n"),
        {}, {}, {from});
    if (bytes == std::string("16"))
      expectClean(report);
    else if (bytes == std::string("32"))
      expectFinding(report, FindingKind::Deadlock, "mbarrier.try_wait");
    else
      expectFinding(report, FindingKind::Race, "nothing orders the two");
  }
}

TEST(Misuse, ClusterBarriersOutOfTurn) {
  auto run = [](const std::string &body) {
    TestDevice device(checkedOptions());
    return device.run(makeModule(0, body), {2, 1, 1}, {64, 1, 1}, {}, 0,
                      {2, 1, 1});
  };
  std::string arrive = "barrier.cluster.arrive.aligned;\n";
  std::string wait = "barrier.cluster.wait.aligned;\n";
  expectClean(run(arrive + wait + arrive + wait));
  expectFinding(run(arrive + arrive + wait), FindingKind::BarrierMisuse,
                "again without having waited");
  expectFinding(run(arrive + wait + wait), FindingKind::BarrierMisuse,
                "without having arrived");
  // Threads that have ended need not arrive, and count once if they did.
  expectClean(run("setp.eq.u32 %p1, %r1, 5;\n@%p1 ret;\n" +
                  std::string("barrier.cluster.arrive;\nbarrier.cluster.wait;"
                              "\n")));
  expectClean(run("barrier.cluster.arrive;\nmov.u32 %r2, %cluster_ctarank;\n"
                  "setp.eq.u32 %p1, %r2, 0;\n@%p1 ret;\n"
                  "barrier.cluster.wait;\n"));
}

} // namespace
