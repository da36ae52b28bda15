//===- CounterTest.cpp - Counts that were worked out by hand --------------===//

#include "TestKernel.h"
#include "llvm/Support/raw_ostream.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

uint64_t of(const InstructionCounts &counts, InstructionClass kind) {
  return counts.warp[static_cast<unsigned>(kind)];
}
uint64_t of(const InstructionCounts &counts, Pipe pipe) {
  return counts.pipes[static_cast<unsigned>(pipe)];
}

Counters run(const std::string &ptx, Dim3 grid, Dim3 block,
             const std::vector<uint64_t> &arguments, TestDevice &device,
             Dim3 cluster = {0, 0, 0}) {
  Report report = device.run(ptx, grid, block, arguments, 0, cluster);
  EXPECT_TRUE(report.completed);
  return report.counters;
}

/// The counters of a kernel less those of one with an empty body.
InstructionCounts instructionsOf(const std::string &body, Dim3 block = {32}) {
  TestDevice device;
  InstructionCounts all =
      run(makeModule(0, body), {}, block, {}, device).instructions();
  InstructionCounts frame =
      run(makeModule(0, ""), {}, block, {}, device).instructions();
  for (unsigned i = 0; i < numInstructionClasses; ++i) {
    all.warp[i] -= frame.warp[i];
    all.thread[i] -= frame.thread[i];
  }
  for (unsigned i = 0; i < numPipes; ++i)
    all.pipes[i] -= frame.pipes[i];
  return all;
}

TEST(Counter, ClassesAndPipes) {
  struct Case {
    const char *text;
    InstructionClass kind;
    Pipe pipe;
  };
  using C = InstructionClass;
  for (const Case &c : std::initializer_list<Case>{
           {"add.u32 %r2, %r1, 1;", C::Integer, Pipe::Alu},
           {"mad.lo.u32 %r2, %r1, 3, %r1;", C::Integer, Pipe::FmaWide},
           {"popc.b32 %r2, %r1;", C::Integer, Pipe::Special},
           {"lop3.b32 %r2, %r1, %r1, %r1, 0x96;", C::Integer, Pipe::Alu},
           {"setp.eq.u32 %p1, %r1, 3;", C::Integer, Pipe::Alu},
           {"fma.rn.f32 %f1, %f2, %f2, %f2;", C::Float, Pipe::Fma},
           {"max.f32 %f1, %f2, %f2;", C::Float, Pipe::Alu},
           {"fma.rn.f16x2 %r2, %r1, %r1, %r1;", C::Float, Pipe::FmaWide},
           {"fma.rn.f32x2 %rd5, %rd6, %rd6, %rd6;", C::Float, Pipe::FmaWide},
           {"add.f64 %fd1, %fd2, %fd2;", C::Double, Pipe::Double},
           {"ex2.approx.f32 %f1, %f2;", C::SpecialFunction, Pipe::Special},
           {"cvt.rn.f32.u32 %f1, %r1;", C::Conversion, Pipe::Special},
           {"cvt.rni.f32.f32 %f1, %f2;", C::Conversion, Pipe::Special},
           {"cvt.rn.f16x2.f32 %r2, %f1, %f2;", C::Conversion, Pipe::Alu},
           {"cvt.rn.f16x2.e4m3x2 %r2, %rs1;", C::Conversion, Pipe::Alu},
           {"cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;", C::Conversion,
            Pipe::AluPack},
           {"mov.u32 %r2, %ctaid.x;", C::Move, Pipe::Move},
           // Two operations here, one instruction.
           {"mov.u32 %r2, %clock;", C::Move, Pipe::Move},
           {"shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;", C::Warp, Pipe::Memory},
           {"vote.sync.any.pred %p1, %p2, -1;", C::Warp, Pipe::Alu},
           {"bar.sync 0;", C::Barrier, Pipe::Control}}) {
    InstructionCounts counts = instructionsOf(c.text);
    EXPECT_EQ(counts.totalWarp(), 1u) << c.text;
    EXPECT_EQ(counts.totalThread(), 32u) << c.text;
    EXPECT_EQ(of(counts, c.kind), 1u) << c.text;
    EXPECT_EQ(of(counts, c.pipe), 1u) << c.text;
  }
}

