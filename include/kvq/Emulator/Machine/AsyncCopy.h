//===- AsyncCopy.h - cp.async operations under way --------------*- C++ -*-===//
//
// A cp.async takes effect between its issue and the wait that observes it. The
// schedule decides when: at once, only at the wait, or at some moment between.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_ASYNCCOPY_H
#define KVQ_EMULATOR_MACHINE_ASYNCCOPY_H

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

namespace kvq::emu {

class Warp;
struct Knowledge;
struct Op;

struct AsyncCopy {
  uint8_t lane = 0;
  uint8_t bytes = 0;
  /// Bytes that are read; the rest become zero.
  uint8_t sourceBytes = 0;
  /// The bytes have been moved.
  bool done = false;
  /// The thread has waited for it.
  bool waited = false;
  /// Commit group of its thread, counted from 0.
  uint32_t group = 0;
  /// Its clock for the race check.
  uint32_t segment = 0;
  uint8_t *to = nullptr;
  uint8_t *toWritten = nullptr;
  const uint8_t *from = nullptr;
};

/// A `cp.async.mbarrier.arrive` that fires when earlier copies are complete.
struct AsyncArrive {
  uint8_t lane = 0;
  bool fired = false;
  /// Copies with a sequence number below this one are waited for.
  uint64_t sequence = 0;
  uint8_t *barrier = nullptr;
  /// For the race check: the copies' clock, and what the thread knew.
  uint32_t segment = 0;
  std::shared_ptr<Knowledge> carried;
};

/// A bulk or tensor copy, or another operation that completes by itself.
struct AsyncWork {
  uint8_t lane = 0;
  bool done = false;
  /// Bulk group of its thread, or -1 where an mbarrier tells of completion.
  int64_t group = -1;
  /// Takes effect after all earlier ordered work of the warp.
  bool ordered = false;
  /// A tcgen05.ld or st: what tcgen05.wait waits for.
  enum class Move : uint8_t { None, TensorLoad, TensorStore };
  Move move = Move::None;
  /// Of a load: the instruction, whose registers are not valid yet, and where
  /// its frame has them.
  const Op *op = nullptr;
  uint32_t frameRegisters = 0;
  std::function<void()> perform;
};

struct AsyncCopyQueue {
  std::deque<AsyncCopy> copies;
  std::deque<AsyncArrive> arrives;
  /// Sequence number of copies.front().
  uint64_t firstSequence = 0;
  /// Open commit group of each thread.
  std::array<uint32_t, 32> group{};
  std::deque<AsyncWork> work;
  /// Open bulk group of each thread.
  std::array<int64_t, 32> bulkGroup{};
  /// Bulk groups of each thread, counted from 1, up to the last that reads
  /// shared memory and the last whose reads were waited for.
  std::array<int64_t, 32> bulkReading{}, bulkRead{};

  bool empty() const {
    return copies.empty() && arrives.empty() && work.empty();
  }
  /// Whether none of it has yet to take effect.
  bool isSettled() const;
};

/// Moves the bytes of all copies of a warp, or of a random part of them, and
/// fires the arrivals that this allows. Returns whether anything happened.
bool advanceAsyncCopies(Warp &warp, bool all);

/// Completes the tcgen05.ld under way whose registers `op` reads: such a
/// dependency holds without a wait. Overwriting them is reported.
void resolveTensorLoads(Warp &warp, const Op &op);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_ASYNCCOPY_H
