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
               const AsyncToken &token, std::function<void()> perform);

/// The same for tensor-core work, which keeps its order.
void startOrderedWork(Warp &warp, unsigned lane, const AsyncToken &token,
                      std::function<void()> perform);

/// New work for the race check; nothing without it.
AsyncToken beginWork(Warp &warp);

/// Notes an access by asynchronous work in the name of its thread.
void noteAsync(Warp &warp, const Op &op, unsigned lane,
               const Location &location, unsigned bytes, AccessKind kind,
               const AsyncToken &token);

/// Completes bytes at an mbarrier that the work names.
void completeWork(Warp &warp, uint8_t *barrier, uint32_t bytes,
                  const AsyncToken &token);

/// Where a byte of a box lies in shared memory: the swizzle of an address.
uint64_t swizzleAddress(TensorSwizzle swizzle, uint64_t address);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_BULKCOPY_H