TEST(Counter, ThreadsThatTakePart) {
  // 40 threads, of which 5 pass the guard in the first warp and 1 in the
  // second; the instruction is issued in both.
  InstructionCounts counts =
      instructionsOf("and.b32 %r2, %r1, 7;\nsetp.eq.u32 %p1, %r2, 7;\n"
                     "@%p1 add.f32 %f1, %f1, %f1;\n",
                     {40});
  EXPECT_EQ(of(counts, InstructionClass::Float), 2u);
  EXPECT_EQ(counts.thread[static_cast<unsigned>(InstructionClass::Float)], 5u);
  EXPECT_EQ(of(counts, InstructionClass::Integer), 4u);
  EXPECT_EQ(counts.thread[static_cast<unsigned>(InstructionClass::Integer)],
            80u);
}

TEST(Counter, AWaitingInstructionCountsOnce) {
  // Half of the warp comes late to the barrier, and one thread waits for the
  // other in a loop of try_wait that yields.
  InstructionCounts counts =
      instructionsOf("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra L;\n"
                     "add.f32 %f1, %f1, %f1;\nL: bar.warp.sync -1;\n");
  EXPECT_EQ(of(counts, InstructionClass::Barrier), 1u);
  EXPECT_EQ(of(counts, InstructionClass::Float), 1u);
}

TEST(Counter, RolesAndWarps) {
  TestDevice device;
  device.device.getOptions().roles =
      llvm::cantFail(WarpRole::parse("0:load,1:mma,2-3:softmax"));
  // Warp w does w+1 additions; three CTAs.
  Report report = device.run(
      makeModule(0, "shr.u32 %r2, %r1, 5;\n"
                    "L: add.f32 %f1, %f1, %f1;\nsub.s32 %r2, %r2, 1;\n"
                    "setp.ge.s32 %p1, %r2, 0;\n@%p1 bra L;\n"),
      {3, 1, 1}, {128, 1, 1}, {});
  ASSERT_EQ(report.counters.warps.size(), 4u);
  for (unsigned w = 0; w < 4; ++w)
    EXPECT_EQ(of(report.counters.warps[w], InstructionClass::Float),
              3u * (w + 1));
  llvm::json::Value json = report.toJSON();
  const llvm::json::Object *counters =
      json.getAsObject()->getObject("counters");
  const llvm::json::Array *roles = counters->getArray("roles");
  ASSERT_TRUE(roles);
  ASSERT_EQ(roles->size(), 3u);
  const llvm::json::Object *softmax = (*roles)[2].getAsObject();
  EXPECT_EQ(softmax->getString("name"), "softmax");
  EXPECT_EQ(softmax->getObject("warpInstructions")->getInteger("float"), 21);
  EXPECT_EQ(softmax->getObject("pipes")->getInteger("fma"), 21);
  EXPECT_EQ(counters->getArray("warps")->size(), 4u);

  std::string table;
  llvm::raw_string_ostream os(table);
  report.printCounters(os);
  EXPECT_NE(table.find("softmax"), std::string::npos) << table;
  // Without names, warps that count the same are one column.
  device.device.getOptions().roles.clear();
  report = device.run(makeModule(0, "setp.lt.u32 %p1, %r1, 64;\n@%p1 exit;\n"
                                    "add.f32 %f1, %f1, %f1;\n"),
                      {}, {128, 1, 1}, {});
  table.clear();
  report.printCounters(os);
  EXPECT_NE(table.find("warps 0-1"), std::string::npos) << table;
  EXPECT_NE(table.find("warps 2-3"), std::string::npos) << table;
}

TEST(Counter, RolesThatAreNone) {
  for (const char *bad : {"", "0", "0:", ":x", "x:load", "1-0:a", "0-32:a",
                          "0:a,0:b", "0-2:a,1:b"})
    EXPECT_TRUE(bool(WarpRole::parse(bad).takeError())) << bad;
  auto roles = llvm::cantFail(WarpRole::parse("0:a,2-3:b,5:a"));
  ASSERT_EQ(roles.size(), 2u);
  EXPECT_EQ(roles[0].warps, (std::vector<unsigned>{0, 5}));
  EXPECT_EQ(roles[1].warps, (std::vector<unsigned>{2, 3}));
}

