//===- Layout.cpp - Where what a kernel needs lies ------------------------===//
//
// The functions that a kernel reaches, shared variables, frames.
//
//===----------------------------------------------------------------------===//

#include "kvq/Emulator/Machine/Cta.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace kvq::emu;

/// Calls `body` with each operand of a function's instructions, nested ones
/// included.
template <typename Body>
static void forOperands(const ptx::Function &function, Body &&body) {
  for (const ptx::Instruction &inst : function.instructions)
    for (const ptx::Operand &operand : inst.operands)
      body(operand);
  for (const ptx::Operand &operand : function.operandPool)
    body(operand);
}

/// Finds every function that the kernel may call: direct calls, functions whose
/// address is taken, and those in initializers of variables.
llvm::Error Decoder::reach(const ptx::Function &kernel) {
  functionIndex(kernel);
  bool indirect = false;
  for (size_t next = 0; next < order.size(); ++next) {
    const ptx::Function &function = *order[next];
    forOperands(function, [&](const ptx::Operand &operand) {
      if (operand.symbol == ptx::SymbolKind::Function &&
          (operand.kind == ptx::OperandKind::Symbol ||
           operand.kind == ptx::OperandKind::Address))
        functionIndex(operand.index);
    });
    for (const auto &targets : function.callTargets)
      for (uint32_t target : targets)
        functionIndex(target);
    if (!indirect &&
        std::any_of(function.instructions.begin(), function.instructions.end(),
                    [](const ptx::Instruction &inst) {
                      return inst.opcode == ptx::Opcode::Call &&
                             inst.operands.size() > 1 &&
                             inst.operands[1].isRegister();
                    })) {
      indirect = true;
      for (const ptx::Variable &variable : module.variables)
        for (const ptx::Relocation &relocation : variable.relocations)
          if (relocation.symbol == ptx::SymbolKind::Function)
            functionIndex(relocation.index);
    }
  }
  return llvm::Error::success();
}

uint32_t Decoder::functionIndex(const ptx::Function &callee) {
  auto [it, isNew] =
      indices.try_emplace(&callee, static_cast<uint32_t>(order.size()));
  if (isNew)
    order.push_back(&callee);
  return it->second;
}

/// Static shared variables that reachable functions name, in module order, then
/// the dynamic part.
void Decoder::layoutShared() {
  std::vector<bool> used(module.variables.size());
  for (const ptx::Function *function : order)
    forOperands(*function, [&](const ptx::Operand &operand) {
      if (operand.symbol == ptx::SymbolKind::ModuleVariable)
        used[operand.index] = true;
    });
  uint64_t end = sharedReserved;
  uint64_t dynamicAlignment = 16;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable &variable = module.variables[i];
    if (!used[i] || variable.space != ptx::Space::Shared)
      continue;
    if (variable.size == 0) {
      dynamicAlignment = std::max(dynamicAlignment, variable.alignment);
      continue;
    }
    end = llvm::alignTo(end, std::max<uint64_t>(variable.alignment, 1));
    sharedOffsets[static_cast<uint32_t>(i)] = static_cast<uint32_t>(end);
    end += variable.size;
  }
  program.sharedBase = sharedReserved;
  program.staticSharedEnd = static_cast<uint32_t>(end);
  program.dynamicSharedBase =
      static_cast<uint32_t>(llvm::alignTo(end, dynamicAlignment));
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable &variable = module.variables[i];
    if (used[i] && variable.space == ptx::Space::Shared && variable.size == 0)
      sharedOffsets[static_cast<uint32_t>(i)] = program.dynamicSharedBase;
  }
}

uint32_t Decoder::sharedOffset(uint32_t variable) {
  return sharedOffsets.lookup(variable);
}

/// A frame has the locals, then the areas for calls, then, of device functions,
/// parameters and results.
void Decoder::layoutFrame(const ptx::Function &function,
                          ProgramFunction &result) {
  uint64_t end = llvm::alignTo(function.localBytes, 16);
  end += llvm::alignTo(function.callParamBytes, 16);
  auto place = [&](const std::vector<ptx::Parameter> &list,
                   std::vector<FrameSlot> &slots) {
    for (const ptx::Parameter &parameter : list) {
      end = llvm::alignTo(end, std::max<uint64_t>(parameter.alignment, 8));
      slots.push_back(
          {static_cast<uint32_t>(end), static_cast<uint32_t>(parameter.size)});
      end += parameter.size;
    }
  };
  place(function.results, result.results);
  if (!function.isKernel)
    place(function.parameters, result.parameters);
  result.frameBytes = static_cast<uint32_t>(llvm::alignTo(end, 16));
}

uint32_t Decoder::frameOffset(const ptx::Operand &symbol) {
  const ProgramFunction &self = program.functions[currentIndex];
  switch (symbol.symbol) {
  case ptx::SymbolKind::Local:
    return static_cast<uint32_t>(current->variables[symbol.index].frameOffset);
  case ptx::SymbolKind::CallParam:
    return static_cast<uint32_t>(llvm::alignTo(current->localBytes, 16) +
                                 current->variables[symbol.index].frameOffset);
  case ptx::SymbolKind::Parameter:
    return self.parameters[symbol.index].offset;
  case ptx::SymbolKind::Result:
    return self.results[symbol.index].offset;
  default:
    return 0;
  }
}
