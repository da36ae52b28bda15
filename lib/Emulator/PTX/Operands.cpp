//===- Operands.cpp - Operands of instructions ----------------------------===//

#include "Names.h"
#include "Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

/// The type that a float literal of the instruction is meant in.
static Type getLiteralType(const Instruction &instruction) {
  const Modifiers &mods = instruction.mods;
  switch (instruction.opcode) {
  case Opcode::Cvt:
    return mods.types.empty() ? Type::None : mods.types.back();
  case Opcode::Set:
    return mods.type(1);
  case Opcode::Createpolicy:
    return Type::F32;
  default:
    return mods.type();
  }
}

std::optional<ScopeEntry> Parser::lookUp(Function &function, StringRef name) {
  for (BraceScope &scope : llvm::reverse(scopes)) {
    auto it = scope.entries.find(name);
    if (it != scope.entries.end())
      return it->second;
    if (scope.ranges.empty() || !llvm::isDigit(name.back()))
      continue;
    // The prefix may end in digits itself, so every cut is tried.
    size_t digits = 1;
    while (digits + 1 < name.size() && digits < 9 &&
           llvm::isDigit(name[name.size() - digits - 1]))
      ++digits;
    for (size_t length = digits; length > 0; --length) {
      StringRef number = name.take_back(length);
      auto range = scope.ranges.find(name.drop_back(length));
      uint64_t value;
      if (range == scope.ranges.end() || number.getAsInteger(10, value) ||
          value >= range->second.count || (length > 1 && number[0] == '0'))
        continue;
      ScopeEntry entry;
      entry.kind = ScopeEntry::Register;
      entry.index = addRegister(function, name, range->second.type);
      scope.entries[name] = entry;
      return entry;
    }
  }
  ScopeEntry entry;
  entry.kind = ScopeEntry::Symbol;
  if (auto it = module.variableIndex.find(name);
      it != module.variableIndex.end()) {
    entry.symbol = SymbolKind::ModuleVariable;
    entry.index = it->second;
    return entry;
  }
  if (auto it = module.functionIndex.find(name);
      it != module.functionIndex.end()) {
    entry.symbol = SymbolKind::Function;
    entry.index = it->second;
    return entry;
  }
  return std::nullopt;
}

void Parser::setElements(Function &function, Operand &operand,
                         llvm::ArrayRef<Operand> elements) {
  operand.first = function.operandPool.size();
  operand.count = elements.size();
  function.operandPool.insert(function.operandPool.end(), elements.begin(),
                              elements.end());
}

/// The number of `.x`, `.y`, `.z`, `.w` or `.r`, `.g`, `.b`, `.a`; -1 for
/// anything else.
static int getComponent(StringRef text) {
  return llvm::StringSwitch<int>(text)
      .Cases({".x", ".r"}, 0)
      .Cases({".y", ".g"}, 1)
      .Cases({".z", ".b"}, 2)
      .Cases({".w", ".a"}, 3)
      .Default(-1);
}

bool Parser::parseWord(Function &function, Operand &operand) {
  Token name = token;
  if (advance())
    return true;
  // A component belongs to the name only if it touches it.
  int component = -1;
  if (token.is(Token::Directive) && token.begin == name.end)
    component = getComponent(token.text);

  if (name.text == "_") {
    operand.kind = OperandKind::Sink;
    return false;
  }
  if (std::optional<ScopeEntry> entry = lookUp(function, name.text)) {
    switch (entry->kind) {
    case ScopeEntry::Register:
      operand.kind = OperandKind::Register;
      operand.index = entry->index;
      return false;
    case ScopeEntry::VectorRegister: {
      if (component >= static_cast<int>(entry->count))
        return fail(token, llvm::formatv("'{0}' has {1} components", name.text,
                                         entry->count));
      if (component >= 0) {
        operand.kind = OperandKind::Register;
        operand.index = entry->index + component;
        return advance();
      }
      llvm::SmallVector<Operand, 4> elements(entry->count);
      for (auto [index, element] : llvm::enumerate(elements)) {
        element.kind = OperandKind::Register;
        element.index = entry->index + index;
      }
      operand.kind = OperandKind::Vector;
      setElements(function, operand, elements);
      return false;
    }
    case ScopeEntry::Symbol:
      operand.kind = OperandKind::Symbol;
      operand.symbol = entry->symbol;
      operand.index = entry->index;
      return false;
    default:
      return fail(name,
                  llvm::formatv("'{0}' cannot be an operand here", name.text));
    }
  }

  if (name.text == "WARP_SZ") {
    operand.kind = OperandKind::Immediate;
    operand.bits = 32;
    return false;
  }
  if (auto special = findSpecialRegister(name.text)) {
    operand.kind = OperandKind::Special;
    operand.special = *special;
    return false;
  }
  auto first = findSpecialRegister((name.text + ".x").str());
  if (first) {
    auto makeComponent = [&](unsigned index) {
      Operand element;
      element.kind = OperandKind::Special;
      // The fourth component of every one of them reads as zero.
      element.special = index == 3 ? SpecialRegister::Zero
                                   : static_cast<SpecialRegister>(
                                         static_cast<unsigned>(*first) + index);
      return element;
    };
    if (component >= 0) {
      operand = makeComponent(component);
      return advance();
    }
    operand.kind = OperandKind::Vector;
    setElements(function, operand,
                {makeComponent(0), makeComponent(1), makeComponent(2),
                 makeComponent(3)});
    return false;
  }
  return fail(name, llvm::formatv("'{0}' is not declared", name.text));
}

