//===- MBarrier.h - Barriers that live in shared memory ---------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_MBARRIER_H
#define KVQ_EMULATOR_MACHINE_MBARRIER_H

#include "kvq/Emulator/Machine/Memory.h"

namespace kvq::emu {

/// The 64 bits of an mbarrier object. The layout is this emulator's own.
struct MBarrierState {
  /// Arrivals that the phase still needs, and those of the next one.
  uint32_t pending = 0, expected = 0;
  /// Bytes announced and not yet complete; may be negative.
  int32_t transactions = 0;
  /// Parity of the phase that is under way.
  bool parity = false;
  /// Set by mbarrier.init.
  bool valid = false;

  static MBarrierState decode(uint64_t word);
  uint64_t encode() const;
  static constexpr uint32_t maxCount = (1u << 20) - 1;
};

/// Finds an mbarrier and reads it; reports one that was never initialized.
bool locateMBarrier(Warp &warp, const Op &op, unsigned lane, Space space,
                    uint64_t address, Location &location);

/// Arrivals and completed bytes by asynchronous work of a warp: completes the
/// phase and wakes waiting threads where that is due. `owner` is any CTA of the
/// cluster.
void arriveOnMBarrier(Warp &warp, Cta &owner, uint8_t *host, uint32_t count);
void completeTransactions(Warp &warp, Cta &owner, uint8_t *host,
                          uint32_t bytes);
/// Raises the pending count of the phase under way.
void addPendingArrivals(Warp &warp, const Op &op, unsigned lane,
                        const Location &location, uint32_t count);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_MBARRIER_H
