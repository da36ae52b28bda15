//===- Statements.cpp - Function bodies -----------------------------------===//

#include "Names.h"
#include "Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

static constexpr size_t maximumScopes = 256;

bool Parser::parseBody(Function &function) {
  while (true) {
    if (token.is(Token::End))
      return fail(token,
                  llvm::formatv("the body of '{0}' has no end", function.name));
    if (token.isPunctuation("}")) {
      bool isLast = scopes.size() == 1;
      if (isLast) {
        // So that every label stands before an instruction.
        Instruction end;
        end.opcode = function.isKernel ? Opcode::Exit : Opcode::Ret;
        end.line = token.line;
        end.column = token.column;
        end.text = token.text;
        function.instructions.push_back(std::move(end));
      }
      if (closeScope(function))
        return true;
      if (advance())
        return true;
      if (isLast)
        return false;
      continue;
    }
    if (parseStatement(function))
      return true;
  }
}

bool Parser::closeScope(Function &function) {
  BraceScope scope = std::move(scopes.back());
  scopes.pop_back();
  for (LabelUse &use : scope.uses) {
    auto label = scope.labels.find(use.name.text);
    if (label == scope.labels.end()) {
      if (scopes.empty())
        return fail(use.name, llvm::formatv("label '{0}' is not in scope",
                                            use.name.text));
      scopes.back().uses.push_back(std::move(use));
    } else if (use.inTable) {
      function.branchTables[use.first][use.second] = label->second;
    } else {
      function.instructions[use.first].operands[use.second].index =
          label->second;
    }
  }
  return false;
}

bool Parser::parseStatement(Function &function) {
  if (token.isPunctuation(";"))
    return advance();
  if (token.isPunctuation("{")) {
    if (scopes.size() >= maximumScopes)
      return fail(token, llvm::formatv("braces are nested deeper than {0}",
                                       maximumScopes));
    uint64_t callParamBytes = scopes.back().callParamBytes;
    scopes.emplace_back().callParamBytes = callParamBytes;
    return advance();
  }
  if (token.is(Token::Directive))
    return parseBodyDirective(function);
  if (token.is(Token::Word) && lexer.atLabelColon()) {
    Token name = token;
    return advance() || expect(":", "after a label") ||
           parseLabel(function, name);
  }
  if (token.is(Token::Word) || token.isPunctuation("@"))
    return parseInstruction(function);
  return fail(token, llvm::formatv("expected an instruction, a label or a "
                                   "directive, found '{0}'",
                                   token.text));
}

bool Parser::parseLabel(Function &function, const Token &name) {
  if (token.isDirective(".branchtargets"))
    return parseBranchTargets(function, name);
  if (token.isDirective(".calltargets"))
    return parseCallTargets(function, name);
  if (token.isDirective(".callprototype")) {
    Prototype prototype;
    if (parsePrototype(prototype))
      return true;
    ScopeEntry entry;
    entry.kind = ScopeEntry::Prototype;
    entry.index = module.prototypes.size();
    module.prototypes.push_back(std::move(prototype));
    return declareName(name.text, entry, name);
  }
  if (!scopes.back()
           .labels.try_emplace(name.text, function.instructions.size())
           .second)
    return fail(
        name,
        llvm::formatv("label '{0}' is defined twice in this scope", name.text));
  return false;
}

bool Parser::parseBranchTargets(Function &function, const Token &name) {
  ScopeEntry entry;
  entry.kind = ScopeEntry::BranchTable;
  entry.index = function.branchTables.size();
  function.branchTables.emplace_back();
  if (advance())
    return true;
  do {
    if (token.isPunctuation(",") && advance())
      return true;
    if (!token.is(Token::Word))
      return fail(token, "expected a label in .branchtargets");
    LabelUse use;
    use.name = token;
    use.inTable = true;
    use.first = entry.index;
    use.second = function.branchTables.back().size();
    function.branchTables.back().push_back(0);
    scopes.back().uses.push_back(use);
    if (advance())
      return true;
  } while (token.isPunctuation(","));
  return declareName(name.text, entry, name) ||
         expect(";", "after .branchtargets");
}

