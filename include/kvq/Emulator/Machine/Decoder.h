//===- Decoder.h - From parsed PTX to operations ----------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_DECODER_H
#define KVQ_EMULATOR_MACHINE_DECODER_H

#include "kvq/Emulator/Machine/Program.h"
#include "kvq/Emulator/PTX/Module.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <unordered_map>

namespace kvq::emu {

/// Where the variables of a module lie, by their index in the module: the
/// address of global and constant ones.
using VariableAddresses = llvm::DenseMap<uint32_t, uint64_t>;

/// Decodes a kernel and every function that it may reach. The error names file,
/// line and instruction of the first one that is not supported.
llvm::Expected<std::unique_ptr<Program>>
decodeKernel(const ptx::Module &module, const ptx::Function &kernel,
             const VariableAddresses &globals);

/// The state of decoding one kernel.
class Decoder {
public:
  Decoder(const ptx::Module &module, const VariableAddresses &globals,
          Program &program)
      : module(module), globals(globals), program(program) {}

  llvm::Error run(const ptx::Function &kernel);

  /// The function being decoded.
  const ptx::Function &function() const { return *current; }
  llvm::ArrayRef<ptx::Operand> elements(const ptx::Operand &operand) const {
    return current->elements(operand);
  }

  /// An error at an instruction.
  llvm::Error error(const ptx::Instruction &inst,
                    const llvm::Twine &message) const;
  llvm::Error unsupported(const ptx::Instruction &inst) const {
    return error(inst, "this instruction is not supported");
  }

  /// The operand as 32 values; immediates are cut to `bits`. May emit
  /// operations that compute it. What cannot be read, or is a register of less
  /// than `bits`, is an error of the instruction. 0 takes any register.
  Operand source(const ptx::Operand &operand, unsigned bits);
  /// Emits the address of a symbol that is not the same for all threads of the
  /// grid into `dst`: shared variables and those of the frame. False for
  /// others.
  bool emitAddress(const ptx::Operand &operand, const Operand &dst);
  /// A predicate as a source: registers and immediates.
  Operand predicateSource(const ptx::Operand &operand);
  /// A register to write, of at least `bits`; `_` gives one that nobody reads.
  /// Anything else is an error of the instruction.
  Operand destination(const ptx::Operand &operand, unsigned bits);
  /// A register of this function that no PTX name stands for.
  Operand temporary(unsigned bits);
  Operand constant(uint64_t value);
  /// The carry flag of the function, as a predicate.
  Operand carryFlag();
  /// Whether an operand is an immediate; its value cut to `bits`.
  static std::optional<uint64_t> immediate(const ptx::Operand &operand);

  /// Index of a function in the program; queued for decoding if new.
  uint32_t functionIndex(const ptx::Function &callee);
  uint32_t functionIndex(uint32_t moduleIndex) {
    return functionIndex(module.functions[moduleIndex]);
  }
  /// The window offset of a shared variable of the module.
  uint32_t sharedOffset(uint32_t variable);
  /// Offset of a symbol in the frame: locals, call areas, parameters.
  uint32_t frameOffset(const ptx::Operand &symbol);

  template <typename T>
  T *newExtra() {
    auto extra = std::make_unique<T>();
    T *result = extra.get();
    program.extras.push_back(std::move(extra));
    return result;
  }

  /// Appends an operation with the instruction's guard and text.
  Op &emit(const ptx::Instruction &inst, Handler handler,
           InstructionClass category, llvm::ArrayRef<Operand> dst,
           llvm::ArrayRef<Operand> src);
  /// The target of `op` is an instruction of the current function: sets
  /// `op.imm` once its place is known.
  void patchTarget(const Op &op, uint32_t instruction);
  /// A list of instruction indices that becomes a list of pcs.
  void patchTable(std::vector<uint32_t> *table) { tables.push_back(table); }

