//===- InstructionTest.cpp - Decoded instructions -------------------------===//

#include "Parse.h"
#include "llvm/ADT/bit.h"

using namespace kvq::emu::ptx;

TEST(PTXInstruction, OpcodeIsTheLongestSpelling) {
  struct Case {
    const char *text;
    Opcode opcode;
  } cases[] = {
      {"cp.async.ca.shared.global [%r1], [%rd1], 16;", Opcode::CpAsync},
      {"cp.async.commit_group;", Opcode::CpAsyncCommitGroup},
      {"cp.async.bulk.commit_group;", Opcode::CpAsyncBulkCommitGroup},
      {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r2}];",
       Opcode::CpAsyncBulkPrefetchTensor},
      {"bar.sync 0;", Opcode::BarSync},
      {"barrier.cta.sync.aligned 0, 64;", Opcode::BarSync},
      {"bar.warp.sync 0xffffffff;", Opcode::BarWarpSync},
      {"fence.proxy.async.shared::cta;", Opcode::FenceProxy},
      {"fence.acq_rel.cluster;", Opcode::Fence},
      {"tcgen05.wait::ld.sync.aligned;", Opcode::Tcgen05WaitLd},
      {"tcgen05.fence::after_thread_sync;", Opcode::Tcgen05FenceAfter},
      {"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;",
       Opcode::MbarrierArrive},
      {"cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;", Opcode::CvtPack},
  };
  for (const Case &c : cases) {
    One one(c.text);
    ASSERT_TRUE(one) << c.text;
    EXPECT_EQ(one->opcode, c.opcode) << c.text;
  }
}

TEST(PTXInstruction, Mma) {
  One one("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
          "{%f0,%f1,%f2,%f3};");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->mods.m, 16);
  EXPECT_EQ(one->mods.n, 8);
  EXPECT_EQ(one->mods.k, 16);
  ASSERT_EQ(one->mods.types.size(), 4u);
  EXPECT_EQ(one->mods.types[0], Type::F32);
  EXPECT_EQ(one->mods.types[1], Type::BF16);
  EXPECT_TRUE(one->mods.has(Mod::Row));
  EXPECT_TRUE(one->mods.has(Mod::Col));
  EXPECT_TRUE(one->mods.aligned);
  ASSERT_EQ(one->operands.size(), 4u);
  EXPECT_EQ(one.operand(1).count, 4u);
  EXPECT_EQ(one.registerName(one.function().elements(one.operand(2))[1]),
            "%r6");
}

TEST(PTXInstruction, CompareWithSecondDestination) {
  One one("setp.ltu.and.ftz.f32 %p1|%p2, %f1, %f2, !%p3;");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->mods.compare, CompareOp::LTU);
  EXPECT_TRUE(one->mods.ftz);
  EXPECT_TRUE(one->mods.has(Mod::And));
  ASSERT_EQ(one->operands.size(), 4u);
  EXPECT_EQ(one.operand(0).kind, OperandKind::Pair);
  EXPECT_EQ(one.registerName(one.function().elements(one.operand(0))[1]),
            "%p2");
  EXPECT_TRUE(one.operand(3).negated);
}

TEST(PTXInstruction, UnsignedComparesShareTheirWordsWithHalves) {
  One compare("setp.lo.u32 %p1, %r1, %r2;");
  One product("mul.lo.s32 %r1, %r2, %r3;");
  ASSERT_TRUE(compare && product);
  EXPECT_EQ(compare->mods.compare, CompareOp::LO);
  EXPECT_EQ(product->mods.compare, CompareOp::None);
  EXPECT_TRUE(product->mods.has(Mod::Lo));
}

TEST(PTXInstruction, MemoryWords) {
  One one("ld.acquire.gpu.global.L1::no_allocate.L2::256B.v4.b32 "
          "{%r1,%r2,%r3,_}, [%rd1+-16];");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->mods.order, Order::Acquire);
  EXPECT_EQ(one->mods.scope, Scope::GPU);
  EXPECT_EQ(one->mods.space(), Space::Global);
  EXPECT_EQ(one->mods.vector, 4);
  EXPECT_EQ(one.function().elements(one.operand(0))[3].kind, OperandKind::Sink);
  EXPECT_TRUE(one.operand(1).isRegisterBase);
  EXPECT_EQ(one.operand(1).offset, -16);
}

TEST(PTXInstruction, TensorCopy) {
  One one("cp.async.bulk.tensor.2d.shared::cluster.global.tile."
          "mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2."
          "L2::cache_hint [%r1], [%rd1, {%r2, 7}], [%r3], %rs1, %rd2;");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->opcode, Opcode::CpAsyncBulkTensor);
  EXPECT_EQ(one->mods.dims, 2);
  EXPECT_EQ(one->mods.ctaGroup, 2);
  EXPECT_TRUE(one->mods.cacheHint);
  EXPECT_TRUE(one->mods.has(Mod::MulticastCluster));
  EXPECT_EQ(one->mods.space(0), Space::SharedCluster);
  EXPECT_EQ(one->mods.space(1), Space::Global);
  EXPECT_EQ(one.operand(1).kind, OperandKind::TensorAddress);
  EXPECT_EQ(one.registerName(one.operand(1)), "%rd1");
  auto coordinates = one.function().elements(one.operand(1));
  ASSERT_EQ(coordinates.size(), 2u);
  EXPECT_EQ(coordinates[1].bits, 7u);
}

