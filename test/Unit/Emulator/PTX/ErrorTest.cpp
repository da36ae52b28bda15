//===- ErrorTest.cpp - What the parser rejects ----------------------------===//

#include "Parse.h"
#include "llvm/ADT/StringExtras.h"

using namespace kvq::emu::ptx;

TEST(PTXError, MessagesNamePlaceAndWhatIsAccepted) {
  struct Case {
    const char *body;
    const char *message;
  } cases[] = {
      {"foo.u32 %r1;", "unknown instruction 'foo.u32'"},
      {"addd.u32 %r1, %r2, %r3;", "did you mean 'add'"},
      {"ld.globl.b32 %r1, [%rd1];", "unknown modifier '.globl' of 'ld'"},
      {"ld.globl.b32 %r1, [%rd1];", "did you mean '.global'"},
      {"mov.u32 %q1, 1;", "'%q1' is not declared"},
      {"mov.u32 %r300, 1;", "'%r300' is not declared"},
      {"bra NOWHERE;", "label 'NOWHERE' is not in scope"},
      {"{ L: ret; } bra L;", "label 'L' is not in scope"},
      {"L: ret; L: ret;", "label 'L' is defined twice"},
      {"@%r1 bra L; L:", "expected a predicate register after '@'"},
      {"mov.u32 %r1, 1", "expected ',' or ';'"},
      {"mov.u32 %r1, %r2 %r3;", "expected ',' or ';'"},
      {"mov.u32 %r1, ;", "expected an operand of 'mov'"},
      {"ld.global.b32 %r1, [%rd1;", "expected ']' after an address"},
      {"mov.b64 %rd1, {%r1, %r2;", "expected '}'"},
      {"add.f16x2 %r1, %r2, 1.5;", "no operand of type .f16x2"},
      {"mov.u64 %rd1, 1/0;", "division by zero"},
      {"mov.u64 %rd1, 0x10000000000000000;", "more than 64 bits"},
      {"call nothing;", "'nothing' is not declared"},
      {"call %rd1, (), q;", "'q' is no .callprototype"},
      {"call %rd1;", "must name its .callprototype"},
      {".bogus .b32 x;", "unknown directive '.bogus'"},
      {".shared .b32 x[];", "only .extern arrays have no length"},
      {".shared .b32 x = 4;", "only .global and .const variables have"},
      {".reg .b32 %laneid;", "cannot be a register's name"},
      {".reg .b32 a, a;", "'a' is declared twice"},
      {"brx.idx %r1, T;", "expected a label of .branchtargets"},
      {"mov.u32 %r1, \"text\";", "expected an operand"},
      {"add.u32 %r1, %r2;", "'add.u32' has 2 operands and needs 3"},
      {"bar.sync;", "'bar.sync' has 0 operands and needs 1"},
      {"mov.u32 %r1, %r2+;", "expected"},
      {"selp.b32 %r1, %r2, %r3, %p1+1;", "expected ',' or ';'"},
      {"/* no end", "comment without an end"},
  };
  for (const Case &c : cases) {
    std::string message = parseError(inKernel(c.body));
    EXPECT_NE(message.find(c.message), std::string::npos)
        << c.body << "\ngave: " << message;
    EXPECT_TRUE(llvm::StringRef(message).starts_with("test.ptx:")) << message;
  }
}

TEST(PTXError, LineAndColumnAndSourceLine) {
  std::string message = parseError(".entry k() {\n  ret;\n    bad.op 1;\n}\n");
  EXPECT_EQ(message, "test.ptx:6:5: unknown instruction 'bad.op' (did you mean "
                     "'mad'?)\n  bad.op 1;");
}

TEST(PTXError, ModuleScope) {
  struct Case {
    const char *text;
    const char *message;
  } cases[] = {
      {".entry k() {", "the body of 'k' has no end"},
      {".entry k();", "expected '{' with the kernel's body"},
      {".entry k() { }\n.entry k() { }", "function 'k' is defined twice"},
      {".global .b32 x;\n.global .b32 x;", "variable 'x' is defined twice"},
      {".global .b8 x[2] = {1, 2, 3};", "more values than the 2 bytes"},
      {".global .b8 x = 256;", "256 does not fit .b8"},
      {".global .u64 x = y;", "'y' is not declared"},
      {".global .u16 x = x;", "does not fit .u16"},
      {".global .b8 x[0x10000000000];\n.global .b64 y[0x10000000000];",
       "larger than 2^40 bytes"},
      {".global .align 3 .b32 x;", "must be a power of two"},
      {".func f(.param .b8 x[9999999]) { }", "at most 2^20 bytes"},
      {"hello", "expected a directive at module scope"},
      {".section .debug { ", "section without an end"},
  };
  for (const Case &c : cases) {
    std::string message = parseError(c.text);
    EXPECT_NE(message.find(c.message), std::string::npos)
        << c.text << "\ngave: " << message;
  }
}

TEST(PTXError, Header) {
  auto error = [](llvm::StringRef text) {
    auto module = parseModule(text, "x");
    return module ? std::string() : toString(module.takeError());
  };
  EXPECT_NE(error("").find("no .version"), std::string::npos);
  EXPECT_NE(error(".version 5.0").find("PTX 5.0 is not supported"),
            std::string::npos);
  EXPECT_NE(error(".version 7.0\n.address_size 32").find("only .address_size"),
            std::string::npos);
  EXPECT_EQ(error(".version 7.0\n.target sm_80, debug\n"), "");
  // A text that a C interface passes may end in NULs.
  EXPECT_EQ(error(llvm::StringRef(".version 7.0\n\0\0", 16)), "");
}

TEST(PTXError, DepthIsBounded) {
  EXPECT_NE(
      parseError(inKernel(std::string(100000, '{'))).find("nested deeper"),
      std::string::npos);
  EXPECT_NE(parseError(inKernel("mov.u32 %r1, " + std::string(100000, '(')))
                .find("nested deeper"),
            std::string::npos);
  EXPECT_NE(parseError(inKernel("mov.u32 %r1, " + std::string(100000, '~')))
                .find("nested deeper"),
            std::string::npos);
  EXPECT_NE(parseError(inKernel("mov.b32 %r1, " + std::string(1000, '{')))
                .find("nested"),
            std::string::npos);
  std::string initializer = ".global .b8 x[1] = " + std::string(100000, '{');
  EXPECT_NE(parseError(initializer).find("more braces"), std::string::npos);
}

TEST(PTXError, EveryPrefixOfAModuleIsHandled) {
  std::string text = withHeader(
      ".global .u64 t[2] = {generic(t)+8, 0xFF};\n"
      ".func (.param .b32 r) f(.param .b32 a) { ret; }\n" +
      inKernel("ts: .branchtargets A;\n@!%p1 brx.idx %r1, ts;\n"
               "A: { .reg .v2 .b32 v; .param .b32 q; .param .b32 w;\n"
               "call (q), f, (w); ld.global.v2.b32 v, [%rd1+(4*2)]; }\n"
               "setp.lt.f32 %p1|%p2, %f1, -1.5;"));
  // The whole parses; a part may or may not, but never crashes.
  auto whole = parseModule(text, "x");
  ASSERT_TRUE(!!whole) << toString(whole.takeError());
  for (size_t length = 0; length < text.size(); ++length) {
    auto module = parseModule(llvm::StringRef(text).take_front(length), "x");
    if (!module)
      EXPECT_FALSE(toString(module.takeError()).empty());
  }
}
