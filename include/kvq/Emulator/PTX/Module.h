//===- Module.h - A parsed PTX module ---------------------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_PTX_MODULE_H
#define KVQ_EMULATOR_PTX_MODULE_H

#include "kvq/Emulator/PTX/Instruction.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace kvq::emu::ptx {

/// An address inside an initializer.
struct Relocation {
  /// Byte offset in the variable.
  uint64_t offset = 0;
  /// Bytes that are written there: 8, 4, or 1 for the masked form.
  uint8_t size = 8;
  /// Module variable or function, by the index in its list.
  SymbolKind symbol = SymbolKind::ModuleVariable;
  uint32_t index = 0;
  int64_t addend = 0;
  /// `generic(sym)`: the generic address; else the one in the state space.
  bool generic = false;
  /// Right shift before the low `size` bytes are taken (`0xFF00(sym)` has 8).
  uint8_t shift = 0;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  /// Type of an element.
  Type type = Type::B8;
  /// In bytes; 0 for `.extern .shared` arrays without a length, which start
  /// where static shared memory ends.
  uint64_t size = 0;
  uint64_t alignment = 1;
  /// `Local` and `CallParam` variables: place in the function's frame of that
  /// kind (Function::localBytes, Function::callParamBytes).
  uint64_t frameOffset = 0;
  bool isExtern = false;
  bool isVisible = false;
  bool isWeak = false;
  /// The first bytes of the variable; the rest is zero. Empty with
  /// `hasInitializer` unset: global memory is zero, shared is undefined.
  std::vector<uint8_t> initializer;
  std::vector<Relocation> relocations;
  bool hasInitializer = false;
  uint32_t line = 0;
};

/// An input or return parameter.
struct Parameter {
  std::string name;
  Type type = Type::B8;
  /// Bytes, and their place in the argument blob of the kernel or function.
  uint64_t size = 0;
  uint64_t alignment = 1;
  uint64_t offset = 0;
  /// `.reg` parameters of device functions live in a register of the callee.
  bool isRegister = false;
  uint32_t registerIndex = 0;
};

struct Register {
  std::string name;
  /// `Pred`, or the declared type.
  Type type = Type::B32;
};

/// `.callprototype`, and what `.callprototype` or a declaration says.
struct Prototype {
  std::vector<Parameter> results;
  std::vector<Parameter> parameters;
};

struct Function {
  std::string name;
  bool isKernel = false;
  /// No body: `vprintf`, `__assertfail`, `malloc`, `free` and undefined ones.
  bool isDeclaration = false;
  bool isVisible = false;
  bool isWeak = false;
  bool isNoReturn = false;
  std::vector<Parameter> results;
  std::vector<Parameter> parameters;
  /// Bytes of the argument and of the result blob.
  uint64_t parameterBytes = 0;
  uint64_t resultBytes = 0;

  std::vector<Register> registers;
  /// `.local` and `.param` variables of the body.
  std::vector<Variable> variables;
  uint64_t localBytes = 0;
  uint64_t localAlignment = 1;
  uint64_t callParamBytes = 0;

  std::vector<Instruction> instructions;
  /// Elements of vectors, pairs, and tensor coordinates.
  std::vector<Operand> operandPool;
  /// Instruction indices per `.branchtargets`.
  std::vector<std::vector<uint32_t>> branchTables;
  /// Function indices per `.calltargets`.
  std::vector<std::vector<uint32_t>> callTargets;

  /// Directives; zeros where absent.
  std::array<uint32_t, 3> requiredBlock{};
  std::array<uint32_t, 3> maximumBlock{};
  std::array<uint32_t, 3> requiredCluster{};
  uint32_t maximumClusterRank = 0;
  uint32_t minimumCTAsPerSM = 0;
  uint32_t maximumRegisters = 0;
  bool explicitCluster = false;
  uint32_t line = 0;

  llvm::ArrayRef<Operand> elements(const Operand &operand) const {
    return llvm::ArrayRef<Operand>(operandPool)
        .slice(operand.first, operand.count);
  }
};

struct Module {
  /// Name for messages, and the text that instructions point into.
  std::string fileName;
  std::unique_ptr<llvm::MemoryBuffer> buffer;

  /// `.version MAJOR.MINOR` as 10 * major + minor.
  unsigned version = 0;
  /// As written: `sm_100a`.
  std::string target;
  unsigned addressSize = 64;

  /// Global, const and shared variables, those of function bodies too.
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Prototype> prototypes;
  /// Names of module scope.
  llvm::StringMap<uint32_t> variableIndex;
  llvm::StringMap<uint32_t> functionIndex;

  /// Null if there is no such function.
  const Function *findFunction(llvm::StringRef name) const {
    auto it = functionIndex.find(name);
    return it == functionIndex.end() ? nullptr : &functions[it->second];
  }
};

/// Parses PTX 6.0 to 9.x text. `name` stands for the file in messages. An error
/// gives file:line:column, the instruction or directive, and what would be
/// accepted.
llvm::Expected<std::unique_ptr<Module>> parseModule(llvm::StringRef text,
                                                    llvm::StringRef name);

} // namespace kvq::emu::ptx

#endif // KVQ_EMULATOR_PTX_MODULE_H