bool Parser::parseCallTargets(Function &function, const Token &name) {
  ScopeEntry entry;
  entry.kind = ScopeEntry::CallTargets;
  entry.index = function.callTargets.size();
  function.callTargets.emplace_back();
  if (advance())
    return true;
  do {
    if (token.isPunctuation(",") && advance())
      return true;
    auto it = module.functionIndex.find(token.text);
    if (!token.is(Token::Word) || it == module.functionIndex.end())
      return fail(token, "expected a declared function in .calltargets");
    function.callTargets.back().push_back(it->second);
    if (advance())
      return true;
  } while (token.isPunctuation(","));
  return declareName(name.text, entry, name) ||
         expect(";", "after .calltargets");
}

bool Parser::parseBodyDirective(Function &function) {
  if (token.text == ".reg")
    return parseRegisters(function);
  if (token.text == ".pragma")
    return skipStatement();
  if (token.text == ".loc" || token.text == ".file") {
    lexer.skipLine(token);
    return advance();
  }
  if (token.text == ".section")
    return parseSection();
  // Without a name these have no use, but printers leave them behind.
  if (token.text == ".branchtargets" || token.text == ".callprototype" ||
      token.text == ".calltargets")
    return fail(token,
                llvm::formatv("expected a label before {0}", token.text));
  Linkage linkage;
  if (token.text == ".extern" || token.text == ".visible" ||
      token.text == ".weak") {
    linkage.isExtern = token.text == ".extern";
    if (advance())
      return true;
  }
  return parseVariables(linkage, &function);
}

bool Parser::parseGuard(Function &function, Instruction &instruction) {
  if (advance())
    return true;
  instruction.hasGuard = true;
  if (token.isPunctuation("!")) {
    instruction.guardNegated = true;
    if (advance())
      return true;
  }
  std::optional<ScopeEntry> entry;
  if (token.is(Token::Word))
    entry = lookUp(function, token.text);
  if (!entry || entry->kind != ScopeEntry::Register ||
      function.registers[entry->index].type != Type::Pred)
    return fail(token, llvm::formatv("expected a predicate register after '@', "
                                     "found '{0}'",
                                     token.text));
  instruction.guard = entry->index;
  return advance();
}

bool Parser::parseInstruction(Function &function) {
  Instruction instruction;
  if (token.isPunctuation("@") && parseGuard(function, instruction))
    return true;
  if (!token.is(Token::Word))
    return fail(token, llvm::formatv("expected an instruction, found '{0}'",
                                     token.text));
  Token start = token;
  StringRef mnemonic = lexer.takeMnemonic(token);
  instruction.line = token.line;
  instruction.column = token.column;
  llvm::SmallVector<StringRef, 12> words;
  mnemonic.split(words, '.');
  auto opcode = findOpcode(words);
  if (!opcode)
    return fail(start, llvm::formatv("unknown instruction '{0}'{1}", mnemonic,
                                     suggestOpcode(words[0])));
  instruction.opcode = opcode->first;
  std::string wrong = decodeModifiers(
      opcode->first, llvm::ArrayRef(words).drop_front(opcode->second),
      instruction.mods);
  if (!wrong.empty())
    return fail(start, wrong);
  // `bar` is `barrier` with `.aligned`.
  if (words[0] == "bar" && opcode->first != Opcode::BarWarpSync)
    instruction.mods.aligned = true;

  size_t end = start.begin + mnemonic.size();
  if (advance())
    return true;
  if (instruction.opcode == Opcode::Call ? parseCall(function, instruction)
                                         : parseOperands(function, instruction))
    return true;
  end = std::max(end, token.begin);
  instruction.text = lexer.slice(start.begin, end).rtrim();
  if (!token.isPunctuation(";"))
    return fail(token, llvm::formatv("expected ',' or ';' after an operand of "
                                     "'{0}', found '{1}'",
                                     mnemonic, token.text));
  unsigned minimum = getMinimumOperands(instruction.opcode);
  if (instruction.operands.size() < minimum)
    return fail(start,
                llvm::formatv("'{0}' has {1} operands and needs {2}", mnemonic,
                              instruction.operands.size(), minimum));
  function.instructions.push_back(std::move(instruction));
  return advance();
}

