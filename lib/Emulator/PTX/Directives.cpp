//===- Directives.cpp - Functions, parameters, registers ------------------===//

#include "Names.h"
#include "Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

// Beyond any device's memory, and far from overflow.
static constexpr uint64_t maximumVariableBytes = uint64_t(1) << 40;

bool Parser::parseAlignment(uint64_t &alignment) {
  Token at = token;
  if (advance() || parseUnsigned(alignment, 1 << 20, "an alignment"))
    return true;
  if (!llvm::isPowerOf2_64(alignment))
    return fail(at, "an alignment must be a power of two");
  return false;
}

bool Parser::parseType(Type &type) {
  std::optional<Type> found;
  if (token.is(Token::Directive))
    found = findType(token.text.drop_front());
  if (!found)
    return fail(
        token,
        llvm::formatv("expected a type such as .b32, found '{0}'", token.text));
  type = *found;
  return advance();
}

bool Parser::parseDeclarator(Declarator &declarator) {
  declarator.at = token;
  if (!token.is(Token::Word))
    return fail(token,
                llvm::formatv("expected a name, found '{0}'", token.text));
  declarator.name = token.text.str();
  if (advance())
    return true;
  while (consumeIf("[")) {
    uint64_t length = 0;
    if (token.isPunctuation("]"))
      declarator.hasUnknownLength = true;
    else if (parseUnsigned(length, maximumVariableBytes, "an array's length"))
      return true;
    if (expect("]", "after an array's length"))
      return true;
    declarator.dims.push_back(length);
    bool overflows = false;
    declarator.elements =
        llvm::SaturatingMultiply(declarator.elements, length, &overflows);
    if (overflows || declarator.elements > maximumVariableBytes)
      return fail(declarator.at, "the array is larger than 2^40 bytes");
    if (declarator.dims.size() > 16)
      return fail(declarator.at, "an array has at most 16 dimensions");
  }
  return false;
}

bool Parser::declareName(StringRef name, ScopeEntry entry, const Token &at) {
  if (name == "_")
    return false;
  if (!scopes.back().entries.try_emplace(name, entry).second)
    return fail(at,
                llvm::formatv("'{0}' is declared twice in this scope", name));
  return false;
}

uint32_t Parser::addRegister(Function &function, StringRef name, Type type) {
  function.registers.push_back({name.str(), type});
  return function.registers.size() - 1;
}

bool Parser::parseRegisters(Function &function) {
  if (advance())
    return true;
  unsigned width = 1;
  if (token.isDirective(".v2") || token.isDirective(".v4") ||
      token.isDirective(".v8")) {
    width = token.text[2] - '0';
    if (advance())
      return true;
  }
  Type type;
  if (parseType(type))
    return true;
  do {
    if (token.isPunctuation(",") && advance())
      return true;
    Token name = token;
    if (!token.is(Token::Word))
      return fail(token, "expected a register's name");
    if (findSpecialRegister(name.text) || name.text == "_")
      return fail(
          name, llvm::formatv("'{0}' cannot be a register's name", name.text));
    if (advance())
      return true;
    if (consumeIf("<")) {
      // Precedence 7: the closing bracket is no comparison.
      int64_t count;
      if (parseConstant(count, 7) || expect(">", "after a register count"))
        return true;
      if (count < 0 || count > (1 << 24))
        return fail(name, "a function has at most 2^24 registers");
      if (width != 1)
        return fail(name, "numbered vector registers are not supported");
      scopes.back().ranges[name.text] = {type, static_cast<uint64_t>(count)};
      continue;
    }
    ScopeEntry entry;
    entry.kind = width == 1 ? ScopeEntry::Register : ScopeEntry::VectorRegister;
    entry.count = width;
    entry.index = function.registers.size();
    for (unsigned i = 0; i < width; ++i)
      addRegister(function, name.text, type);
    if (declareName(name.text, entry, name))
      return true;
  } while (token.isPunctuation(","));
  return expect(";", "after .reg");
}

