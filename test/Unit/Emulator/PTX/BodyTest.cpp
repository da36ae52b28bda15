//===- BodyTest.cpp - Scopes, labels, calls, registers --------------------===//

#include "Parse.h"

using namespace kvq::emu::ptx;

TEST(PTXBody, SameLabelInManyScopes) {
  auto module = parse(inKernel("LOOP: bra LOOP;\n"
                               "{ bra LOOP; LOOP: add.s32 %r1, %r1, 1; }\n"
                               "{ LOOP: bra LOOP; }\n"
                               "{ bra LOOP; }\n"
                               "bra END;\nEND:"));
  ASSERT_TRUE(module);
  const auto &instructions = module->functions[0].instructions;
  ASSERT_EQ(instructions.size(), 7u);
  EXPECT_EQ(instructions[0].operands[0].index, 0u);
  EXPECT_EQ(instructions[1].operands[0].index, 2u);
  EXPECT_EQ(instructions[3].operands[0].index, 3u);
  EXPECT_EQ(instructions[4].operands[0].index, 0u);
  // A label at the end stands before an exit that the parser adds.
  EXPECT_EQ(instructions[5].operands[0].index, 6u);
  EXPECT_EQ(instructions[6].opcode, Opcode::Exit);
}

TEST(PTXBody, ScopedRegistersHideOuterOnes) {
  auto module = parse(inKernel("mov.u32 %r1, 1;\n"
                               "{ .reg .pred %r1; setp.eq.u32 %r1, %r2, 0; }\n"
                               "mov.u32 %r1, 2;"));
  ASSERT_TRUE(module);
  const Function &function = module->functions[0];
  uint32_t outer = function.instructions[0].operands[0].index;
  uint32_t inner = function.instructions[1].operands[0].index;
  EXPECT_NE(outer, inner);
  EXPECT_EQ(function.registers[inner].type, Type::Pred);
  EXPECT_EQ(function.instructions[2].operands[0].index, outer);
}

TEST(PTXBody, OnlyUsedRegistersExist) {
  auto module = parse(".func f() { .reg .b32 %r<1000000>;"
                      " mov.b32 %r999999, %r0; ret; }");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->functions[0].registers.size(), 2u);
}

TEST(PTXBody, RangesWhosePrefixEndsInDigits) {
  auto module = parse(".func f() { .reg .b32 r1<5>; .reg .b64 r<3>;"
                      " mov.b32 r14, r10; mov.b64 r2, r1; ret; }");
  ASSERT_TRUE(module);
  const Function &function = module->functions[0];
  EXPECT_EQ(function.registers[function.instructions[0].operands[0].index].type,
            Type::B32);
  EXPECT_EQ(function.registers[function.instructions[1].operands[1].index].type,
            Type::B64);
}

TEST(PTXBody, VectorRegisters) {
  auto module = parse(".func f() { .reg .v4 .f32 v; .reg .f32 a;"
                      " mov.f32 a, v.z; st.global.v4.f32 [0], v; ret; }");
  ASSERT_TRUE(module);
  const Function &function = module->functions[0];
  EXPECT_EQ(function.instructions[0].operands[1].index, 2u);
  EXPECT_EQ(function.instructions[1].operands[1].count, 4u);
}

TEST(PTXBody, BranchTable) {
  auto module = parse(inKernel("ts: .branchtargets A, B, A;\n"
                               "brx.idx %r1, ts;\nA: ret;\nB: exit;"));
  ASSERT_TRUE(module);
  const Function &function = module->functions[0];
  EXPECT_EQ(function.branchTables[0], (std::vector<uint32_t>{1, 2, 1}));
  EXPECT_EQ(function.instructions[0].operands[1].kind,
            OperandKind::BranchTable);
}

