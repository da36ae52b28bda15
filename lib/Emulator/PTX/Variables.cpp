//===- Variables.cpp - Variables and their initializers -------------------===//

#include "Names.h"
#include "Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

static constexpr uint64_t maximumVariableBytes = uint64_t(1) << 40;

bool Parser::appendInitializer(Variable &variable, uint64_t &offset,
                               uint64_t value, const Token &at) {
  unsigned bytes = getBytes(variable.type);
  // Zeros need no storage, so a long array of them costs nothing.
  if (value != 0) {
    if (offset > (uint64_t(1) << 30))
      return fail(at, "initial values reach over 2^30 bytes");
    if (variable.initializer.size() < offset + bytes)
      variable.initializer.resize(offset + bytes);
    for (unsigned i = 0; i < bytes && i < 8; ++i)
      variable.initializer[offset + i] = value >> (8 * i);
  }
  offset += bytes;
  return false;
}

bool Parser::parseRelocation(Variable &variable, uint64_t &offset,
                             std::optional<uint64_t> mask) {
  Relocation relocation;
  relocation.offset = offset;
  unsigned bytes = getBytes(variable.type);
  relocation.size = bytes;
  if (mask) {
    unsigned shift = *mask ? llvm::countr_zero(*mask) : 0;
    if (bytes != 1 || shift % 8 || *mask >> shift != 0xFF)
      return fail(token, "a masked address must be one byte, 0xFF << 8*N");
    relocation.shift = shift;
  } else if (bytes < 4) {
    return fail(token, llvm::formatv("an address does not fit .{0}",
                                     stringify(variable.type)));
  }
  unsigned parentheses = 0;
  while (true) {
    if (token.isWord("generic")) {
      relocation.generic = true;
      if (advance())
        return true;
      if (!token.isPunctuation("("))
        return fail(token, "expected '(' after generic");
    }
    if (!consumeIf("("))
      break;
    if (++parentheses > 8)
      return fail(token, "too many parentheses around an address");
  }
  Token name = token;
  if (!token.is(Token::Word))
    return fail(token, llvm::formatv("expected a name or a value, found '{0}'",
                                     token.text));
  std::optional<ScopeEntry> local;
  if (!scopes.empty()) {
    auto it = scopes.back().entries.find(name.text);
    if (it != scopes.back().entries.end() &&
        it->second.symbol == SymbolKind::ModuleVariable)
      local = it->second;
  }
  if (local) {
    relocation.index = local->index;
  } else if (auto it = module.variableIndex.find(name.text);
             it != module.variableIndex.end()) {
    relocation.index = it->second;
  } else if (auto it = module.functionIndex.find(name.text);
             it != module.functionIndex.end()) {
    relocation.symbol = SymbolKind::Function;
    relocation.index = it->second;
  } else {
    return fail(name, llvm::formatv("'{0}' is not declared", name.text));
  }
  if (advance())
    return true;
  // The addend may stand inside the parentheses or after them.
  do {
    if (token.isPunctuation("+") || token.isPunctuation("-")) {
      int64_t addend;
      if (parseConstant(addend))
        return true;
      relocation.addend += static_cast<uint64_t>(addend);
    }
    if (!parentheses)
      break;
    if (expect(")", "after an address"))
      return true;
    --parentheses;
  } while (true);
  variable.relocations.push_back(relocation);
  offset += bytes;
  return false;
}

bool Parser::parseInitializerValue(Variable &variable, uint64_t &offset) {
  Token at = token;
  unsigned bytes = getBytes(variable.type);
  if (offset + bytes > variable.size)
    return fail(at,
                llvm::formatv("more values than the {0} bytes of '{1}' hold",
                              variable.size, variable.name));
  bool isNegative = false;
  if (token.isPunctuation("-")) {
    // A minus belongs to an integer expression unless a float follows.
    Lexer ahead = lexer;
    if (ahead.next().is(Token::Float)) {
      isNegative = true;
      if (advance())
        return true;
    }
  }
  if (token.is(Token::Float)) {
    uint64_t bits = token.value;
    if (isNegative)
      bits ^= uint64_t(1) << (token.floatBits - 1);
    uint64_t value;
    if (!convertFloat(bits, token.floatBits, variable.type, value))
      return fail(at, llvm::formatv("a float literal does not initialize .{0}",
                                    stringify(variable.type)));
    return advance() || appendInitializer(variable, offset, value, at);
  }
  if (token.is(Token::Word) && token.text != "WARP_SZ")
    return parseRelocation(variable, offset, std::nullopt);
  int64_t value;
  if (parseConstant(value))
    return true;
  if (token.isPunctuation("("))
    return parseRelocation(variable, offset, static_cast<uint64_t>(value));
  if (bytes < 8) {
    // Either reading of the element type's sign may have been meant.
    int64_t limit = int64_t(1) << (8 * bytes);
    if (value >= limit || value < -(limit / 2))
      return fail(at, llvm::formatv("{0} does not fit .{1}", value,
                                    stringify(variable.type)));
  }
  return appendInitializer(variable, offset, value, at);
}

bool Parser::parseInitializerList(Variable &variable,
                                  llvm::ArrayRef<uint64_t> dims,
                                  uint64_t &offset) {
  // An inner list that is too short leaves zeros behind it.
  uint64_t span = getBytes(variable.type);
  for (uint64_t length : dims.drop_front())
    span *= length;
  while (!token.isPunctuation("}")) {
    uint64_t start = offset;
    if (token.isPunctuation("{")) {
      if (dims.size() < 2)
        return fail(token, "more braces than the array has dimensions");
      if (advance() ||
          parseInitializerList(variable, dims.drop_front(), offset))
        return true;
      if (offset > start + span)
        return fail(token, "more values than the inner array holds");
      offset = start + span;
    } else if (parseInitializerValue(variable, offset)) {
      return true;
    }
    if (!consumeIf(","))
      break;
  }
  return expect("}", "after the values of an array");
}