TEST(Counter, GlobalBytesAndSectors) {
  TestDevice device;
  uint64_t buffer = device.upload(std::vector<uint32_t>(1024));
  auto count = [&](const std::string &address, const std::string &access,
                   Dim3 grid = {1}) {
    return run(makeModule(1, address +
                                 "cvt.u64.u32 %rd5, %r2;\n"
                                 "add.s64 %rd5, %rd1, %rd5;\n" +
                                 access),
               grid, {32}, {buffer}, device);
  };
  // Consecutive words, twice by two CTAs: distinct bytes count once.
  Counters c =
      count("shl.b32 %r2, %r1, 2;\n", "ld.global.u32 %r3, [%rd5];", {2});
  EXPECT_EQ(c.globalReadBytes, 256u);
  EXPECT_EQ(c.globalReadSectors, 8u);
  EXPECT_EQ(c.distinctReadBytes, 128u);
  EXPECT_EQ(c.distinctReadSectors, 4u);
  EXPECT_EQ(c.globalWriteBytes + c.distinctWriteBytes, 0u);
  // One byte in every second sector.
  c = count("shl.b32 %r2, %r1, 6;\n", "st.global.u8 [%rd5], %r1;");
  EXPECT_EQ(c.globalWriteBytes, 32u);
  EXPECT_EQ(c.globalWriteSectors, 32u);
  EXPECT_EQ(c.distinctWriteBytes, 32u);
  EXPECT_EQ(c.distinctWriteSectors, 32u);
  // All threads the same word.
  c = count("mov.u32 %r2, 12;\n", "ld.global.u32 %r3, [%rd5];");
  EXPECT_EQ(c.globalReadBytes, 128u);
  EXPECT_EQ(c.globalReadSectors, 1u);
  EXPECT_EQ(c.distinctReadBytes, 4u);
  // 16 bytes per thread in reverse order.
  c = count("sub.u32 %r2, 31, %r1;\nshl.b32 %r2, %r2, 4;\n",
            "ld.global.v4.u32 {%r3,%r4,%r5,%r6}, [%rd5];");
  EXPECT_EQ(c.globalReadBytes, 512u);
  EXPECT_EQ(c.globalReadSectors, 16u);
  EXPECT_EQ(c.distinctReadBytes, 512u);
  // Reads and writes of the same bytes are apart.
  c = count("shl.b32 %r2, %r1, 2;\n",
            "ld.global.u32 %r3, [%rd5];\nst.global.u32 [%rd5], %r3;");
  EXPECT_EQ(c.distinctReadBytes, 128u);
  EXPECT_EQ(c.distinctWriteBytes, 128u);
}

TEST(Counter, BankConflicts) {
  TestDevice device;
  auto wavefronts = [&](const std::string &address, const std::string &access) {
    return run(makeModule(0,
                          "mov.u32 %r3, s;\n" + address +
                              "add.u32 %r2, %r2, %r3;\n" + access,
                          ".shared .align 128 .b8 s[8192];\n"),
               {}, {32}, {}, device)
        .sharedWavefronts;
  };
  const std::string word = "ld.shared.u32 %r4, [%r2];";
  const std::string two = "ld.shared.v2.u32 {%r4,%r5}, [%r2];";
  const std::string four = "ld.shared.v4.u32 {%r4,%r5,%r6,%r7}, [%r2];";
  EXPECT_EQ(wavefronts("shl.b32 %r2, %r1, 2;\n", word), 1u);
  // Bytes: four threads share a word.
  EXPECT_EQ(wavefronts("mov.u32 %r2, %r1;\n", "ld.shared.u8 %r4, [%r2];"), 1u);
  // 12 rows of 128 bytes: the banks' words are distinct in 12 rows, and more
  // than 8 of them are told apart.
  EXPECT_EQ(wavefronts("rem.u32 %r2, %r1, 12;\nshl.b32 %r2, %r2, 7;\n", word),
            12u);
  // An 8-byte access goes by half warps, of 16-byte ones by quarters.
  EXPECT_EQ(wavefronts("shl.b32 %r2, %r1, 3;\n", two), 2u);
  EXPECT_EQ(wavefronts("shl.b32 %r2, %r1, 4;\n", two), 4u);
  EXPECT_EQ(wavefronts("shl.b32 %r2, %r1, 4;\n", four), 4u);
  // Rows of 128 bytes: every thread of a quarter in the same four banks.
  EXPECT_EQ(wavefronts("shl.b32 %r2, %r1, 7;\n", four), 32u);
  // The same with a padding of 16 bytes.
  EXPECT_EQ(wavefronts("mul.lo.u32 %r2, %r1, 144;\n", four), 4u);
}

