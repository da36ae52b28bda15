//===- Report.h - What a launch found and counted ---------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_REPORT_H
#define KVQ_EMULATOR_REPORT_H

#include "kvq/Emulator/Counters.h"
#include "llvm/Support/JSON.h"
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

struct Report {
  /// The grid ran to its end with no fatal finding.
  bool completed = false;
  std::vector<Finding> findings;
  Counters counters;
  /// CTAs that ran to their end.
  uint64_t ctas = 0;
  /// How warps are grouped where counters are shown; from the options.
  std::vector<WarpRole> roles;

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