bool Parser::parseNumber(const Instruction &instruction, Operand &operand) {
  operand.kind = OperandKind::Immediate;
  bool isNegative = false;
  if (token.isPunctuation("-") || token.isPunctuation("+")) {
    // A sign belongs to an integer expression unless a float follows.
    Lexer ahead = lexer;
    if (ahead.next().is(Token::Float)) {
      isNegative = token.text == "-";
      if (advance())
        return true;
    }
  }
  if (!token.is(Token::Float)) {
    int64_t value;
    if (parseConstant(value))
      return true;
    operand.bits = static_cast<uint64_t>(value);
    return false;
  }
  Type type = getLiteralType(instruction);
  uint64_t bits = token.value;
  if (isNegative)
    bits ^= uint64_t(1) << (token.floatBits - 1);
  operand.isFloatLiteral = true;
  bool isHexadecimal =
      token.text.size() > 1 && llvm::StringRef("fFdD").contains(token.text[1]);
  if (isHexadecimal && isUntyped(type)) {
    // Raw bits go where the text puts them, as halves of a wider move too.
    operand.bits = bits;
  } else if (!convertFloat(bits, token.floatBits, type, operand.bits)) {
    return fail(token, llvm::formatv("a float literal is no operand of type "
                                     ".{0}; its bits as an integer are",
                                     stringify(type)));
  }
  return advance();
}

bool Parser::parseElements(Function &function, const Instruction &instruction,
                           Operand &operand, unsigned depth) {
  llvm::SmallVector<Operand, 8> elements;
  do {
    if (!elements.empty() && advance())
      return true;
    Operand element;
    if (parsePrimary(function, instruction, element, depth + 1))
      return true;
    elements.push_back(element);
    if (elements.size() > 1024)
      return fail(token, "a vector has at most 1024 elements");
  } while (token.isPunctuation(","));
  setElements(function, operand, elements);
  return expect("}", "after the elements of a vector");
}

bool Parser::atOffset() const {
  return token.isPunctuation("+") || token.isPunctuation("-");
}

bool Parser::parseOffset(int64_t &offset) {
  // `+-16` is an offset of -16.
  if (token.isPunctuation("+") && advance())
    return true;
  return parseConstant(offset);
}

bool Parser::parseAddress(Function &function, const Instruction &instruction,
                          Operand &operand, unsigned depth) {
  operand.kind = OperandKind::Address;
  int64_t offset = 0;
  if (token.is(Token::Word)) {
    Token name = token;
    Operand base;
    if (parseWord(function, base))
      return true;
    if (base.isRegister()) {
      operand.isRegisterBase = true;
      operand.index = base.index;
    } else if (base.kind == OperandKind::Symbol) {
      operand.symbol = base.symbol;
      operand.index = base.index;
    } else {
      return fail(name, llvm::formatv("'{0}' is no address: a register or a "
                                      "variable is",
                                      name.text));
    }
    if (atOffset() && parseOffset(offset))
      return true;
  } else if (parseConstant(offset)) {
    return true;
  }
  if (consumeIf(",")) {
    operand.kind = OperandKind::TensorAddress;
    if (depth > 1)
      return fail(token, "tensor addresses do not nest");
    if (expect("{", "before the coordinates of a tensor address") ||
        parseElements(function, instruction, operand, depth + 1))
      return true;
  }
  operand.offset = offset;
  if (expect("]", "after an address"))
    return true;
  if (token.isDirective(".unified"))
    return advance();
  return false;
}

bool Parser::parsePrimary(Function &function, const Instruction &instruction,
                          Operand &operand, unsigned depth) {
  if (depth > 2)
    return fail(token, "operands are nested too deeply");
  if (token.isPunctuation("!")) {
    Token at = token;
    if (advance())
      return true;
    if (!token.is(Token::Word))
      return fail(token, "expected a predicate register after '!'");
    if (parseWord(function, operand))
      return true;
    if (!operand.isRegister())
      return fail(at, "only a predicate register can be negated");
    operand.negated = true;
    return false;
  }
  if (token.is(Token::Word)) {
    if (parseWord(function, operand))
      return true;
    bool isValue = operand.isRegister() &&
                   function.registers[operand.index].type != Type::Pred;
    bool takesOffset = isValue || operand.kind == OperandKind::Symbol;
    if (!takesOffset || !atOffset())
      return false;
    if (operand.isRegister())
      operand.kind = OperandKind::Sum;
    int64_t offset;
    if (parseOffset(offset))
      return true;
    operand.offset = offset;
    return false;
  }
  if (consumeIf("["))
    return parseAddress(function, instruction, operand, depth);
  if (consumeIf("{")) {
    operand.kind = OperandKind::Vector;
    return parseElements(function, instruction, operand, depth);
  }
  if (token.is(Token::Integer) || token.is(Token::Float) ||
      token.isPunctuation("-") || token.isPunctuation("+") ||
      token.isPunctuation("~") || token.isPunctuation("("))
    return parseNumber(instruction, operand);
  if (token.is(Token::Error))
    return fail(token, token.text);
  return fail(token, llvm::formatv("expected an operand of '{0}', found '{1}'",
                                   stringify(instruction.opcode), token.text));
}

bool Parser::parseOperand(Function &function, const Instruction &instruction,
                          Operand &operand) {
  if (parsePrimary(function, instruction, operand, /*depth=*/0))
    return true;
  if (!token.isPunctuation("|"))
    return false;
  Operand second;
  if (advance() || parsePrimary(function, instruction, second, /*depth=*/0))
    return true;
  llvm::SmallVector<Operand, 2> pair{operand, second};
  operand = Operand();
  operand.kind = OperandKind::Pair;
  setElements(function, operand, pair);
  return false;
}
