//===- Decoder.cpp - From parsed PTX to operations ------------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Cta.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
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
    if (llvm::Error error = decodeInstruction(inst))
      return error;
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

Operand Decoder::temporary(unsigned bits) {
  ProgramFunction &self = program.functions[currentIndex];
  Operand operand;
  operand.bits = static_cast<uint8_t>(bits);
  if (bits == 1) {
    operand.predicate = true;
    operand.index = static_cast<int32_t>(self.predicates++);
  } else {
    operand.bank = Bank::Register;
    operand.index = static_cast<int32_t>(self.registers * warpSize);
    self.registers += bits > 64 ? 2 : 1;
  }
  return operand;
}

Operand Decoder::carryFlag() {
  if (carry.isNone())
    carry = temporary(1);
  return carry;
}

Operand Decoder::constant(uint64_t value) {
  auto [it, isNew] = constantIndex.try_emplace(
      value, static_cast<uint32_t>(program.constants.size()));
  if (isNew)
    program.constants.insert(program.constants.end(), warpSize, value);
  Operand operand;
  operand.bank = Bank::Constant;
  operand.bits = 64;
  operand.index = static_cast<int32_t>(it->second);
  return operand;
}

std::optional<uint64_t> Decoder::immediate(const ptx::Operand &operand) {
  if (operand.kind == ptx::OperandKind::Immediate)
    return operand.bits;
  if (operand.kind == ptx::OperandKind::Special &&
      operand.special == ptx::SpecialRegister::WarpSize)
    return warpSize;
  return std::nullopt;
}

static bool isClock(ptx::SpecialRegister reg) {
  using SR = ptx::SpecialRegister;
  return reg == SR::Clock || reg == SR::ClockHi || reg == SR::Clock64 ||
         reg == SR::GlobalTimer || reg == SR::GlobalTimerLo ||
         reg == SR::GlobalTimerHi;
}

static void readClock(Warp &warp, const Op &op, LaneMask lanes) {
  warp.refreshClocks();
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) { d[i] = a[i]; });
}

/// An address with its bias. Op: as addressBias says.
static void addressOf(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  uint64_t address = addressBias(warp, op);
  forLanes(lanes, [&](unsigned i) { d[i] = address; });
}

bool Decoder::emitAddress(const ptx::Operand &operand, const Operand &dst) {
  int64_t imm = operand.offset;
  uint8_t flags = 0;
  switch (operand.symbol) {
  case ptx::SymbolKind::ModuleVariable:
    if (module.variables[operand.index].space != ptx::Space::Shared)
      return false;
    imm += sharedOffset(operand.index);
    flags = 1;
    break;
  case ptx::SymbolKind::Parameter:
    if (current->isKernel)
      return false;
    [[fallthrough]];
  case ptx::SymbolKind::Local:
  case ptx::SymbolKind::CallParam:
  case ptx::SymbolKind::Result:
    imm += frameOffset(operand);
    flags = 2;
    break;
  default:
    return false;
  }
  Op &op = emit(*currentInst, addressOf, InstructionClass::Move, dst, {});
  op.imm = imm;
  op.c = flags;
  return true;
}

Operand Decoder::source(const ptx::Operand &operand, unsigned bits) {
  using Kind = ptx::OperandKind;
  switch (operand.kind) {
  case Kind::Register: {
    Operand result = registers[operand.index];
    result.negated = operand.negated;
    return result;
  }
  case Kind::Immediate:
    return constant(lowBits(operand.bits, bits));
  case Kind::Special: {
    Operand special;
    special.bank = Bank::Special;
    special.bits = 64;
    special.index =
        static_cast<int32_t>(operand.special) * static_cast<int32_t>(warpSize);
    if (!isClock(operand.special))
      return special;
    Operand value = temporary(64);
    emit(*currentInst, readClock, InstructionClass::Move, value, special);
    return value;
  }
  case Kind::Symbol:
  case Kind::Address: {
    Operand value = temporary(64);
    if (emitAddress(operand, value))
      return value;
    uint64_t offset = static_cast<uint64_t>(operand.offset);
    switch (operand.symbol) {
    case ptx::SymbolKind::ModuleVariable:
      return constant(globals.lookup(operand.index) + offset);
    case ptx::SymbolKind::Function:
      return constant(codeAddress(operand.index));
    case ptx::SymbolKind::Parameter:
      if (current->isKernel)
        return constant(current->parameters[operand.index].offset + offset);
      break;
    case ptx::SymbolKind::Local:
    case ptx::SymbolKind::CallParam:
    case ptx::SymbolKind::Result:
      break;
    case ptx::SymbolKind::None:
      return constant(lowBits(offset, bits));
    }
    break;
  }
  default:
    break;
  }
  return Operand();
}

Operand Decoder::predicateSource(const ptx::Operand &operand) {
  if (operand.kind == ptx::OperandKind::Immediate)
    return constant(operand.bits != 0);
  return source(operand, 1);
}

Operand Decoder::destination(const ptx::Operand &operand, unsigned bits) {
  if (operand.kind == ptx::OperandKind::Register)
    return registers[operand.index];
  return temporary(bits);
}