/// One of `.param` or `.reg`, its type, its name.
bool Parser::parseParameter(Parameter &parameter, bool isKernel,
                            Function *function) {
  if (token.isDirective(".reg") && !isKernel)
    parameter.isRegister = true;
  else if (!token.isDirective(".param"))
    return fail(token,
                isKernel ? "expected .param" : "expected .param or .reg");
  if (advance())
    return true;
  uint64_t alignment = 0;
  if (token.isDirective(".align") && parseAlignment(alignment))
    return true;
  if (parseType(parameter.type))
    return true;
  // What a pointer points to has no bearing on the parameter.
  if (token.isDirective(".ptr")) {
    if (advance())
      return true;
    while (token.is(Token::Directive)) {
      uint64_t pointee;
      if (token.text == ".align" ? parseAlignment(pointee) : advance())
        return true;
    }
  }
  Declarator declarator;
  if (parseDeclarator(declarator))
    return true;
  parameter.name = declarator.name;
  uint64_t bytes = getBytes(parameter.type);
  parameter.size = bytes * declarator.elements;
  parameter.alignment = alignment ? alignment : std::max<uint64_t>(bytes, 1);
  if (parameter.size > (1 << 20))
    return fail(declarator.at, "a parameter has at most 2^20 bytes");
  if (parameter.isRegister && function)
    parameter.registerIndex =
        addRegister(*function, parameter.name, parameter.type);
  return false;
}

bool Parser::parseParameterList(std::vector<Parameter> &list, bool isKernel,
                                Function *function, uint64_t &bytes) {
  if (advance())
    return true;
  bytes = 0;
  while (!token.isPunctuation(")")) {
    if (!list.empty() && expect(",", "between parameters"))
      return true;
    Parameter parameter;
    if (parseParameter(parameter, isKernel, function))
      return true;
    if (!parameter.isRegister) {
      parameter.offset = llvm::alignTo(bytes, parameter.alignment);
      bytes = parameter.offset + parameter.size;
    }
    list.push_back(std::move(parameter));
  }
  return advance();
}

bool Parser::parsePrototype(Prototype &prototype) {
  uint64_t bytes;
  if (advance())
    return true;
  if (token.isPunctuation("(") &&
      parseParameterList(prototype.results, false, nullptr, bytes))
    return true;
  if (!token.is(Token::Word))
    return fail(token, "expected '_' in .callprototype");
  if (advance())
    return true;
  if (token.isPunctuation("(") &&
      parseParameterList(prototype.parameters, false, nullptr, bytes))
    return true;
  // `.noreturn` and what the calling convention keeps.
  while (!token.isPunctuation(";") && !token.is(Token::End))
    if (advance())
      return true;
  return expect(";", "after .callprototype");
}

bool Parser::parseDims(std::array<uint32_t, 3> &dims, const Token &directive) {
  dims = {1, 1, 1};
  for (unsigned i = 0; i < 3; ++i) {
    uint64_t value;
    if (parseUnsigned(value, UINT32_MAX,
                      llvm::Twine("the size after ") + directive.text))
      return true;
    dims[i] = static_cast<uint32_t>(value);
    if (!consumeIf(","))
      break;
  }
  return false;
}