bool Parser::parseOperands(Function &function, Instruction &instruction) {
  if (token.isPunctuation(";"))
    return false;
  do {
    if (token.isPunctuation(",") && advance())
      return true;
    Operand operand;
    size_t index = instruction.operands.size();
    if (index >= 64)
      return fail(token, "an instruction has at most 64 operands");
    bool isBranch = instruction.opcode == Opcode::Bra ||
                    (instruction.opcode == Opcode::BrxIdx && index == 1);
    if (!isBranch) {
      if (parseOperand(function, instruction, operand))
        return true;
      instruction.operands.push_back(operand);
      continue;
    }
    if (!token.is(Token::Word))
      return fail(token, "expected a label");
    if (instruction.opcode == Opcode::Bra) {
      operand.kind = OperandKind::Label;
      LabelUse use;
      use.name = token;
      use.first = function.instructions.size();
      use.second = index;
      scopes.back().uses.push_back(use);
    } else {
      std::optional<ScopeEntry> entry = lookUp(function, token.text);
      if (!entry || entry->kind != ScopeEntry::BranchTable)
        return fail(token, "expected a label of .branchtargets, which must "
                           "stand before brx.idx");
      operand.kind = OperandKind::BranchTable;
      operand.index = entry->index;
    }
    instruction.operands.push_back(operand);
    if (advance())
      return true;
  } while (token.isPunctuation(","));
  return false;
}

bool Parser::parseCallList(Function &function, Instruction &instruction) {
  Operand list;
  llvm::SmallVector<Operand, 8> elements;
  if (expect("(", "before the arguments of a call"))
    return true;
  while (!token.isPunctuation(")")) {
    if (!elements.empty() && expect(",", "between the arguments of a call"))
      return true;
    Operand element;
    if (parsePrimary(function, instruction, element, /*depth=*/0))
      return true;
    elements.push_back(element);
    if (elements.size() > 4096)
      return fail(token, "a call has at most 4096 arguments");
  }
  list.kind = OperandKind::Vector;
  setElements(function, list, elements);
  instruction.operands.push_back(list);
  return advance();
}

bool Parser::parseCall(Function &function, Instruction &instruction) {
  Operand none;
  none.kind = OperandKind::Vector;
  if (token.isPunctuation("(")) {
    if (parseCallList(function, instruction) ||
        expect(",", "after the results of a call"))
      return true;
  } else {
    instruction.operands.push_back(none);
  }

  Token name = token;
  Operand callee;
  if (!token.is(Token::Word) || parseWord(function, callee))
    return fail(name, "expected a function or a register with its address");
  bool isDirect = callee.kind == OperandKind::Symbol &&
                  callee.symbol == SymbolKind::Function;
  if (!isDirect && !callee.isRegister())
    return fail(
        name, llvm::formatv("'{0}' is no function and no register", name.text));
  instruction.operands.push_back(callee);

  if (consumeIf(",") && token.isPunctuation("(")) {
    if (parseCallList(function, instruction))
      return true;
    consumeIf(",");
  } else {
    instruction.operands.push_back(none);
  }
  if (!token.is(Token::Word)) {
    if (!isDirect)
      return fail(name, "an indirect call must name its .callprototype or "
                        ".calltargets last");
    return false;
  }
  std::optional<ScopeEntry> entry = lookUp(function, token.text);
  Operand prototype;
  if (entry && entry->kind == ScopeEntry::Prototype)
    prototype.kind = OperandKind::Prototype;
  else if (entry && entry->kind == ScopeEntry::CallTargets)
    prototype.kind = OperandKind::CallTargets;
  else
    return fail(token, llvm::formatv("'{0}' is no .callprototype and no "
                                     ".calltargets that is in scope",
                                     token.text));
  prototype.index = entry->index;
  instruction.operands.push_back(prototype);
  return advance();
}