llvm::Error Decoder::decodeInstruction(const ptx::Instruction &inst) {
  using O = ptx::Opcode;
  // `mma.sp`, `mma.sp::ordered_metadata`, `wgmma.mma_async.sp`, ...
  if ((inst.text.starts_with("mma.") || inst.text.starts_with("wgmma.") ||
       inst.text.starts_with("tcgen05.mma.")) &&
      inst.text.split(' ').first.contains(".sp"))
    return error(inst, "sparse products are not supported");
  switch (inst.opcode) {
  case O::Abs:
  case O::Neg:
  case O::Add:
  case O::Sub:
  case O::Mul:
  case O::Mad:
  case O::Div:
  case O::Min:
  case O::Max:
    return ptx::isFloat(inst.mods.type()) ? decodeFloat(*this, inst)
                                          : decodeInteger(*this, inst);
  case O::Rem:
  case O::Sad:
  case O::Mul24:
  case O::Mad24:
  case O::Addc:
  case O::Subc:
  case O::Madc:
  case O::Popc:
  case O::Clz:
  case O::Bfind:
  case O::Brev:
  case O::Bfe:
  case O::Bfi:
  case O::Fns:
  case O::Bmsk:
  case O::Szext:
  case O::Dp4a:
  case O::Dp2a:
    return decodeInteger(*this, inst);
  case O::Not:
  case O::Cnot:
  case O::And:
  case O::Or:
  case O::Xor:
  case O::Shl:
  case O::Shr:
  case O::Shf:
  case O::Lop3:
  case O::Prmt:
    return decodeLogic(*this, inst);
  case O::Fma:
  case O::Copysign:
  case O::Rcp:
  case O::Sqrt:
  case O::Rsqrt:
  case O::Sin:
  case O::Cos:
  case O::Lg2:
  case O::Ex2:
  case O::Tanh:
    return decodeFloat(*this, inst);
  case O::Set:
  case O::Setp:
  case O::Selp:
  case O::Slct:
  case O::Testp:
    return decodeCompare(*this, inst);
  case O::Cvt:
  case O::CvtPack:
    return decodeConvert(*this, inst);
  case O::Mov:
  case O::Isspacep:
  case O::Cvta:
  case O::Mapa:
  case O::Getctarank:
  case O::Createpolicy:
    return decodeMove(*this, inst);
  case O::Ld:
  case O::Ldu:
  case O::St:
  case O::Prefetch:
  case O::Prefetchu:
  case O::Discard:
  case O::Applypriority:
    return decodeMemory(*this, inst);
  case O::Atom:
  case O::Red:
  case O::Membar:
  case O::Fence:
  case O::FenceProxy:
  case O::FenceMbarrierInit:
    return decodeAtomic(*this, inst);
  case O::Bra:
  case O::BrxIdx:
  case O::Call:
  case O::Ret:
  case O::Exit:
  case O::Trap:
  case O::Brkpt:
  case O::Nanosleep:
  case O::Pmevent:
  case O::Griddepcontrol:
  case O::Setmaxnreg:
    return decodeControl(*this, inst);
  case O::BarSync:
  case O::BarArrive:
  case O::BarRed:
  case O::BarWarpSync:
  case O::BarrierClusterArrive:
  case O::BarrierClusterWait:
    return decodeBarrier(*this, inst);
  case O::Vote:
  case O::Match:
  case O::Activemask:
  case O::Redux:
  case O::Elect:
  case O::Shfl:
    return decodeWarpOp(*this, inst);
  case O::CpAsync:
  case O::CpAsyncCommitGroup:
  case O::CpAsyncWaitGroup:
  case O::CpAsyncWaitAll:
  case O::CpAsyncMbarrierArrive:
    return decodeAsyncCopy(*this, inst);
  case O::Ldmatrix:
  case O::Stmatrix:
  case O::Movmatrix:
  case O::Mma:
    return decodeMatrix(*this, inst);
  case O::MbarrierInit:
  case O::MbarrierInval:
  case O::MbarrierExpectTx:
  case O::MbarrierCompleteTx:
  case O::MbarrierArrive:
  case O::MbarrierArriveDrop:
  case O::MbarrierTestWait:
  case O::MbarrierTryWait:
  case O::MbarrierPendingCount:
    return decodeMBarrier(*this, inst);
  case O::CpAsyncBulk:
  case O::CpAsyncBulkPrefetch:
  case O::CpAsyncBulkPrefetchTensor:
  case O::CpAsyncBulkCommitGroup:
  case O::CpAsyncBulkWaitGroup:
  case O::CpReduceAsyncBulk:
  case O::StAsync:
  case O::RedAsync:
  case O::StBulk:
    return decodeBulkCopy(*this, inst);
  case O::CpAsyncBulkTensor:
  case O::CpReduceAsyncBulkTensor:
    return decodeTensorCopy(*this, inst);
  case O::TensormapReplace:
  case O::TensormapCpFenceproxy:
    return decodeTensorMapOp(*this, inst);
  case O::Tcgen05Alloc:
  case O::Tcgen05Dealloc:
  case O::Tcgen05RelinquishAllocPermit:
  case O::Tcgen05Ld:
  case O::Tcgen05St:
  case O::Tcgen05WaitLd:
  case O::Tcgen05WaitSt:
  case O::Tcgen05FenceBefore:
  case O::Tcgen05FenceAfter:
    return decodeTensorMemory(*this, inst);
  case O::Tcgen05Mma:
  case O::Tcgen05MmaWs:
  case O::Tcgen05Cp:
  case O::Tcgen05Shift:
  case O::Tcgen05Commit:
    return decodeTensorMultiply(*this, inst);
  case O::WgmmaMmaAsync:
  case O::WgmmaFence:
  case O::WgmmaCommitGroup:
  case O::WgmmaWaitGroup:
    return decodeWarpgroup(*this, inst);
  case O::ClusterLaunchControlTryCancel:
  case O::ClusterLaunchControlQueryCancel:
    return decodeClusterLaunchControl(*this, inst);
  case O::Alloca:
  case O::Stacksave:
  case O::Stackrestore:
    return decodeStack(*this, inst);
  case O::MultimemLdReduce:
  case O::MultimemSt:
  case O::MultimemRed:
    return error(inst, "multimem addresses several devices, and there is one");
  default:
    return unsupported(inst);
  }
}