TEST(Counter, MatrixLoads) {
  TestDevice device;
  auto count = [&](unsigned stride) {
    return run(makeModule(0,
                          "mov.u32 %r3, s;\nmul.lo.u32 %r2, %r1, " +
                              std::to_string(stride) +
                              ";\nadd.u32 %r2, %r2, %r3;\n"
                              "ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                              "{%r4,%r5,%r6,%r7}, [%r2];\n",
                          ".shared .align 128 .b8 s[8192];\n"),
               {}, {32}, {}, device);
  };
  EXPECT_EQ(count(16).sharedWavefronts, 4u);
  EXPECT_EQ(count(16).sharedReadBytes, 512u);
  EXPECT_EQ(count(128).sharedWavefronts, 32u);
}

TEST(Counter, AsyncCopies) {
  TestDevice device;
  uint64_t buffer = device.upload(std::vector<uint32_t>(1024));
  // 32 threads copy 16 bytes each, rows of 144 bytes apart in shared memory.
  Counters c =
      run(makeModule(1,
                     "mov.u32 %r3, s;\nmul.lo.u32 %r2, %r1, 144;\n"
                     "add.u32 %r2, %r2, %r3;\nmul.wide.u32 %rd5, %r1, 16;\n"
                     "add.s64 %rd5, %rd1, %rd5;\n"
                     "cp.async.cg.shared.global [%r2], [%rd5], 16;\n"
                     "cp.async.wait_all;\n",
                     ".shared .align 128 .b8 s[8192];\n"),
          {}, {32}, {buffer}, device);
  EXPECT_EQ(c.asyncCopyBytes, 512u);
  EXPECT_EQ(c.globalReadBytes, 512u);
  EXPECT_EQ(c.distinctReadSectors, 16u);
  EXPECT_EQ(c.sharedWriteBytes, 512u);
  EXPECT_EQ(c.sharedWavefronts, 4u);

  // One thread copies 1040 bytes by bulk, from byte 16 on.
  const std::string copy =
      "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
      "mbarrier.init.shared.b64 [b], 1;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [b], 1040;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[s], [%rd1+16], 1040, [b];\nW: bar.sync 0;\n"
      "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra L;\n";
  c = run(makeModule(1, copy,
                     ".shared .align 8 .b64 b;\n"
                     ".shared .align 128 .b8 s[2048];\n"),
          {}, {32}, {buffer}, device);
  EXPECT_EQ(c.asyncCopyBytes, 1040u);
  EXPECT_EQ(c.globalReadBytes, 1040u);
  EXPECT_EQ(c.globalReadSectors, 33u);
  EXPECT_EQ(c.distinctReadBytes, 1040u);
  EXPECT_EQ(c.sharedWavefronts, 9u);
  EXPECT_EQ(of(c.instructions(), Pipe::BulkCopy), 1u);
}

TEST(Counter, TensorInstructions) {
  TestDevice device;
  Counters c =
      run(makeModule(0, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                        "{%f1,%f2,%f3,%f4}, {%r2,%r3,%r4,%r5}, {%r6,%r7}, "
                        "{%f1,%f2,%f3,%f4};\n"),
          {3, 1, 1}, {64, 1, 1}, {}, device);
  ASSERT_EQ(c.tensor.size(), 1u);
  const TensorForm &form = c.tensor.begin()->first;
  EXPECT_EQ(form.family, "mma.sync");
  EXPECT_EQ(form.kind, "f16");
  EXPECT_EQ(form.m * 10000 + form.n * 100 + form.k, 160816u);
  TensorCounts counts = c.tensorTotal();
  EXPECT_EQ(counts.instructions, 6u);
  EXPECT_EQ(counts.multiplyAdds, 6u * 2048);
  // A is 16 x 16 and B 16 x 8 of two bytes.
  EXPECT_EQ(counts.registerBytes, 6u * (512 + 256));
  EXPECT_EQ(c.find("tensorRegisterBytes"), 6u * 768);
  EXPECT_EQ(c.find("tensor"), 6u);
  EXPECT_FALSE(c.find("nothing of this name"));
}

} // namespace