TEST(PTXBody, DirectCall) {
  auto module = parse(
      ".func (.param .align 8 .b8 r[16]) f(.param .b32 a, .param .b64 b);\n" +
      inKernel("{ .param .b32 p0; st.param.b32 [p0], %r1;\n"
               ".param .b64 p1; st.param.b64 [p1+0], %rd1;\n"
               ".param .align 8 .b8 q[16];\n"
               "call.uni (q), f, (p0, p1);\n"
               "ld.param.b64 %rd2, [q+8]; }"));
  ASSERT_TRUE(module);
  const Function &kernel = *module->findFunction("k");
  const Instruction &call = kernel.instructions[2];
  ASSERT_EQ(call.opcode, Opcode::Call);
  ASSERT_EQ(call.operands.size(), 3u);
  EXPECT_EQ(call.operands[1].symbol, SymbolKind::Function);
  EXPECT_EQ(module->functions[call.operands[1].index].name, "f");
  auto arguments = kernel.elements(call.operands[2]);
  ASSERT_EQ(arguments.size(), 2u);
  EXPECT_EQ(arguments[1].symbol, SymbolKind::CallParam);
  EXPECT_EQ(kernel.variables[arguments[1].index].frameOffset, 8u);
  EXPECT_EQ(kernel.callParamBytes, 32u);
  EXPECT_EQ(kernel.instructions[3].operands[1].offset, 8);
  EXPECT_EQ(module->findFunction("f")->parameterBytes, 16u);
}

TEST(PTXBody, CallScopesShareTheirFrame) {
  std::string call = "{ .param .b64 a; st.param.b64 [a], %rd1; call f, (a); }";
  auto module = parse(".func f(.param .b64 x);\n" + inKernel(call + call));
  ASSERT_TRUE(module);
  EXPECT_EQ(module->findFunction("k")->callParamBytes, 8u);
}

TEST(PTXBody, IndirectCall) {
  auto module = parse(
      inKernel("{ .param .b32 r; .param .b32 a;\n"
               "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
               "call (r), %rd1, (a), proto; }"));
  ASSERT_TRUE(module);
  const Instruction &call = module->functions[0].instructions[0];
  ASSERT_EQ(call.operands.size(), 4u);
  EXPECT_TRUE(call.operands[1].isRegister());
  ASSERT_EQ(call.operands[3].kind, OperandKind::Prototype);
  EXPECT_EQ(module->prototypes[call.operands[3].index].results.size(), 1u);
}

TEST(PTXBody, AliasRedirectsEarlierCalls) {
  auto module = parse(".func g();\n" + inKernel("call g;") +
                      ".func f() { ret; }\n.alias g, f;");
  ASSERT_TRUE(module);
  const Function *f = module->findFunction("g");
  EXPECT_EQ(f->name, "f");
  EXPECT_EQ(&module->functions
                 [module->findFunction("k")->instructions[0].operands[1].index],
            f);
}

TEST(PTXBody, KernelDirectives) {
  auto module = parse(".entry k() .reqntid 32, 4 .minnctapersm 2 "
                      ".reqnctapercluster 2, 1, 1 .maxnreg 64 { ret; }");
  ASSERT_TRUE(module);
  const Function &kernel = module->functions[0];
  EXPECT_EQ(kernel.requiredBlock, (std::array<uint32_t, 3>{32, 4, 1}));
  EXPECT_EQ(kernel.requiredCluster, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_EQ(kernel.maximumBlock, (std::array<uint32_t, 3>{0, 0, 0}));
}

TEST(PTXBody, DebugInformationIsSkipped) {
  auto module = parse(".file 1 \"a.cu\"\n" +
                      inKernel(".loc 1 5 2, function_name $L0, inlined_at 1 "
                               "3 1\n.pragma \"nounroll\";\nret;") +
                      ".section .debug_info\n{\n.b32 16\n.b8 'x'\n{ }\n}\n"
                      ".section .debug_macinfo { }\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->functions[0].instructions.size(), 2u);
}

TEST(PTXBody, ParameterLayout) {
  auto module = parse(".entry k(.param .u8 a, .param .u64 .ptr .global .align "
                      "16 b, .param .b32 c, .param .align 64 .b8 d[128]) { }");
  ASSERT_TRUE(module);
  const Function &kernel = module->functions[0];
  ASSERT_EQ(kernel.parameters.size(), 4u);
  EXPECT_EQ(kernel.parameters[1].offset, 8u);
  EXPECT_EQ(kernel.parameters[1].size, 8u);
  EXPECT_EQ(kernel.parameters[2].offset, 16u);
  EXPECT_EQ(kernel.parameters[3].offset, 64u);
  EXPECT_EQ(kernel.parameterBytes, 192u);
}