bool Parser::parseFunctionDirectives(Function &function) {
  while (token.is(Token::Directive)) {
    Token at = token;
    StringRef name = token.text;
    if (advance())
      return true;
    uint64_t value;
    if (name == ".reqntid") {
      if (parseDims(function.requiredBlock, at))
        return true;
    } else if (name == ".maxntid") {
      if (parseDims(function.maximumBlock, at))
        return true;
    } else if (name == ".reqnctapercluster") {
      if (parseDims(function.requiredCluster, at))
        return true;
    } else if (name == ".minnctapersm" || name == ".maxnctapersm" ||
               name == ".maxnreg" || name == ".maxclusterrank" ||
               name == ".abi_preserve" || name == ".abi_preserve_control") {
      if (parseUnsigned(value, UINT32_MAX, llvm::Twine("the value of ") + name))
        return true;
      if (name == ".minnctapersm")
        function.minimumCTAsPerSM = value;
      else if (name == ".maxnreg")
        function.maximumRegisters = value;
      else if (name == ".maxclusterrank")
        function.maximumClusterRank = value;
    } else if (name == ".explicitcluster") {
      function.explicitCluster = true;
    } else if (name == ".noreturn") {
      function.isNoReturn = true;
    } else if (name == ".pragma") {
      if (skipStatement())
        return true;
    } else if (name != ".blocksareclusters" && name != ".unique") {
      return fail(
          at, llvm::formatv("unknown directive '{0}' of a function; .reqntid, "
                            ".maxntid, .minnctapersm, .maxnreg, .noreturn, "
                            ".reqnctapercluster, .explicitcluster, "
                            ".maxclusterrank and .pragma are accepted",
                            name));
    }
  }
  return false;
}

bool Parser::parseFunction(bool isKernel, const Linkage &linkage) {
  Function function;
  function.isKernel = isKernel;
  function.isVisible = linkage.isVisible;
  function.isWeak = linkage.isWeak;
  scopes.clear();
  scopes.emplace_back();

  if (advance())
    return true;
  // Attributes such as .attribute(.unified(1, 2)) stand before the name.
  while (token.is(Token::Directive)) {
    bool isAttribute = token.text == ".attribute";
    if (token.text == ".noreturn")
      function.isNoReturn = true;
    else if (!isAttribute)
      return fail(
          token,
          llvm::formatv("expected a function's name, found '{0}'", token.text));
    if (advance() || (isAttribute && skipParentheses()))
      return true;
  }
  if (token.isPunctuation("(") && !isKernel &&
      parseParameterList(function.results, false, &function,
                         function.resultBytes))
    return true;
  Token name = token;
  if (!token.is(Token::Word))
    return fail(token, "expected a function's name");
  function.name = name.text.str();
  function.line = name.line;
  if (advance())
    return true;
  if (token.isPunctuation("(") &&
      parseParameterList(function.parameters, isKernel, &function,
                         function.parameterBytes))
    return true;
  auto declare = [&](llvm::ArrayRef<Parameter> list, SymbolKind symbol) {
    for (auto [index, parameter] : llvm::enumerate(list)) {
      ScopeEntry entry;
      entry.kind =
          parameter.isRegister ? ScopeEntry::Register : ScopeEntry::Symbol;
      entry.symbol = symbol;
      entry.index = parameter.isRegister ? parameter.registerIndex
                                         : static_cast<uint32_t>(index);
      if (declareName(parameter.name, entry, name))
        return true;
    }
    return false;
  };
  if (declare(function.results, SymbolKind::Result) ||
      declare(function.parameters, SymbolKind::Parameter) ||
      parseFunctionDirectives(function))
    return true;

  auto [it, isNew] =
      module.functionIndex.try_emplace(function.name, module.functions.size());
  uint32_t index = it->second;
  bool isDefinition = token.isPunctuation("{");
  if (isNew) {
    module.functions.emplace_back();
    module.functions.back().name = function.name;
    module.functions.back().isDeclaration = true;
  } else if (isDefinition && !module.functions[index].isDeclaration) {
    return fail(
        name, llvm::formatv("function '{0}' is defined twice", function.name));
  }
  if (isDefinition) {
    if (advance() || parseBody(function))
      return true;
    module.functions[index] = std::move(function);
    return false;
  }
  if (isKernel)
    return fail(token, "expected '{' with the kernel's body");
  if (isNew) {
    function.isDeclaration = true;
    module.functions[index] = std::move(function);
  }
  return expect(";", "after a function's declaration");
}
