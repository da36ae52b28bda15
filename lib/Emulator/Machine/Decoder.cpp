//===- Decoder.cpp - From parsed PTX to operations ------------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace kvq::emu;

const ProgramFunction &Program::functionAt(uint32_t pc) const {
  for (const ProgramFunction &function : functions)
    if (pc >= function.entry && pc < function.end)
      return function;
  return functions.front();
}

llvm::Expected<std::unique_ptr<Program>>
kvq::emu::decodeKernel(const ptx::Module &module, const ptx::Function &kernel,
                       const VariableAddresses &globals) {
  auto program = std::make_unique<Program>();
  Decoder decoder(module, globals, *program);
  if (llvm::Error error = decoder.run(kernel))
    return std::move(error);
  return std::move(program);
}

llvm::Error Decoder::error(const ptx::Instruction &inst,
                           const llvm::Twine &message) const {
  return llvm::createStringError(llvm::formatv("{0}:{1}: error: {2}: '{3}'",
                                               module.fileName, inst.line,
                                               message.str(), inst.text)
                                     .str());
}

llvm::Error Decoder::run(const ptx::Function &kernel) {
  program.name = kernel.name;
  program.file = module.fileName;
  program.parameterBytes = static_cast<uint32_t>(kernel.parameterBytes);
  if (llvm::Error error = reach(kernel))
    return error;
  layoutShared();
  program.functions.resize(order.size());
  program.functionOfModule.assign(module.functions.size(), -1);
  for (size_t i = 0; i < order.size(); ++i)
    program.functionOfModule[order[i] - module.functions.data()] =
        static_cast<int32_t>(i);
  for (size_t i = 0; i < order.size(); ++i) {
    program.functions[i].name = order[i]->name;
    layoutFrame(*order[i], program.functions[i]);
  }
  for (uint32_t i = 0; i < order.size(); ++i)
    if (!order[i]->isDeclaration)
      if (llvm::Error error = decodeFunction(i))
        return error;
  // The pools no longer move: resolve what refers to them by index.
  size_t list = 0;
  for (Op &op : program.ops)
    op.operands = program.operandLists[list++].data();
  return llvm::Error::success();
}

llvm::Error Decoder::decodeFunction(uint32_t index) {
  current = order[index];
  currentIndex = index;
  ProgramFunction &self = program.functions[index];
  self.entry = static_cast<uint32_t>(program.ops.size());
  registers.clear();
  carry = Operand();
  targets.clear();
  tables.clear();
  uint32_t slots = 0, predicates = 0;
  for (const ptx::Register &reg : current->registers) {
    Operand operand;
    if (reg.type == ptx::Type::Pred) {
      operand.predicate = true;
      operand.bits = 1;
      operand.index = static_cast<int32_t>(predicates++);
    } else {
      operand.bank = Bank::Register;
      operand.bits = static_cast<uint8_t>(ptx::getBits(reg.type));
      operand.index = static_cast<int32_t>(slots * warpSize);
      slots += operand.bits > 64 ? 2 : 1;
    }
    registers.push_back(operand);
  }
  self.registers = slots;
  self.predicates = predicates;

  std::vector<uint32_t> places;
  ptx::Instruction entry;
  entry.line = current->line;
  entry.text = current->name;
  emitFunctionEntry(*this, entry);
  for (const ptx::Instruction &inst : current->instructions) {
    places.push_back(static_cast<uint32_t>(program.ops.size()));
    currentInst = &inst;
    size_t first = program.ops.size();
    mistake.clear();
    if (llvm::Error error = decodeInstruction(inst))
      return error;
    if (!mistake.empty())
      return this->error(inst, mistake);
    countAsOne(first, inst);
  }
  places.push_back(static_cast<uint32_t>(program.ops.size()));
  // Falling off the end returns.
  ptx::Instruction end;
  end.opcode = ptx::Opcode::Ret;
  end.line = current->instructions.empty() ? current->line
                                           : current->instructions.back().line;
  end.text = "ret";
  size_t first = program.ops.size();
  if (llvm::Error error = decodeControl(*this, end))
    return error;
  countAsOne(first, end);
  for (auto [op, instruction] : targets)
    program.ops[op].imm = places[instruction];
  for (std::vector<uint32_t> *table : tables)
    for (uint32_t &entry : *table)
      entry = places[entry];
  self.end = static_cast<uint32_t>(program.ops.size());
  return llvm::Error::success();
}

void Decoder::countAsOne(size_t first, const ptx::Instruction &inst) {
  if (first == program.ops.size())
    return;
  // Operations before the last one compute its operands.
  Op &op = program.ops.back();
  Pipe pipe = pipeOf(inst, op.category);
  auto &kinds = program.countKinds;
  auto known = std::find_if(
      std::next(kinds.begin()), kinds.end(), [&](const CountKind &kind) {
        return kind.category == op.category && kind.pipe == pipe;
      });
  op.countKind = static_cast<uint8_t>(known - kinds.begin());
  if (known == kinds.end())
    kinds.push_back({op.category, pipe});
}

Op &Decoder::emit(const ptx::Instruction &inst, Handler handler,
                  InstructionClass category, llvm::ArrayRef<Operand> dst,
                  llvm::ArrayRef<Operand> src) {
  llvm::SmallVector<Operand, 8> list(dst.begin(), dst.end());
  list.append(src.begin(), src.end());
  program.operandLists.push_back(std::move(list));
  Op op;
  op.handler = handler;
  op.category = category;
  op.numDst = static_cast<uint8_t>(dst.size());
  op.numSrc = static_cast<uint8_t>(src.size());
  op.line = inst.line;
  op.text = inst.text;
  if (inst.hasGuard) {
    op.guard = registers[inst.guard].index;
    op.guardNegated = inst.guardNegated;
  }
  program.ops.push_back(op);
  return program.ops.back();
}

void Decoder::patchTarget(const Op &op, uint32_t instruction) {
  targets.emplace_back(&op - program.ops.data(), instruction);
}
