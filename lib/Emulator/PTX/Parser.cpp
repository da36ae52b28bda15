//===- Parser.cpp - Module scope of PTX -----------------------------------===//

#include "Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

bool Parser::failAt(uint32_t line, uint32_t column, size_t begin,
                    const llvm::Twine &text) {
  if (!message.empty())
    return true;
  message = llvm::formatv("{0}:{1}:{2}: {3}", module.fileName, line, column,
                          text.str());
  // The line shows which instruction is meant; a very long one is cut.
  StringRef source = lexer.lineAt(begin).trim();
  if (!source.empty()) {
    message += "\n  ";
    for (char c : source.take_front(200))
      message += llvm::isPrint(c) || c == '\t' ? c : '?';
    if (source.size() > 200)
      message += "...";
  }
  return true;
}

bool Parser::fail(const Token &at, const llvm::Twine &text) {
  return failAt(at.line, at.column, at.begin, text);
}

bool Parser::advance() {
  token = lexer.next();
  if (token.is(Token::Error))
    return fail(token, token.text);
  return false;
}

bool Parser::consumeIf(StringRef punctuation) {
  if (!token.isPunctuation(punctuation))
    return false;
  token = lexer.next();
  return true;
}

bool Parser::expect(StringRef punctuation, StringRef where) {
  if (!token.isPunctuation(punctuation)) {
    if (token.is(Token::Error))
      return fail(token, token.text);
    return fail(token, llvm::formatv("expected '{0}' {1}, found {2}",
                                     punctuation, where,
                                     token.is(Token::End)
                                         ? "the end of the text"
                                         : "'" + token.text.str() + "'"));
  }
  return advance();
}

bool Parser::skipStatement() {
  while (!token.is(Token::End) && !token.isPunctuation(";"))
    if (advance())
      return true;
  return expect(";", "at the end of a statement");
}

bool Parser::skipParentheses() {
  unsigned depth = 0;
  do {
    if (token.is(Token::End))
      return fail(token, "parentheses without an end");
    if (token.isPunctuation("("))
      ++depth;
    else if (token.isPunctuation(")") && depth > 0)
      --depth;
    if (advance())
      return true;
  } while (depth > 0);
  return false;
}

bool Parser::parseVersion() {
  Token at = token;
  if (advance())
    return true;
  // `9.0` reads as a decimal number.
  unsigned major = 0, minor = 0;
  auto [majorText, minorText] = token.text.split('.');
  if (!token.is(Token::Float) || majorText.getAsInteger(10, major) ||
      minorText.getAsInteger(10, minor) || minor > 9)
    return fail(token, "expected MAJOR.MINOR after .version");
  if (major < 6 || major > 9)
    return fail(at, llvm::formatv("PTX {0}.{1} is not supported, 6.0 to 9.9 is",
                                  major, minor));
  module.version = 10 * major + minor;
  return advance();
}

bool Parser::parseTarget() {
  if (advance())
    return true;
  if (!token.is(Token::Word))
    return fail(token, "expected a target such as sm_80 after .target");
  do {
    if (token.isPunctuation(",") && advance())
      return true;
    if (!token.is(Token::Word))
      return fail(token, "expected a target or an option such as 'debug'");
    if (token.text.starts_with("sm_") || token.text.starts_with("compute_"))
      module.target = token.text.str();
    if (advance())
      return true;
  } while (token.isPunctuation(","));
  return false;
}

bool Parser::parseSection() {
  Token at = token;
  // Names of sections begin with a dot, but tools print others too.
  do {
    if (advance())
      return true;
  } while (token.is(Token::Directive) || token.is(Token::Word));
  if (!token.isPunctuation("{"))
    return fail(token, "expected '{' after .section NAME");
  if (!lexer.skipBraces())
    return fail(at, "section without an end");
  return advance();
}

bool Parser::parseAlias() {
  if (advance())
    return true;
  Token alias = token;
  if (!token.is(Token::Word))
    return fail(token, "expected the alias's name after .alias");
  if (advance() || expect(",", "after an alias's name"))
    return true;
  auto target = module.functionIndex.find(token.text);
  if (target == module.functionIndex.end())
    return fail(token, "expected the name of a function that is declared");
  // The declaration that PTX wants before an alias may have been called
  // already: those calls are redirected at the end.
  uint32_t index = target->second;
  auto declared = module.functionIndex.find(alias.text);
  if (declared != module.functionIndex.end())
    aliases.push_back({declared->second, index});
  module.functionIndex[alias.text] = index;
  if (advance())
    return true;
  return expect(";", "after .alias");
}

bool Parser::parseLinkageAndRest() {
  Linkage linkage;
  while (true) {
    if (token.isDirective(".extern"))
      linkage.isExtern = true;
    else if (token.isDirective(".visible"))
      linkage.isVisible = true;
    else if (token.isDirective(".weak") || token.isDirective(".common"))
      linkage.isWeak = true;
    else
      break;
    if (advance())
      return true;
  }
  if (token.isDirective(".entry") || token.isDirective(".func"))
    return parseFunction(token.isDirective(".entry"), linkage);
  return parseVariables(linkage, nullptr);
}

bool Parser::parseTopLevel() {
  if (token.isPunctuation(";"))
    return advance();
  if (!token.is(Token::Directive))
    return fail(token, llvm::formatv("expected a directive at module scope, "
                                     "found '{0}'",
                                     token.text));
  if (token.text == ".version")
    return parseVersion();
  if (token.text == ".target")
    return parseTarget();
  if (token.text == ".address_size") {
    uint64_t size;
    Token at = token;
    if (advance() || parseUnsigned(size, 64, "the address size"))
      return true;
    if (size != 64)
      return fail(at, "only .address_size 64 is supported");
    return false;
  }
  if (token.text == ".file" || token.text == ".loc") {
    lexer.skipLine(token);
    return advance();
  }
  if (token.text == ".section")
    return parseSection();
  if (token.text == ".pragma")
    return skipStatement();
  if (token.text == ".alias")
    return parseAlias();
  return parseLinkageAndRest();
}

llvm::Error Parser::resolveAliases() {
  for (auto [from, to] : aliases) {
    if (from == to)
      continue;
    auto redirect = [from = from, to = to](Operand &operand) {
      if (operand.symbol == SymbolKind::Function && operand.index == from)
        operand.index = to;
    };
    for (Function &function : module.functions) {
      for (Instruction &instruction : function.instructions)
        llvm::for_each(instruction.operands, redirect);
      llvm::for_each(function.operandPool, redirect);
      for (std::vector<uint32_t> &targets : function.callTargets)
        llvm::replace(targets, from, to);
    }
    for (Variable &variable : module.variables)
      for (Relocation &relocation : variable.relocations)
        if (relocation.symbol == SymbolKind::Function &&
            relocation.index == from)
          relocation.index = to;
  }
  return llvm::Error::success();
}

llvm::Error Parser::parse() {
  if (!advance())
    while (!token.is(Token::End) && message.empty())
      if (parseTopLevel())
        break;
  if (message.empty() && module.version == 0)
    failAt(1, 1, 0, "the text has no .version, so it is no PTX module");
  if (!message.empty())
    return llvm::createStringError(message);
  return resolveAliases();
}

llvm::Expected<std::unique_ptr<Module>>
kvq::emu::ptx::parseModule(StringRef text, StringRef name) {
  auto module = std::make_unique<Module>();
  module->fileName = name.str();
  module->buffer = llvm::MemoryBuffer::getMemBufferCopy(text, name);
  if (llvm::Error error = Parser(*module).parse())
    return std::move(error);
  return std::move(module);
}
