//===- MemoryImage.h - What memory was at some time -------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_MEMORYIMAGE_H
#define KVQ_EMULATOR_MACHINE_MEMORYIMAGE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kvq::emu {

class GlobalMemory;

/// The bytes of all allocations at some time, and which of them were written.
class MemoryImage {
public:
  explicit MemoryImage(const GlobalMemory &memory);

  /// Makes those allocations that are there still what they were.
  void restore(GlobalMemory &memory) const;
  /// Describes the first written byte of `memory` that is not what it was here;
  /// empty if there is none. Allocations of one side alone do not count.
  std::string findDifference(const GlobalMemory &memory) const;

private:
  struct Part {
    uint64_t size = 0;
    std::vector<uint8_t> bytes;
    /// Empty where all count as written.
    std::vector<uint8_t> written;
  };
  std::map<uint64_t, Part> parts;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_MEMORYIMAGE_H