TEST(PTXInstruction, TensorMemory) {
  One load("tcgen05.ld.sync.aligned.16x256b.x2.pack::16b.b32 "
           "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%r9];");
  One mma("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X "
          "[%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;");
  ASSERT_TRUE(load && mma);
  EXPECT_TRUE(load->mods.has(Mod::S16x256b));
  EXPECT_EQ(load->mods.count, 2);
  EXPECT_TRUE(load->mods.has(Mod::Pack16b));
  EXPECT_EQ(mma->mods.ctaGroup, 1);
  EXPECT_TRUE(mma->mods.has(Mod::ScaleVec4X));
  EXPECT_TRUE(mma.operand(0).isAddress());
  EXPECT_TRUE(mma.operand(1).isRegister());
}

TEST(PTXInstruction, FloatLiteralsTakeTheTypeOfTheInstruction) {
  struct Case {
    const char *text;
    unsigned operand;
    uint64_t bits;
  } cases[] = {
      {"mov.f32 %f1, 0f3F800000;", 1, 0x3F800000},
      {"mov.b32 %r1, 0f3F800001;", 1, 0x3F800001},
      {"mov.f64 %fd1, 0d3FF0000000000001;", 1, 0x3FF0000000000001},
      {"add.f32 %f1, %f2, 1.5;", 2, llvm::bit_cast<uint32_t>(1.5f)},
      {"add.f32 %f1, %f2, -1.5e-3;", 2, llvm::bit_cast<uint32_t>(-1.5e-3f)},
      {"add.f64 %fd1, %fd2, 0f3F000000;", 2, llvm::bit_cast<uint64_t>(0.5)},
      {"add.f32 %f1, %f2, 0d3FB999999999999A;", 2,
       llvm::bit_cast<uint32_t>(0.1f)},
      {"cvt.rn.f16.f32 %rs1, 0.25;", 1, llvm::bit_cast<uint32_t>(0.25f)},
      {"cvt.f64.f32 %fd1, 0.25;", 1, llvm::bit_cast<uint32_t>(0.25f)},
      // A signalling NaN keeps its bits.
      {"mov.f32 %f1, 0f7F800001;", 1, 0x7F800001},
      {"createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;", 1, 0x3F800000},
  };
  for (const Case &c : cases) {
    One one(c.text);
    ASSERT_TRUE(one) << c.text;
    EXPECT_EQ(one.operand(c.operand).bits, c.bits) << c.text;
    EXPECT_TRUE(one.operand(c.operand).isFloatLiteral) << c.text;
  }
}

TEST(PTXInstruction, IntegerLiteralsAndExpressions) {
  struct Case {
    const char *literal;
    uint64_t bits;
  } cases[] = {
      {"-1", ~uint64_t(0)},  {"0xFFFFFFFFFFFFFFFF", ~uint64_t(0)},
      {"0b101", 5},          {"017", 15},
      {"12U", 12},           {"(1 << 4) | 3", 19},
      {"2 + 3 * 4 - 1", 13}, {"-(7 / 2) % 2", ~uint64_t(0)},
      {"~0 & 0xF0", 0xF0},   {"WARP_SZ", 32},
  };
  for (const Case &c : cases) {
    One one(std::string("mov.u64 %rd1, ") + c.literal + ";");
    ASSERT_TRUE(one) << c.literal;
    EXPECT_EQ(one.operand(1).bits, c.bits) << c.literal;
  }
}

TEST(PTXInstruction, SpecialRegisters) {
  One x("mov.u32 %r1, %ctaid.z;");
  One rank("mov.u32 %r1, %cluster_ctarank;");
  One whole("mov.v4.u32 {%r1,%r2,%r3,%r4}, %tid;");
  ASSERT_TRUE(x && rank && whole);
  EXPECT_EQ(x.operand(1).special, SpecialRegister::CtaidZ);
  EXPECT_EQ(rank.operand(1).special, SpecialRegister::ClusterCtarank);
  auto elements = whole.function().elements(whole.operand(1));
  ASSERT_EQ(elements.size(), 4u);
  EXPECT_EQ(elements[2].special, SpecialRegister::TidZ);
  EXPECT_EQ(elements[3].special, SpecialRegister::Zero);
}

TEST(PTXInstruction, GuardAndText) {
  One one("@!%p2 add.s32  %r1,\n  %r2, 1 ;");
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->hasGuard);
  EXPECT_TRUE(one->guardNegated);
  EXPECT_EQ(one.function().registers[one->guard].name, "%p2");
  EXPECT_EQ(one->text, "add.s32  %r1,\n  %r2, 1");
  EXPECT_EQ(one->line, 7u);
  EXPECT_EQ(one->column, 7u);
}

TEST(PTXInstruction, EveryOpcodeSpellingIsFound) {
  // Every table entry parses as an instruction of its own name.
  const std::pair<const char *, unsigned> entries[] = {
#define KVQ_PTX_OPCODE(enumerator, spelling, operands) {spelling, operands},
#include "kvq/Emulator/PTX/Opcodes.def"
#undef KVQ_PTX_OPCODE
  };
  for (auto [spelling, operands] : entries) {
    // These have operands of their own kind.
    llvm::StringRef name = spelling;
    if (name == "call" || name == "bra" || name == "brx.idx")
      continue;
    std::string text = spelling;
    for (unsigned i = 0; i < operands; ++i)
      text += i ? ", %r1" : " %r1";
    One one(text + ";");
    ASSERT_TRUE(one) << spelling;
    EXPECT_EQ(stringify(one->opcode), spelling);
  }
}