bool Parser::parseInitializer(Variable &variable,
                              const Declarator &declarator) {
  Token at = token;
  if (variable.space != Space::Global && variable.space != Space::Const)
    return fail(token, "only .global and .const variables have initial values");
  if (advance())
    return true;
  variable.hasInitializer = true;
  uint64_t offset = 0;
  bool isOpen = declarator.hasUnknownLength;
  if (isOpen)
    variable.size = maximumVariableBytes;
  if (token.isPunctuation("{")) {
    if (declarator.dims.empty())
      return fail(token, "a scalar has no list of initial values");
    if (advance() || parseInitializerList(variable, declarator.dims, offset))
      return true;
  } else if (parseInitializerValue(variable, offset)) {
    return true;
  }
  if (isOpen)
    variable.size = offset;
  if (variable.initializer.size() > variable.size)
    return fail(at, "more initial values than the variable holds");
  return false;
}

bool Parser::parseVariables(const Linkage &linkage, Function *function) {
  Token at = token;
  std::optional<Space> space;
  if (token.isDirective(".global"))
    space = Space::Global;
  else if (token.isDirective(".const"))
    space = Space::Const;
  else if (token.isDirective(".shared") || token.isDirective(".shared::cta"))
    space = Space::Shared;
  else if (token.isDirective(".local") && function)
    space = Space::Local;
  else if (token.isDirective(".param") && function)
    space = Space::Param;
  if (!space)
    return fail(token, llvm::formatv(
                           "unknown directive '{0}'; {1}", token.text,
                           function ? "in a body .reg, .local, .shared, "
                                      ".global, .const, .param, .pragma, .loc "
                                      "and .branchtargets are accepted"
                                    : "at module scope .entry, .func, .global, "
                                      ".const, .shared, .alias, .file, "
                                      ".section and .pragma are accepted"));
  if (advance())
    return true;

  uint64_t alignment = 0;
  unsigned width = 1;
  while (token.is(Token::Directive)) {
    if (token.text == ".align") {
      if (parseAlignment(alignment))
        return true;
    } else if (token.text == ".v2" || token.text == ".v4") {
      width = token.text[2] - '0';
      if (advance())
        return true;
    } else if (token.text == ".attribute") {
      if (advance() || skipParentheses())
        return true;
    } else {
      break;
    }
  }
  Type type;
  if (parseType(type))
    return true;
  if (type == Type::Pred)
    return fail(at, "predicates live in registers only");

  do {
    if (token.isPunctuation(",") && advance())
      return true;
    Declarator declarator;
    if (parseDeclarator(declarator))
      return true;
    Variable variable;
    variable.name = declarator.name;
    variable.space = *space;
    variable.type = type;
    variable.size = getBytes(type) * width * declarator.elements;
    variable.alignment =
        alignment ? alignment : std::max(1u, getBytes(type) * width);
    variable.isExtern = linkage.isExtern;
    variable.isVisible = linkage.isVisible;
    variable.isWeak = linkage.isWeak;
    variable.line = declarator.at.line;
    if (variable.size > maximumVariableBytes)
      return fail(declarator.at, "the variable is larger than 2^40 bytes");
    if (width > 1)
      declarator.dims.push_back(width);
    // A module's variable may have its own address in its initial value.
    uint32_t index = 0;
    bool isNew = false;
    if (!function) {
      auto [it, isInserted] = module.variableIndex.try_emplace(
          declarator.name, module.variables.size());
      index = it->second;
      isNew = isInserted;
      if (isNew)
        module.variables.push_back(variable);
    }
    if (token.isPunctuation("=")) {
      if (parseInitializer(variable, declarator))
        return true;
    } else if (declarator.hasUnknownLength && !variable.isExtern) {
      return fail(declarator.at, "only .extern arrays have no length");
    }

    bool isFrame = *space == Space::Local || *space == Space::Param;
    if (isFrame) {
      uint64_t &bytes = *space == Space::Local ? function->localBytes
                                               : scopes.back().callParamBytes;
      variable.frameOffset = llvm::alignTo(bytes, variable.alignment);
      bytes = variable.frameOffset + variable.size;
      if (bytes > (uint64_t(1) << 30))
        return fail(declarator.at, "a function's frame has at most 2^30 bytes");
      if (*space == Space::Local)
        function->localAlignment =
            std::max(function->localAlignment, variable.alignment);
      else
        function->callParamBytes = std::max(function->callParamBytes, bytes);
      ScopeEntry entry;
      entry.kind = ScopeEntry::Symbol;
      entry.symbol =
          *space == Space::Local ? SymbolKind::Local : SymbolKind::CallParam;
      entry.index = function->variables.size();
      function->variables.push_back(std::move(variable));
      if (declareName(declarator.name, entry, declarator.at))
        return true;
      continue;
    }
    if (function) {
      ScopeEntry entry;
      entry.kind = ScopeEntry::Symbol;
      entry.symbol = SymbolKind::ModuleVariable;
      entry.index = module.variables.size();
      module.variables.push_back(std::move(variable));
      if (declareName(declarator.name, entry, declarator.at))
        return true;
      continue;
    }
    Variable &known = module.variables[index];
    if (!isNew && !known.isExtern && !variable.isExtern)
      return fail(
          declarator.at,
          llvm::formatv("variable '{0}' is defined twice", declarator.name));
    if (isNew || known.isExtern)
      known = std::move(variable);
  } while (token.isPunctuation(","));
  return expect(";", "after a variable");
}
