//===- VariableTest.cpp - Variables and initializers ----------------------===//

#include "Parse.h"

using namespace kvq::emu::ptx;
using Bytes = std::vector<uint8_t>;

TEST(PTXVariable, SpacesSizesAlignment) {
  auto module = parse(".extern .shared .align 16 .b8 dyn[];\n"
                      ".shared .align 1024 .b8 tile[4][256];\n"
                      ".const .f64 c;\n.visible .global .v4 .f32 v[3];\n");
  ASSERT_TRUE(module);
  ASSERT_EQ(module->variables.size(), 4u);
  EXPECT_TRUE(module->variables[0].isExtern);
  EXPECT_EQ(module->variables[0].size, 0u);
  EXPECT_EQ(module->variables[0].alignment, 16u);
  EXPECT_EQ(module->variables[1].size, 1024u);
  EXPECT_EQ(module->variables[1].space, Space::Shared);
  EXPECT_EQ(module->variables[2].alignment, 8u);
  EXPECT_EQ(module->variables[3].size, 48u);
  EXPECT_EQ(module->variables[3].alignment, 16u);
}

TEST(PTXVariable, Initializers) {
  auto module = parse(".global .b16 a[4] = {1, -2, 0xFFFF};\n"
                      ".const .f32 b[2] = {0f3F800000, -2.5};\n"
                      ".global .b8 c[] = {104, 105, 0};\n"
                      ".global .u32 d[2][2] = {{1}, {2, 3}};\n"
                      ".global .u64 e = 0x1122334455667788;\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->variables[0].initializer,
            (Bytes{1, 0, 0xFE, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(module->variables[1].initializer,
            (Bytes{0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0}));
  EXPECT_EQ(module->variables[2].size, 3u);
  EXPECT_EQ(module->variables[2].initializer, (Bytes{104, 105}));
  EXPECT_EQ(module->variables[3].initializer,
            (Bytes{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(module->variables[4].initializer,
            (Bytes{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}));
}

TEST(PTXVariable, Relocations) {
  auto module = parse(".global .b32 x[4];\n.func f() { ret; }\n"
                      ".global .u64 p[3] = {generic(x)+8, 0, f};\n"
                      ".global .b8 q[2] = {0xFF(x), 0xFF00(generic(x+4))};\n");
  ASSERT_TRUE(module);
  const auto &p = module->variables[1].relocations;
  ASSERT_EQ(p.size(), 2u);
  EXPECT_TRUE(p[0].generic);
  EXPECT_EQ(p[0].addend, 8);
  EXPECT_EQ(p[0].index, 0u);
  EXPECT_EQ(p[0].size, 8);
  EXPECT_EQ(p[1].offset, 16u);
  EXPECT_EQ(p[1].symbol, SymbolKind::Function);
  const auto &q = module->variables[2].relocations;
  ASSERT_EQ(q.size(), 2u);
  EXPECT_EQ(q[0].shift, 0);
  EXPECT_EQ(q[1].shift, 8);
  EXPECT_EQ(q[1].size, 1);
  EXPECT_EQ(q[1].addend, 4);
  EXPECT_TRUE(q[1].generic);
}

TEST(PTXVariable, LocalsAndSharedOfBodies) {
  auto module = parse(inKernel(".local .align 16 .b8 depot[20];\n"
                               ".local .b64 other;\n"
                               ".shared .b32 s[8];\n"
                               "st.local.b64 [other], %rd1;\n"
                               "ld.shared.b32 %r1, [s+4];"));
  ASSERT_TRUE(module);
  const Function &kernel = module->functions[0];
  EXPECT_EQ(kernel.variables[1].frameOffset, 24u);
  EXPECT_EQ(kernel.localBytes, 32u);
  EXPECT_EQ(kernel.localAlignment, 16u);
  EXPECT_EQ(kernel.instructions[0].operands[0].symbol, SymbolKind::Local);
  EXPECT_EQ(kernel.instructions[0].operands[0].index, 1u);
  const Operand &shared = kernel.instructions[1].operands[1];
  EXPECT_EQ(shared.symbol, SymbolKind::ModuleVariable);
  EXPECT_EQ(module->variables[shared.index].size, 32u);
  EXPECT_EQ(shared.offset, 4);
}

TEST(PTXVariable, ExternThenDefinition) {
  auto module = parse(".extern .global .b32 x;\n.visible .global .b32 x = 5;");
  ASSERT_TRUE(module);
  ASSERT_EQ(module->variables.size(), 1u);
  EXPECT_FALSE(module->variables[0].isExtern);
  EXPECT_EQ(module->variables[0].initializer, (Bytes{5, 0, 0, 0}));
}

TEST(PTXVariable, AttributesAreAccepted) {
  auto module = parse(".global .attribute(.managed) .align 4 .b32 x;\n"
                      ".global .attribute(.unified(19, 95)) .b64 y;\n"
                      ".func .attribute(.unified(1, 2)) f() { ret; }");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->variables[1].size, 8u);
  EXPECT_NE(module->findFunction("f"), nullptr);
}
