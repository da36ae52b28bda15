//===- Report.h - What a launch found and counted ---------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_REPORT_H
#define KVQ_EMULATOR_REPORT_H

#include "llvm/Support/JSON.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace kvq::emu {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t volume() const { return uint64_t(x) * y * z; }
};

enum class FindingKind {
  OutOfBounds,
  Misaligned,
  Uninitialized,
  Race,
  /// Generic-proxy and asynchronous-proxy accesses without a proxy fence.
  ProxyRace,
  /// A barrier, mbarrier or transaction count used against its rules.
  BarrierMisuse,
  /// Tensor memory misused or leaked.
  TensorMemory,
  /// A descriptor, instruction word or operand value that is not legal.
  IllegalOperand,
  /// Threads of a warp apart at an `.aligned` instruction.
  Divergence,
  Deadlock,
  Trap,
  AssertFailed,
  Unsupported,
  StepLimit,
  Interrupted
};

/// The finding kind's name in reports: `out-of-bounds`, `race`, ...
const char *stringify(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::Trap;
  /// Whether the launch ended with it.
  bool fatal = false;
  std::string kernel;
  std::string file;
  unsigned line = 0;
  /// The instruction as the PTX has it; empty where none is to blame.
  std::string instruction;
  Dim3 cta{0, 0, 0};
  Dim3 thread{0, 0, 0};
  uint64_t address = 0;
  std::string message;
  /// How often the same instruction had the same finding.
  uint64_t occurrences = 1;
};

/// Classes of instructions that are counted apart.
enum class InstructionClass : uint8_t {
  Conversion,
  Integer,
  Float,
  Double,
  SpecialFunction,
  Move,
  Control,
  Barrier,
  Warp,
  Global,
  Shared,
  Local,
  Constant,
  Atomic,
  AsyncCopy,
  Tensor,
  Other
};
constexpr unsigned numInstructionClasses =
    static_cast<unsigned>(InstructionClass::Other) + 1;
const char *stringify(InstructionClass kind);

struct Counters {
  /// Instructions issued per warp, and the threads that took part in them.
  std::array<uint64_t, numInstructionClasses> warpInstructions{};
  std::array<uint64_t, numInstructionClasses> threadInstructions{};
  /// Warp instructions by warp index in the CTA, over all CTAs.
  std::vector<uint64_t> warpInstructionsByWarp;
  /// Bytes that threads asked for, and 32-byte sectors per warp instruction.
  uint64_t globalReadBytes = 0, globalWriteBytes = 0;
  uint64_t globalReadSectors = 0, globalWriteSectors = 0;
  /// Sectors touched at least once in the launch.
  uint64_t distinctReadSectors = 0, distinctWriteSectors = 0;
  /// Passes over the 32 four-byte banks; without conflicts one per 128 bytes.
  uint64_t sharedWavefronts = 0;
  uint64_t sharedReadBytes = 0, sharedWriteBytes = 0;
  /// Bytes moved by asynchronous copies between global and shared memory.
  uint64_t asyncCopyBytes = 0;
  uint64_t tensorMemoryReadBytes = 0, tensorMemoryWriteBytes = 0;
  /// Multiply-adds of tensor-core instructions, and bytes of their operands.
  uint64_t tensorMultiplyAdds = 0, tensorOperandBytes = 0;

  uint64_t totalWarpInstructions() const;
  uint64_t totalThreadInstructions() const;
  void add(const Counters &other);
};

struct Report {
  /// The grid ran to its end with no fatal finding.
  bool completed = false;
  std::vector<Finding> findings;
  Counters counters;
  uint64_t ctas = 0;

  bool ok() const { return completed && findings.empty(); }
  /// `{"completed": .., "findings": [..], "counters": {..}}`.
  llvm::json::Value toJSON() const;
  /// Findings as compiler-like diagnostics, one block each.
  void printFindings(llvm::raw_ostream &os) const;
  /// The counters as a table.
  void printCounters(llvm::raw_ostream &os) const;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_REPORT_H
