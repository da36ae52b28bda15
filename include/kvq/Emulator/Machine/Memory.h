//===- Memory.h - From an address to bytes, with checks ---------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_MEMORY_H
#define KVQ_EMULATOR_MACHINE_MEMORY_H

#include "kvq/Emulator/Machine/Launch.h"
#include <cstring>

namespace kvq::emu {

/// Bytes that an address stands for.
struct Location {
  uint8_t *host = nullptr;
  /// The written map at the same place; null if none is kept.
  uint8_t *written = nullptr;
  /// Global, Shared, Local, KernelParam: never Generic.
  Space space = Space::Global;
  /// The address as messages show it.
  uint64_t shown = 0;
};

/// What `op.imm` and the operation's flags add to an address register.
/// Op: c bit 0 adds the CTA's rank, bit 1 the thread's frame.
inline uint64_t addressBias(const Warp &warp, const Op &op) {
  uint64_t bias = static_cast<uint64_t>(op.imm);
  if (op.c & 1)
    bias += uint64_t(warp.cta.rank) << sharedRankShift;
  if (op.c & 2)
    bias += warp.localBase();
  return bias;
}

/// The slow path of `locate`: other spaces, and the messages.
bool locateSlow(Warp &warp, const Op &op, unsigned lane, Space space,
                uint64_t address, unsigned bytes, unsigned alignment,
                Location &result);

/// Finds `bytes` at an address, aligned to `alignment` (a power of two). False
/// after a fatal report.
inline bool locate(Warp &warp, const Op &op, unsigned lane, Space space,
                   uint64_t address, unsigned bytes, unsigned alignment,
                   Location &result) {
  if ((space == Space::Global ||
       (space == Space::Generic && !(address & windowMask))) &&
      !(address & (alignment - 1)) && warp.lastAllocation &&
      warp.lastAllocation->contains(address, bytes)) {
    result.host = reinterpret_cast<uint8_t *>(address);
    result.space = Space::Global;
    result.shown = address;
    LazyBytes *written = warp.lastAllocation->written.get();
    result.written =
        written ? written->data() + (address - warp.lastAllocation->base)
                : nullptr;
    return true;
  }
  return locateSlow(warp, op, lane, space, address, bytes, alignment, result);
}

/// A weak store of these bytes: whether they are what memory holds already.
inline AccessKind kindOfStore(const Location &location, const void *bytes,
                              unsigned size) {
  return memcmp(location.host, bytes, size) ? AccessKind::Write
                                            : AccessKind::SameWrite;
}

/// The written map of an access: checks reads, notes writes.
void noteWritten(Warp &warp, const Op &op, unsigned lane,
                 const Location &location, unsigned bytes, AccessKind kind);
/// Checks and notes an access that is about to happen.
void noteAccessSlow(Warp &warp, const Op &op, unsigned lane,
                    const Location &location, unsigned bytes, AccessKind kind);
inline void noteAccess(Warp &warp, const Op &op, unsigned lane,
                       const Location &location, unsigned bytes,
                       AccessKind kind) {
  if (warp.launch.checkRaces || location.written)
    noteAccessSlow(warp, op, lane, location, bytes, kind);
}

/// An aligned word of 1, 2, 4 or 8 bytes of the device's memory. CTAs on other
/// threads may access it too: where the kernel orders the two, so does this,
/// and where it does not, no word is torn.
inline uint64_t readBytes(const uint8_t *from, unsigned bytes) {
  switch (bytes) {
  case 1:
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
  case 2:
    return __atomic_load_n(reinterpret_cast<const uint16_t *>(from),
                           __ATOMIC_ACQUIRE);
  case 4:
    return __atomic_load_n(reinterpret_cast<const uint32_t *>(from),
                           __ATOMIC_ACQUIRE);
  default:
    return __atomic_load_n(reinterpret_cast<const uint64_t *>(from),
                           __ATOMIC_ACQUIRE);
  }
}

inline void writeBytes(uint8_t *to, uint64_t value, unsigned bytes) {
  // Hosts of the emulator are little-endian, as the device is.
  switch (bytes) {
  case 1:
    return __atomic_store_n(to, static_cast<uint8_t>(value), __ATOMIC_RELEASE);
  case 2:
    return __atomic_store_n(reinterpret_cast<uint16_t *>(to),
                            static_cast<uint16_t>(value), __ATOMIC_RELEASE);
  case 4:
    return __atomic_store_n(reinterpret_cast<uint32_t *>(to),
                            static_cast<uint32_t>(value), __ATOMIC_RELEASE);
  default:
    return __atomic_store_n(reinterpret_cast<uint64_t *>(to), value,
                            __ATOMIC_RELEASE);
  }
}

/// Counts bytes that an asynchronous copy moves from or to one place.
void countTransfer(Warp &warp, const Location &location, uint64_t bytes,
                   bool write);

/// The accesses of one warp instruction, for the counters.
class AccessCounter {
public:
  AccessCounter(Warp &warp, bool write) : warp(warp), write(write) {}
  void add(const Location &location, unsigned bytes) {
    if (location.space != Space::Global && location.space != Space::Shared)
      return;
    if (count && (bytes != size || space != location.space)) {
      finish();
      count = 0;
    }
    space = location.space;
    size = bytes;
    addresses[count++] = location.space == Space::Global
                             ? reinterpret_cast<uint64_t>(location.host)
                             : location.shown & 0xffffffffu;
  }
  ~AccessCounter() {
    if (count)
      finish();
  }

private:
  void finish();

  Warp &warp;
  bool write;
  Space space = Space::Global;
  unsigned size = 0;
  unsigned count = 0;
  uint64_t addresses[warpSize];
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_MEMORY_H
