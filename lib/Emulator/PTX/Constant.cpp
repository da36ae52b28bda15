//===- Constant.cpp - Constant expressions and literals -------------------===//

#include "Parser.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace kvq::emu::ptx;
using llvm::APFloat;
using llvm::StringRef;

// Operators nest as deep as the text does; this is far beyond what is printed.
static constexpr unsigned maximumDepth = 64;

bool Parser::parseConstantUnary(int64_t &value) {
  llvm::SaveAndRestore depth(constantDepth, constantDepth + 1);
  if (constantDepth > maximumDepth)
    return fail(token, "constant expression nested deeper than 64 levels");
  for (StringRef op : {"-", "+", "~", "!"}) {
    if (!token.isPunctuation(op))
      continue;
    if (advance() || parseConstantUnary(value))
      return true;
    uint64_t bits = value;
    value = op == "-" ? 0 - bits : op == "~" ? ~bits : op == "!" ? !bits : bits;
    return false;
  }
  if (consumeIf("(")) {
    // Casts to .s64 and .u64 change no bit.
    if (token.isDirective(".s64") || token.isDirective(".u64"))
      return advance() || expect(")", "after a cast's type") ||
             parseConstantUnary(value);
    return parseConstant(value) || expect(")", "in a constant expression");
  }
  if (token.isWord("WARP_SZ")) {
    value = 32;
    return advance();
  }
  if (!token.is(Token::Integer))
    return fail(token,
                llvm::formatv("expected an integer, found '{0}'", token.text));
  value = static_cast<int64_t>(token.value);
  return advance();
}

static unsigned getPrecedence(const Token &token) {
  if (!token.is(Token::Punctuation))
    return 0;
  return llvm::StringSwitch<unsigned>(token.text)
      .Cases({"*", "/", "%"}, 10)
      .Cases({"+", "-"}, 9)
      .Cases({"<<", ">>"}, 8)
      .Cases({"<", ">", "<=", ">="}, 7)
      .Cases({"==", "!="}, 6)
      .Case("&", 5)
      .Case("^", 4)
      .Case("|", 3)
      .Case("&&", 2)
      .Case("||", 1)
      .Default(0);
}

bool Parser::parseConstant(int64_t &value, unsigned minimumPrecedence) {
  llvm::SaveAndRestore depth(constantDepth, constantDepth + 1);
  if (constantDepth > maximumDepth)
    return fail(token, "constant expression nested deeper than 64 levels");
  if (parseConstantUnary(value))
    return true;
  while (unsigned precedence = getPrecedence(token)) {
    if (precedence <= minimumPrecedence)
      return false;
    Token op = token;
    int64_t right;
    if (advance() || parseConstant(right, precedence))
      return true;
    uint64_t a = value, b = right;
    if ((op.text == "/" || op.text == "%") && b == 0)
      return fail(op, "division by zero in a constant expression");
    // The quotient of the smallest integer and -1 does not exist.
    bool overflows = value == INT64_MIN && right == -1;
    value = llvm::StringSwitch<int64_t>(op.text)
                .Case("*", a * b)
                .Case("/", b == 0 || overflows ? a : value / right)
                .Case("%", b == 0 || overflows ? 0 : value % right)
                .Case("+", a + b)
                .Case("-", a - b)
                .Case("<<", b < 64 ? a << b : 0)
                .Case(">>", value >> (b < 64 ? b : 63))
                .Case("<", value < right)
                .Case(">", value > right)
                .Case("<=", value <= right)
                .Case(">=", value >= right)
                .Case("==", a == b)
                .Case("!=", a != b)
                .Case("&", a & b)
                .Case("^", a ^ b)
                .Case("|", a | b)
                .Case("&&", a && b)
                .Default(a || b);
  }
  return false;
}

bool Parser::parseUnsigned(uint64_t &value, uint64_t limit,
                           const llvm::Twine &what) {
  Token at = token;
  int64_t constant;
  if (parseConstant(constant))
    return true;
  value = static_cast<uint64_t>(constant);
  if (value > limit)
    return fail(at, llvm::formatv("{0} must be at most {1}, found {2}", what,
                                  limit, value));
  return false;
}

bool Parser::convertFloat(uint64_t bits, unsigned floatBits, Type type,
                          uint64_t &result) {
  const llvm::fltSemantics *to = nullptr;
  switch (type) {
  case Type::F16:
    to = &APFloat::IEEEhalf();
    break;
  case Type::BF16:
    to = &APFloat::BFloat();
    break;
  case Type::F64:
  case Type::B64:
  case Type::U64:
  case Type::S64:
    to = &APFloat::IEEEdouble();
    break;
  case Type::F32:
  case Type::TF32:
  case Type::B32:
  case Type::U32:
  case Type::S32:
  case Type::None:
    to = &APFloat::IEEEsingle();
    break;
  default:
    return false;
  }
  const llvm::fltSemantics &from =
      floatBits == 32 ? APFloat::IEEEsingle() : APFloat::IEEEdouble();
  // A literal in its own format keeps every bit, of NaNs too.
  if (&from == to) {
    result = bits;
    return true;
  }
  APFloat value(from, llvm::APInt(floatBits, bits));
  bool losesInfo;
  value.convert(*to, APFloat::rmNearestTiesToEven, &losesInfo);
  result = value.bitcastToAPInt().getZExtValue();
  return true;
}
