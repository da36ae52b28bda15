//===- Counters.h - What a launch counts ------------------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_COUNTERS_H
#define KVQ_EMULATOR_COUNTERS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace kvq::emu {

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

/// The unit of a multiprocessor that an instruction occupies, as far as rates
/// are known to differ. Machine files give the rate of each.
enum class Pipe : uint8_t {
  /// Integer and logic, compares, selects, minima, widening conversions.
  Alu,
  /// Conversions that pack 8, 6 or 4-bit floats.
  AluPack,
  /// One f32 operation per thread.
  Fma,
  /// Packed 16-bit and f32x2 operations, integer multiplication.
  FmaWide,
  /// ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh, approximate division, bit
  /// counts, conversions between integers and floats.
  Special,
  Double,
  /// Loads, stores, atomics and exchanges between threads.
  Memory,
  /// One bulk or tensor copy.
  BulkCopy,
  Tensor,
  /// Copies between registers, which ptxas mostly removes, and loads of
  /// parameters, which it folds into other instructions.
  Move,
  Control
};
constexpr unsigned numPipes = static_cast<unsigned>(Pipe::Control) + 1;
const char *stringify(Pipe pipe);

/// Instructions by class and pipe, of one warp index or of several.
struct InstructionCounts {
  /// Instructions issued per warp, and the threads that took part in them.
  std::array<uint64_t, numInstructionClasses> warp{};
  std::array<uint64_t, numInstructionClasses> thread{};
  /// Warp instructions by pipe.
  std::array<uint64_t, numPipes> pipes{};

  uint64_t totalWarp() const;
  uint64_t totalThread() const;
  void add(const InstructionCounts &other);
  bool operator==(const InstructionCounts &other) const {
    return warp == other.warp && thread == other.thread && pipes == other.pipes;
  }
  llvm::json::Object toJSON() const;
};

/// Warps of a CTA that do one job, for the report.
struct WarpRole {
  std::string name;
  /// Warp indices in the CTA.
  std::vector<unsigned> warps;

  /// Reads `0:load,1:mma,2-5:softmax`; the same name may occur again.
  static llvm::Expected<std::vector<WarpRole>> parse(llvm::StringRef text);
};

/// The form of a tensor-core instruction: family, kind and shape.
struct TensorForm {
  /// `mma.sync`, `wgmma` or `tcgen05`. Both texts have static storage.
  llvm::StringRef family;
  /// `f16`, `tf32`, `f8f6f4`, `i8`, `mxf4nvf4`, ..., the kinds of tcgen05; for
  /// the others the one of their operand types.
  llvm::StringRef kind;
  unsigned m = 0, n = 0, k = 0;
  bool operator<(const TensorForm &other) const {
    return std::tie(family, kind, m, n, k) <
           std::tie(other.family, other.kind, other.m, other.n, other.k);
  }
};

struct TensorCounts {
  uint64_t instructions = 0;
  uint64_t multiplyAdds = 0;
  /// Bytes of A, B and scales by where they are read from; accumulators are
  /// not included.
  uint64_t registerBytes = 0, sharedBytes = 0, tensorMemoryBytes = 0;
};

struct Counters {
  /// By warp index in the CTA, over all CTAs.
  std::vector<InstructionCounts> warps;
  /// Bytes that threads and copies asked for, and 32-byte sectors per warp
  /// instruction or copy.
  uint64_t globalReadBytes = 0, globalWriteBytes = 0;
  uint64_t globalReadSectors = 0, globalWriteSectors = 0;
  /// Bytes and sectors touched at least once in the launch.
  uint64_t distinctReadBytes = 0, distinctWriteBytes = 0;
  uint64_t distinctReadSectors = 0, distinctWriteSectors = 0;
  /// Passes over the 32 four-byte banks; without conflicts one per 128 bytes.
  /// Tensor-core instructions are not included: see TensorCounts.
  uint64_t sharedWavefronts = 0;
  uint64_t sharedReadBytes = 0, sharedWriteBytes = 0;
  /// Bytes moved by asynchronous copies between global and shared memory.
  uint64_t asyncCopyBytes = 0;
  /// tcgen05.ld, st and cp.
  uint64_t tensorMemoryReadBytes = 0, tensorMemoryWriteBytes = 0;
  std::map<TensorForm, TensorCounts> tensor;

  InstructionCounts instructions() const;
  TensorCounts tensorTotal() const;
  uint64_t totalWarpInstructions() const { return instructions().totalWarp(); }
  uint64_t totalThreadInstructions() const {
    return instructions().totalThread();
  }
  /// One tensor-core instruction that multiplies m x k by k x n.
  void addTensor(const TensorForm &form, const TensorCounts &operands);
  void add(const Counters &other);
  /// A count by its name in the report: `warpInstructions`, a pipe's name,
  /// `sharedWavefronts`, `tensorSharedBytes`, ...
  std::optional<uint64_t> find(llvm::StringRef name) const;

  /// `roles` adds a row for each.
  llvm::json::Object toJSON(const std::vector<WarpRole> &roles) const;
  void print(llvm::raw_ostream &os, const std::vector<WarpRole> &roles) const;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_COUNTERS_H
