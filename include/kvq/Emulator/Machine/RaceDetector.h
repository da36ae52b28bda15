//===- RaceDetector.h - Conflicting accesses without an order ---*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_RACEDETECTOR_H
#define KVQ_EMULATOR_MACHINE_RACEDETECTOR_H

#include "kvq/Emulator/Machine/GlobalMemory.h"
#include "kvq/Emulator/Machine/Program.h"
#include "kvq/Emulator/Machine/VectorClock.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace kvq::emu {

class Warp;

/// How an access is made.
enum class AccessKind : uint8_t {
  Read,
  Write,
  /// A write of the value that is there already: no conflict with the other
  /// threads of the same warp instruction.
  SameWrite,
  /// Strong accesses (volatile, relaxed and up, atomics) do not race with each
  /// other.
  StrongRead,
  StrongWrite
};

/// One piece of work by the asynchronous engines of a CTA. Its accesses have
/// no order with those of any thread until the thread has seen it complete.
struct AsyncToken {
  uint32_t agent = 0;
  uint32_t clock = 0;
};

/// Keeps, per byte, the last write and up to two reads since then, and
/// compares each access with them by happens-before. Keeping two reads only
/// can miss a race; it never reports one that is none.
class RaceDetector {
public:
  /// `address` is a host address: global memory, or a byte of a CTA's shared
  /// memory. `shared` is the CTA-relative address for messages, or ~0.
  void access(Warp &warp, const Op &op, unsigned lane, uint64_t address,
              unsigned bytes, AccessKind kind, uint64_t shown,
              const AsyncToken *token = nullptr);

  /// New work that a thread of the warp issues.
  AsyncToken beginAsync(Warp &warp);
  /// The work is complete: who acquires from `address` (an mbarrier) knows.
  void completeAsync(const AsyncToken &token, uint64_t address);
  /// The issuing warp has waited for the work.
  void waitAsync(Warp &warp, const AsyncToken &token);

  /// A write by asynchronous work that the thread issues now: it is without
  /// order with everything later until `settle`.
  void accessAsync(Warp &warp, const Op &op, unsigned lane, uint64_t address,
                   unsigned bytes, uint64_t shown);
  /// The thread has waited for its asynchronous writes to these bytes.
  void settle(Warp &warp, unsigned lane, uint64_t address, unsigned bytes);

  /// An atomic or strong operation on a location: what it acquires and
  /// releases. Call `acquire` before `release` for read-modify-write.
  void acquire(Warp &warp, unsigned lane, uint64_t address, MemoryOrder order);
  void release(Warp &warp, uint64_t address, MemoryOrder order);
  void fence(Warp &warp, LaneMask lanes);

  /// Forgets accesses to a range, as when its memory ends or begins life.
  void forget(uint64_t address, uint64_t bytes);

private:
  struct Access {
    uint32_t clock = 0;  ///< 0: none.
    uint32_t thread = 0; ///< Warp << 5 | lane.
    uint32_t pc = 0;
    bool strong = false;
    /// Not yet waited for by the thread that issued it.
    bool pending = false;
  };
  struct Byte {
    Access write, reads[2];
  };
  static constexpr unsigned pageBytes = 1024;
  struct Page {
    Byte bytes[pageBytes];
  };
  Page &pageOf(uint64_t address);
  bool ordered(const Warp &warp, unsigned lane, const Access &earlier) const;
  void conflict(Warp &warp, const Op &op, unsigned lane, uint64_t shown,
                const Access &earlier, const char *what);

  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastIndex = ~uint64_t(0);
  Page *lastPage = nullptr;
  /// What a later acquire of a location makes known.
  llvm::DenseMap<uint64_t, VectorClock> released;
  llvm::DenseMap<uint32_t, uint32_t> agentClocks;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_RACEDETECTOR_H
