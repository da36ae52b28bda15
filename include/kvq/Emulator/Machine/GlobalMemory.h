//===- GlobalMemory.h - Device allocations with known bounds ----*- C++ -*-===//
//
// Device addresses are host addresses: allocations live in one reserved range
// of the process with unmapped pages around each, and host memory that is
// registered keeps its own address. Each allocation knows its bounds and,
// where wanted, which of its bytes have been written.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_GLOBALMEMORY_H
#define KVQ_EMULATOR_MACHINE_GLOBALMEMORY_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace kvq::emu {

/// A range of zero pages that cost memory only once touched.
class LazyBytes {
public:
  explicit LazyBytes(uint64_t size);
  ~LazyBytes();
  LazyBytes(const LazyBytes &) = delete;
  LazyBytes &operator=(const LazyBytes &) = delete;

  uint8_t *data() { return bytes; }
  const uint8_t *data() const { return bytes; }
  /// Makes everything zero again.
  void clear();

private:
  uint8_t *bytes = nullptr;
  uint64_t mapped = 0;
};

/// Which bytes of an allocation a launch has touched: per 32-byte sector (of
/// addresses, so the first may begin before the allocation) two masks.
class TouchedBytes {
public:
  struct Sector {
    uint32_t read, written;
  };
  struct Totals {
    uint64_t readBytes = 0, writtenBytes = 0;
    uint64_t readSectors = 0, writtenSectors = 0;
  };

  TouchedBytes(uint64_t base, uint64_t size);
  /// Marks bytes of the allocation. `shared` where other threads do it too.
  void mark(uint64_t address, uint64_t bytes, bool write, bool shared);
  void clear();
  void addTo(Totals &totals) const;

private:
  static constexpr unsigned blockSectors = 128;
  const uint64_t firstSector;
  const uint64_t numSectors;
  LazyBytes sectors;
  /// Non-zero for blocks of sectors with a mark, so that nobody has to look
  /// through all of a large allocation.
  LazyBytes blocks;
};

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  std::string name;
  bool registered = false;
  /// From malloc on the device.
  bool heap = false;
  /// A `.const` variable.
  bool constant = false;
  /// One byte per byte, non-zero once written; null where all count as written.
  std::unique_ptr<LazyBytes> written;
  /// Made by GlobalMemory::beginLaunch.
  std::unique_ptr<TouchedBytes> touched;

  bool contains(uint64_t address, uint64_t bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
};

/// All memory that kernels reach by a global address.
class GlobalMemory {
public:
  GlobalMemory() = default;
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory &) = delete;
  GlobalMemory &operator=(const GlobalMemory &) = delete;

  /// New memory of `bytes` (one page at least), aligned to 256 bytes.
  /// `trackWrites` asks for the written map. Fails when the range is used up.
  llvm::Expected<Allocation *> allocate(uint64_t bytes, llvm::StringRef name,
                                        bool trackWrites);
  llvm::Error free(uint64_t address);
  llvm::Error registerHost(uint64_t address, uint64_t bytes,
                           llvm::StringRef name);
  llvm::Error unregisterHost(uint64_t address);

  /// The allocation that holds the address, or the nearest one below it.
  Allocation *findAtOrBelow(uint64_t address);
  /// The allocation that holds all of the bytes, or null.
  Allocation *find(uint64_t address, uint64_t bytes) {
    Allocation *found = findAtOrBelow(address);
    return found && found->contains(address, bytes) ? found : nullptr;
  }
  /// What lies at an address that is out of bounds, in words.
  std::string describe(uint64_t address);
  /// Prepares every allocation for the marks of a launch.
  void beginLaunch();
  /// What the launch has touched.
  TouchedBytes::Totals countTouched() const;
  void markWritten(uint64_t address, uint64_t bytes);
  void forEach(llvm::function_ref<void(const Allocation &)> visit) const {
    for (const auto &entry : allocations)
      visit(*entry.second);
  }

private:
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations;
  /// Unused parts of the reserved range: base to size.
  std::map<uint64_t, uint64_t> unused;
  uint8_t *arena = nullptr;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_GLOBALMEMORY_H