  const ptx::Module &module;
  const VariableAddresses &globals;
  Program &program;

private:
  friend llvm::Expected<std::unique_ptr<Program>>
  decodeKernel(const ptx::Module &, const ptx::Function &,
               const VariableAddresses &);
  llvm::Error decodeFunction(uint32_t index);
  llvm::Error decodeInstruction(const ptx::Instruction &inst);
  /// The register of an operand; it must have at least `bits`, and be a
  /// predicate if that is 1.
  Operand registerOf(const ptx::Operand &operand, unsigned bits);
  void complain(const llvm::Twine &message);
  /// Marks the operations from `first` on as one instruction for the counters.
  void countAsOne(size_t first, const ptx::Instruction &inst);
  void layoutFrame(const ptx::Function &function, ProgramFunction &result);
  void layoutShared();
  llvm::Error reach(const ptx::Function &kernel);

  const ptx::Function *current = nullptr;
  const ptx::Instruction *currentInst = nullptr;
  uint32_t currentIndex = 0;
  std::vector<const ptx::Function *> order;
  llvm::DenseMap<const ptx::Function *, uint32_t> indices;
  /// Not a DenseMap, which keeps two keys (all bits set) for itself.
  std::unordered_map<uint64_t, uint32_t> constantIndex;
  llvm::DenseMap<uint32_t, uint32_t> sharedOffsets;
  std::vector<Operand> registers;
  Operand carry;
  /// What is wrong with the instruction that is being decoded; empty if nothing
  /// is.
  std::string mistake;
  std::vector<std::pair<size_t, uint32_t>> targets;
  std::vector<std::vector<uint32_t> *> tables;
};

/// Decoders of instruction families. Each emits operations for an opcode of its
/// family, or returns an error.
llvm::Error decodeInteger(Decoder &decoder, const ptx::Instruction &inst);
/// Chains of words; also any arithmetic with `.cc`.
llvm::Error decodeCarry(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeBitField(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeLogic(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeFloat(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeCompare(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeConvert(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeMove(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeMemory(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeAtomic(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeControl(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeBarrier(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeWarpOp(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeAsyncCopy(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeMatrix(Decoder &decoder, const ptx::Instruction &inst);
/// mma.sync and wmma.mma.
llvm::Error decodeMma(Decoder &decoder, const ptx::Instruction &inst);
/// wmma.load and wmma.store.
llvm::Error decodeFragment(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeBulkCopy(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeAsyncStore(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeTensorCopy(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeTensorMapOp(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeTensorAllocation(Decoder &decoder,
                                   const ptx::Instruction &inst);
llvm::Error decodeTensorMemory(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeTensorMultiply(Decoder &decoder,
                                 const ptx::Instruction &inst);
llvm::Error decodeWarpgroup(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeClusterLaunchControl(Decoder &decoder,
                                       const ptx::Instruction &inst);
llvm::Error decodeStack(Decoder &decoder, const ptx::Instruction &inst);
llvm::Error decodeMBarrier(Decoder &decoder, const ptx::Instruction &inst);

/// The unit that an instruction of a class occupies.
Pipe pipeOf(const ptx::Instruction &inst, InstructionClass category);

/// Emits what fills the `.reg` parameters of a device function.
void emitFunctionEntry(Decoder &decoder, const ptx::Instruction &place);

/// The address operand of a memory instruction.
struct AddressOperand {
  /// None if the address is `imm` alone.
  Operand base;
  int64_t imm = 0;
  Space space = Space::Generic;
  /// Op::c of a memory operation: bit 0 adds the CTA's rank, bit 1 the frame.
  uint8_t flags = 0;
};
llvm::Expected<AddressOperand> decodeAddress(Decoder &decoder,
                                             const ptx::Instruction &inst,
                                             const ptx::Operand &operand,
                                             Space space);
/// The machine's space for a PTX space of an instruction.
Space toSpace(ptx::Space space);
MemoryOrder toOrder(ptx::Order order, MemoryOrder none);
MemoryScope toScope(ptx::Scope scope, MemoryScope none);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_DECODER_H
