//===- PTXParserFuzzer.cpp - Feed the PTX parser with anything ------------===//
//
// Whatever the text is, parsing ends with a module whose indices are all in
// range, or with an error.
//
//===----------------------------------------------------------------------===//

#include "kvq/Emulator/PTX/Module.h"
#include <cstdlib>

using namespace kvq::emu::ptx;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static void check(const Module &module, const Function &function,
                  const Operand &operand) {
  switch (operand.kind) {
  case OperandKind::Register:
    require(operand.index < function.registers.size());
    break;
  case OperandKind::Label:
    require(operand.index < function.instructions.size());
    break;
  case OperandKind::BranchTable:
    require(operand.index < function.branchTables.size());
    break;
  case OperandKind::CallTargets:
    require(operand.index < function.callTargets.size());
    break;
  case OperandKind::Prototype:
    require(operand.index < module.prototypes.size());
    break;
  default:
    break;
  }
  if (operand.isRegisterBase)
    require(operand.index < function.registers.size());
  switch (operand.symbol) {
  case SymbolKind::ModuleVariable:
    require(operand.index < module.variables.size());
    break;
  case SymbolKind::Local:
  case SymbolKind::CallParam:
    require(operand.index < function.variables.size());
    break;
  case SymbolKind::Parameter:
    require(operand.index < function.parameters.size());
    break;
  case SymbolKind::Result:
    require(operand.index < function.results.size());
    break;
  case SymbolKind::Function:
    require(operand.index < module.functions.size());
    break;
  case SymbolKind::None:
    break;
  }
  require(uint64_t(operand.first) + operand.count <=
          function.operandPool.size());
}

static void check(const Module &module) {
  for (const Variable &variable : module.variables) {
    require(variable.initializer.size() <= variable.size);
    for (const Relocation &relocation : variable.relocations)
      require(relocation.index < (relocation.symbol == SymbolKind::Function
                                      ? module.functions.size()
                                      : module.variables.size()) &&
              relocation.offset + relocation.size <= variable.size);
  }
  for (const Function &function : module.functions) {
    for (const Instruction &instruction : function.instructions) {
      require(!instruction.hasGuard ||
              instruction.guard < function.registers.size());
      for (const Operand &operand : instruction.operands)
        check(module, function, operand);
    }
    for (const Operand &operand : function.operandPool)
      check(module, function, operand);
    for (const auto &table : function.branchTables)
      for (uint32_t target : table)
        require(target < function.instructions.size());
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The header is not worth the fuzzer's time.
  std::string text = ".version 8.6\n.target sm_100a\n";
  text.append(reinterpret_cast<const char *>(data), size);
  auto module = parseModule(text, "fuzz");
  if (module)
    check(**module);
  else
    require(!toString(module.takeError()).empty());
  return 0;
}
