//===- OperandTest.cpp - Operands of any instruction ----------------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

TEST(Operand, ARegisterWithAnOffset) {
  TestDevice device(checkedOptions());
  uint64_t out = device.upload(std::vector<uint64_t>(3));
  expectClean(device.run(
      makeModule(1, "mov.b32 %r2, 0xfffffff0;\nmov.b64 %rd5, 0xfffffff0;\n"
                    "add.u32 %r3, %r2+32, 0;\nadd.u64 %rd6, %rd5+32, 0;\n"
                    "add.u64 %rd7, 0, %rd5+-16;\ncvt.u64.u32 %rd8, %r3;\n"
                    "st.global.b64 [%rd1], %rd8;\n"
                    "st.global.b64 [%rd1+8], %rd6;\n"
                    "st.global.b64 [%rd1+16], %rd7;\n"),
      {}, {1, 1, 1}, {out}));
  // The sum has the width of the register.
  EXPECT_EQ(device.download<uint64_t>(out, 3),
            (std::vector<uint64_t>{0x10, 0x100000010, 0xffffffe0}));
}

TEST(Operand, KindsAndWidthsAreChecked) {
  struct Case {
    const char *line;
    const char *message;
  } cases[] = {
      {"add.u32 %r2, %p1, %r3;", "'%p1' is a predicate register"},
      {"add.u32 %p1, %r2, %r3;", "'%p1' is a predicate register"},
      {"setp.eq.u32 %r2, %r3, %r4;", "'%r2' is no predicate register"},
      {"selp.b32 %r2, %r3, %r4, %r5;", "'%r5' is no predicate register"},
      {"add.u64 %rd5, %r2, %rd6;",
       "register '%r2' has 32 bits where 64 are needed"},
      {"add.u64 %r2, %rd5, %rd6;",
       "register '%r2' has 32 bits where 64 are needed"},
      {"ld.global.u32 %r2, [%rs1];",
       "register '%rs1' has 16 bits where 32 are needed"},
      {"add.u32 %r2, {%r3, %r4}, %r5;",
       "an operand that is read must be one register or value"},
      {"add.u32 %r2, _, %r5;",
       "an operand that is read must be one register or value"},
      {"add.u32 5, %r2, %r3;",
       "an operand that is written must be a register or '_'"},
      {"add.u32 %r2+4, %r2, %r3;",
       "an operand that is written must be a register or '_'"},
  };
  for (const Case &c : cases) {
    TestDevice device;
    std::string error = device.error(makeModule(0, std::string(c.line) + "\n"),
                                     {}, {32, 1, 1}, {});
    EXPECT_NE(error.find(c.message), std::string::npos)
        << c.line << "\ngave: " << error;
  }
}

} // namespace
