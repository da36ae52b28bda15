//===- BulkCopy.h - Pieces that bulk and tensor copies share ----*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_BULKCOPY_H
#define KVQ_EMULATOR_MACHINE_BULKCOPY_H

#include "kvq/Emulator/Emulator.h"
#include "kvq/Emulator/Machine/AtomicOps.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Memory.h"

namespace kvq::emu {

/// An address operand besides the one that an operation has room for.
struct ExtraAddress {
  Operand base;
  int64_t imm = 0;
  uint8_t flags = 0;
  Space space = Space::Generic;

  uint64_t value(const Warp &warp, unsigned lane) const {
    uint64_t address = static_cast<uint64_t>(imm);
    if (!base.isNone())
      address += warp.values(base)[lane];
    if (flags & 1)
      address += uint64_t(warp.cta.rank) << sharedRankShift;
    if (flags & 2)
      address += warp.localBase();
    return address;
  }
  static ExtraAddress from(const AddressOperand &address) {
    return {address.base, address.imm, address.flags, address.space};
  }
};

/// A shared-memory address without the window that a generic one has.
inline uint64_t stripWindow(uint64_t address) {
  return (address & windowMask) == sharedWindow ? address & ~windowMask
                                                : address;
}

/// The same shared-memory address in another CTA of the cluster.
inline uint64_t inRank(uint64_t address, unsigned rank) {
  return (address & ((1u << sharedRankShift) - 1)) | uint64_t(rank)
                                                         << sharedRankShift;
}

/// Starts asynchronous work of a thread: at once, or when the schedule says.
void startWork(Warp &warp, unsigned lane, int64_t group,
               std::function<void()> perform);

/// The same for tensor-core work, which keeps its order.
void startOrderedWork(Warp &warp, unsigned lane, std::function<void()> perform);

/// To whom the race check attributes reads and writes of a copy.
struct CopyStamps {
  Stamp read, write;
};
/// Stamps of a copy of the thread's open bulk group.
CopyStamps groupStamps(const Warp &warp, unsigned lane);
/// The open bulk group of the thread reads shared memory.
void noteGroupReads(Warp &warp, unsigned lane);
/// Reports threads that end with such a group unwaited for: the memory goes
/// away with the CTA.
void checkUnreadGroups(Warp &warp, const Op &op, LaneMask lanes);
/// Stamps of a copy that signals an mbarrier.
CopyStamps signalledStamps(Warp &warp, unsigned lane);

/// Checks an access by asynchronous work that the thread issues now.
inline void noteAsync(Warp &warp, const Op &op, unsigned lane,
                      const Location &location, unsigned bytes, AccessKind kind,
                      Stamp stamp, Proxy proxy = Proxy::Async) {
  if (warp.launch.checkRaces &&
      (location.space == Space::Global || location.space == Space::Shared))
    warp.launch.races.access(
        warp, op, lane, reinterpret_cast<uint64_t>(location.host), bytes, kind,
        location.space, location.shown, stamp, proxy);
}

/// Completes bytes at an mbarrier that the work names.
void completeWork(Warp &warp, uint8_t *barrier, uint32_t bytes, Stamp stamp);

/// Where a byte of a box lies in shared memory: the swizzle of an address.
uint64_t swizzleAddress(TensorSwizzle swizzle, uint64_t address);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_BULKCOPY_H
