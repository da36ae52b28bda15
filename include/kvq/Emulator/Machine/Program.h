//===- Program.h - A kernel decoded for execution ---------------*- C++ -*-===//
//
// A kernel and the functions that it reaches become one array of operations.
// Each has its handler and its operands resolved to register slots, so that
// execution never looks at text.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_PROGRAM_H
#define KVQ_EMULATOR_MACHINE_PROGRAM_H

#include "kvq/Emulator/Report.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace kvq::emu {

class Warp;
struct Op;

constexpr unsigned warpSize = 32;
/// One bit per thread of a warp.
using LaneMask = uint32_t;
constexpr LaneMask allLanes = ~LaneMask(0);

/// Executes one operation for the threads in `lanes`, never empty unless the
/// operation asked for it. The group's pc is already that of the next one.
using Handler = void (*)(Warp &warp, const Op &op, LaneMask lanes);

/// Where an operand's 32 values lie. Each is a pointer the warp keeps.
enum class Bank : uint8_t { Register, Constant, Special, None };

/// One operand: 32 values of 64 bits at an offset into a bank. A predicate is a
/// lane mask at an index into the predicate file; a 128-bit operand takes this
/// slot and the next.
struct Operand {
  Bank bank = Bank::None;
  /// The value is a predicate; `index` counts predicates.
  bool predicate = false;
  /// A predicate is read negated.
  bool negated = false;
  /// Register width in bits; 1 for predicates.
  uint8_t bits = 0;
  /// In values: 32 times the slot.
  int32_t index = 0;

  bool isNone() const { return bank == Bank::None && !predicate; }
};

/// State spaces of an access.
enum class Space : uint8_t {
  Generic,
  Global,
  Shared,        ///< The CTA's own shared memory.
  SharedCluster, ///< Any shared memory of the cluster.
  Local,
  Const,
  KernelParam,
  FrameParam, ///< Parameters of device functions and calls: part of the frame.
  Tensor
};

/// Orders and scopes of memory operations.
enum class MemoryOrder : uint8_t {
  Weak,
  Relaxed,
  Acquire,
  Release,
  AcqRel,
  SeqCst
};
enum class MemoryScope : uint8_t { Cta, Cluster, Gpu, Sys };

/// What a handler needs beyond its operands, where that is more than a few
/// numbers; handlers derive from it.
struct OpExtra {
  virtual ~OpExtra() = default;
};

struct Op {
  Handler handler = nullptr;
  /// Operands: destinations first, then sources, then the address.
  const Operand *operands = nullptr;
  /// Guard predicate, or -1.
  int32_t guard = -1;
  bool guardNegated = false;
  /// The handler runs even where no thread passes the guard.
  bool always = false;
  InstructionClass category = InstructionClass::Other;
  /// Index into Program::countKinds.
  uint8_t countKind = 0;
  uint8_t numDst = 0;
  uint8_t numSrc = 0;
  /// Element width in bits, vector length, space: meaning is the handler's.
  uint8_t bits = 0;
  uint8_t count = 1;
  Space space = Space::Generic;
  MemoryOrder order = MemoryOrder::Weak;
  MemoryScope scope = MemoryScope::Gpu;
  /// Small numbers and flags of the handler.
  uint8_t a = 0, b = 0, c = 0;
  bool isSigned = false;
  /// An address offset, target pc, look-up table...
  int64_t imm = 0;
  /// A numeric function; the handler knows its type.
  void (*function)() = nullptr;
  const OpExtra *extra = nullptr;
  uint32_t line = 0;
  /// The whole instruction for messages.
  llvm::StringRef text;
  /// `text` with each run of blanks and line ends as one space.
  std::string oneLine() const {
    std::string result;
    for (char c : text) {
      bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      if (!blank || (!result.empty() && result.back() != ' '))
        result += blank ? ' ' : c;
    }
    return result;
  }

  const Operand &dst(unsigned i = 0) const { return operands[i]; }
  const Operand &src(unsigned i) const { return operands[numDst + i]; }
};

/// A parameter or return value in a frame.
struct FrameSlot {
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct ProgramFunction {
  std::string name;
  uint32_t entry = 0;
  uint32_t end = 0;
  uint32_t registers = 0;
  uint32_t predicates = 0;
  /// Bytes of local variables, parameters and call areas.
  uint32_t frameBytes = 0;
  std::vector<FrameSlot> parameters;
  std::vector<FrameSlot> results;
};

/// What an operation counts as.
struct CountKind {
  InstructionClass category = InstructionClass::Other;
  Pipe pipe = Pipe::Control;
};

/// What a function's address is: its number in the module, far from any data.
constexpr uint64_t codeAddress(uint32_t moduleFunction) {
  return (uint64_t(0x7f) << 56) + 16 * (uint64_t(moduleFunction) + 1);
}

struct Program {
  std::string name;
  std::string file;
  std::vector<Op> ops;
  std::deque<llvm::SmallVector<Operand, 8>> operandLists;
  std::vector<std::unique_ptr<OpExtra>> extras;
  /// Immediate operands, 32 copies of each.
  std::vector<uint64_t> constants;
  std::vector<ProgramFunction> functions;
  /// The first stands for operations that are not counted: those that compute
  /// an operand of the next one.
  std::vector<CountKind> countKinds = {CountKind()};
  /// For each function of the module its place in `functions`, or -1.
  std::vector<int32_t> functionOfModule;
  /// The kernel is functions[0].
  uint32_t parameterBytes = 0;
  /// Shared memory from the start of the window: variables with a size, then
  /// the dynamic part.
  uint32_t sharedBase = 0;
  uint32_t staticSharedEnd = 0;
  uint32_t dynamicSharedBase = 0;
  bool usesTensorMemory = false;
  /// Atomic operations on floats in global memory, whose order shows.
  bool hasFloatAtomics = false;
  /// Calls of malloc and free.
  bool usesHeap = false;

  /// The function that holds a pc.
  const ProgramFunction &functionAt(uint32_t pc) const;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_PROGRAM_H
