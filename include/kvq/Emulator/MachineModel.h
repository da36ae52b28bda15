//===- MachineModel.h - Rates of a chip, and what they bound ----*- C++ -*-===//
//
// A machine file says how fast each resource of a chip is. With the counters of
// a launch it gives the clocks that each resource is busy, beside the clocks
// that the memory needs for the distinct bytes: the largest is a bound on the
// speed of any schedule of that work.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINEMODEL_H
#define KVQ_EMULATOR_MACHINEMODEL_H

#include "kvq/Emulator/Counters.h"
#include <string>
#include <utility>
#include <vector>

namespace kvq::emu {

/// One machine file. All rates are per clock and multiprocessor but for the
/// memory's, which is of the chip.
struct MachineModel {
  struct Resource {
    std::string name;
    /// Counters (Counters::find) and what one of each takes of the resource.
    std::vector<std::pair<std::string, double>> uses;
    double perClock = 1;
    std::string source;
  };
  /// Rates of one family and kind of tensor-core instructions.
  struct TensorRate {
    std::string family, kind;
    double multiplyAddsPerClock = 1;
    /// An instruction takes at least this long, and as long as one of this
    /// many rows.
    double minimumClocks = 0;
    unsigned minimumRows = 0;
    std::string source;
  };

  std::string name;
  unsigned processors = 0;
  double clockGHz = 0;
  double memoryBytesPerSecond = 0;
  std::string source;
  std::vector<Resource> resources;
  std::vector<TensorRate> tensor;

  /// Reads a machine file's text; `name` stands for it in errors, which name
  /// the field.
  static llvm::Expected<MachineModel> parse(llvm::StringRef json,
                                            llvm::StringRef name);
  /// The machine of this name that kvq has, or else the file.
  static llvm::Expected<MachineModel> load(llvm::StringRef nameOrFile);
  /// Names of the machines that kvq has.
  static std::vector<llvm::StringRef> builtins();
  /// The text of a machine file that kvq has; empty if there is none.
  static llvm::StringRef builtinText(llvm::StringRef name);

  double memoryBytesPerClock() const {
    return memoryBytesPerSecond / (clockGHz * 1e9);
  }
};

/// Busy clocks of each resource, were all multiprocessors equally busy.
struct MachineEstimate {
  struct Row {
    std::string name;
    double clocks = 0;
    /// Of the memory's time; 0 if that is 0.
    double ofMemory = 0;
  };
  std::string machine;
  /// Clocks of the memory for the distinct bytes of the launch.
  double memoryClocks = 0;
  std::vector<Row> resources;
  /// The busiest resource, or `memory`.
  std::string bound;
  double boundClocks = 0;
  /// The memory's time by the bound's: the largest share of the memory's rate
  /// that the work can reach.
  double memoryShare = 0;
  /// Work that no rate is known for, such as a kind of tensor-core
  /// instruction; it counts as taking no time.
  std::vector<std::string> unknown;

  llvm::json::Object toJSON() const;
  void print(llvm::raw_ostream &os) const;
};

MachineEstimate estimate(const MachineModel &machine, const Counters &counters);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINEMODEL_H
