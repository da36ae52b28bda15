//===- Parser.h - Recursive-descent parser of PTX ---------------*- C++ -*-===//
//
// Parsing functions return true when they fail, having recorded the first
// message, as LLVM's assembly parsers do.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_PTX_PARSER_H
#define KVQ_LIB_EMULATOR_PTX_PARSER_H

#include "Lexer.h"
#include "kvq/Emulator/PTX/Module.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace kvq::emu::ptx {

/// What a name inside a function stands for.
struct ScopeEntry {
  enum Kind : uint8_t {
    Register,
    /// `index` is the first of `count` registers.
    VectorRegister,
    Symbol,
    BranchTable,
    Prototype,
    CallTargets
  };
  Kind kind = Register;
  SymbolKind symbol = SymbolKind::None;
  uint32_t index = 0;
  uint32_t count = 1;
};

/// `.reg .b32 %r<10>`: registers come into being when first used.
struct RegisterRange {
  Type type = Type::B32;
  uint64_t count = 0;
};

/// A use of a label that is not known yet.
struct LabelUse {
  Token name;
  /// Either operand `second` of instruction `first`, or entry `second` of
  /// branch table `first`.
  bool inTable = false;
  uint32_t first = 0, second = 0;
};

struct BraceScope {
  llvm::StringMap<ScopeEntry> entries;
  llvm::StringMap<RegisterRange> ranges;
  llvm::StringMap<uint32_t> labels;
  std::vector<LabelUse> uses;
  uint64_t callParamBytes = 0;
};

class Parser {
public:
  Parser(Module &module) : module(module), lexer(module.buffer->getBuffer()) {}

  llvm::Error parse();

private:
  // Parser.cpp: tokens, messages, module scope.
  bool fail(const Token &at, const llvm::Twine &message);
  bool failAt(uint32_t line, uint32_t column, size_t begin,
              const llvm::Twine &message);
  bool advance();
  bool expect(llvm::StringRef punctuation, llvm::StringRef where);
  bool consumeIf(llvm::StringRef punctuation);
  bool parseTopLevel();
  bool parseVersion();
  bool parseTarget();
  bool parseSection();
  bool parseAlias();
  bool parseLinkageAndRest();
  llvm::Error resolveAliases();
  /// Up to and with the semicolon.
  bool skipStatement();
  /// From an opening parenthesis to behind the one that closes it.
  bool skipParentheses();

  // Directives.cpp: variables, parameters, function headers.
  struct Linkage {
    bool isExtern = false, isVisible = false, isWeak = false;
  };
  struct Declarator {
    std::string name;
    /// Lengths, outermost first; 0 stands for `[]`.
    llvm::SmallVector<uint64_t, 2> dims;
    uint64_t elements = 1;
    bool hasUnknownLength = false;
    Token at;
  };
  bool parseFunction(bool isKernel, const Linkage &linkage);
  bool parseParameterList(std::vector<Parameter> &list, bool isKernel,
                          Function *function, uint64_t &bytes);
  bool parseParameter(Parameter &parameter, bool isKernel, Function *function);
  bool parseFunctionDirectives(Function &function);
  bool parseDims(std::array<uint32_t, 3> &dims, const Token &directive);
  bool parseVariables(const Linkage &linkage, Function *function);
  bool parseAlignment(uint64_t &alignment);
  bool parseType(Type &type);
  bool parseDeclarator(Declarator &declarator);
  bool parseInitializer(Variable &variable, const Declarator &declarator);
  bool parseInitializerList(Variable &variable, llvm::ArrayRef<uint64_t> dims,
                            uint64_t &offset);
  bool parseInitializerValue(Variable &variable, uint64_t &offset);
  bool parseRelocation(Variable &variable, uint64_t &offset,
                       std::optional<uint64_t> mask);
  bool appendInitializer(Variable &variable, uint64_t &offset, uint64_t value,
                         const Token &at);
  bool parseRegisters(Function &function);
  bool parsePrototype(Prototype &prototype);
  bool declareName(llvm::StringRef name, ScopeEntry entry, const Token &at);

  // Constant.cpp: constant expressions.
  bool parseConstant(int64_t &value, unsigned minimumPrecedence = 0);
  bool parseConstantUnary(int64_t &value);
  bool parseUnsigned(uint64_t &value, uint64_t limit, const llvm::Twine &what);
  /// The literal's bits as a value of the type; false if there is no such
  /// conversion.
  static bool convertFloat(uint64_t bits, unsigned floatBits, Type type,
                           uint64_t &result);

  // Statements.cpp: function bodies.
  bool parseBody(Function &function);
  bool parseStatement(Function &function);
  bool parseBodyDirective(Function &function);
  bool parseLabel(Function &function, const Token &name);
  bool parseBranchTargets(Function &function, const Token &name);
  bool parseCallTargets(Function &function, const Token &name);
  bool parseInstruction(Function &function);
  bool parseGuard(Function &function, Instruction &instruction);
  bool parseOperands(Function &function, Instruction &instruction);
  bool parseCall(Function &function, Instruction &instruction);
  bool parseCallList(Function &function, Instruction &instruction);
  bool closeScope(Function &function);
  uint32_t addRegister(Function &function, llvm::StringRef name, Type type);

  // Operands.cpp.
  bool parseOperand(Function &function, const Instruction &instruction,
                    Operand &operand);
  bool parsePrimary(Function &function, const Instruction &instruction,
                    Operand &operand, unsigned depth);
  bool parseWord(Function &function, Operand &operand);
  bool parseNumber(const Instruction &instruction, Operand &operand);
  bool parseAddress(Function &function, const Instruction &instruction,
                    Operand &operand, unsigned depth);
  /// Whether `+` or `-`, and so an offset, is next.
  bool atOffset() const;
  bool parseOffset(int64_t &offset);
  bool parseElements(Function &function, const Instruction &instruction,
                     Operand &operand, unsigned depth);
  std::optional<ScopeEntry> lookUp(Function &function, llvm::StringRef name);
  void setElements(Function &function, Operand &operand,
                   llvm::ArrayRef<Operand> elements);

  Module &module;
  Lexer lexer;
  Token token;
  std::string message;
  std::vector<BraceScope> scopes;
  unsigned constantDepth = 0;
  /// Declarations that a later `.alias` made another name of a function.
  std::vector<std::pair<uint32_t, uint32_t>> aliases;
};

} // namespace kvq::emu::ptx

#endif // KVQ_LIB_EMULATOR_PTX_PARSER_H
