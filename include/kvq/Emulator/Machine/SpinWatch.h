//===- SpinWatch.h - Threads that repeat themselves forever -----*- C++ -*-===//
//
// Threads that spin on what nobody changes any more never end, and never wait
// either. What a group of threads does next depends on its registers and on
// memory. If its registers are what they were at an earlier moment, and nothing
// has been written in between, it will do the same again, forever.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_SPINWATCH_H
#define KVQ_EMULATOR_MACHINE_SPINWATCH_H

#include "kvq/Emulator/Machine/Program.h"
#include <vector>

namespace kvq::emu {

struct Group;
class Warp;

class SpinWatch {
public:
  /// The group has run. `epoch` changes whenever anything was written.
  void sample(const Warp &warp, const Group &group, uint64_t epoch);
  /// Whether the group has come back to where it was in this epoch.
  bool repeats(const Group &group, uint64_t epoch) const;

  /// The group's last load or atomic operation, and its address.
  const Op *read = nullptr;
  uint64_t address = 0;

private:
  void save(const Warp &warp, const Group &group);
  bool isSaved(const Warp &warp, const Group &group) const;

  bool found = false;
  uint64_t epoch = 0;
  /// The moment that later ones are compared with. It moves on after 1, 2, 4...
  /// of them, so that a cycle of any length is found.
  uint64_t samples = 0, nextSave = 0;
  LaneMask lanes = 0;
  uint32_t pc = 0, depth = 0;
  uint64_t oracles = 0;
  std::vector<uint64_t> registers;
  std::vector<LaneMask> predicates;
  /// What else the threads have to themselves: where they return to, and their
  /// local memory.
  struct Private {
    std::vector<uint64_t> places;
    std::vector<uint8_t> memory;
    bool operator==(const Private &other) const {
      return places == other.places && memory == other.memory;
    }
  };
  static Private privateOf(const Warp &warp, LaneMask lanes);
  Private own;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_SPINWATCH_H
