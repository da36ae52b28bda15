//===- Synchronization.h - Barriers between the roles of a kernel ---------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_SYNCHRONIZATION_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_SYNCHRONIZATION_H

#include "../KernelBuilder.h"

namespace kvq::kernel {

/// What a barrier hands on from thread to thread.
enum class Handed {
  /// Generic memory, and whatever else.
  Memory,
  /// Tensor memory alone, which tcgen05.fence orders before an arrival and
  /// after a wait that are relaxed (PTX ISA 9.0, 9.7.16.6.4).
  TensorMemory
};

/// mbarriers in shared memory that are used in turn, one for each of the
/// buffers of a ring. Item `i` of a sequence has buffer i % count, and its
/// phase is number i / count of the barrier.
class BarrierRing {
public:
  BarrierRing() = default;
  /// `count` barriers of 8 bytes each, a power of two, `offset` bytes after
  /// `base`.
  BarrierRing(KernelBuilder &b, Ptr base, int64_t offset, int64_t count,
              Handed handed)
      : b(&b), base(base), offset(offset), count(count), handed(handed) {}

  /// Bytes of shared memory.
  static int64_t getBytes(int64_t count) { return 8 * count; }

  /// Initializes the barriers, in one thread: a phase ends after `arrivals`.
  void initialize(int64_t arrivals) const;

  /// Waits for the end of the phase of an item.
  void wait(I32 item) const;
  /// Waits until the item that had the buffer before is through its phase;
  /// passes at once for the first `count` items.
  void waitBefore(I32 item) const;

  /// One arrival for an item.
  void arrive(I32 item) const;
  /// One arrival when the asynchronous tcgen05 work of this thread is done.
  void commit(I32 item) const;

  /// The buffer of an item.
  I32 buffer(I32 item) const { return item % count; }

private:
  void waitParity(I32 item, I32 parity) const;
  I32 parity(I32 item) const;
  /// What of a barrier's address is not the constant `offset`.
  I32 address(I32 item) const;

  KernelBuilder *b = nullptr;
  Ptr base;
  int64_t offset = 0, count = 0;
  Handed handed = Handed::Memory;
};

/// Makes what threads wrote to shared memory visible to the asynchronous proxy,
/// by which tcgen05 reads it. Each writer runs it before it arrives.
void fenceForAsyncProxy(KernelBuilder &b);

/// A barrier of `threads` threads with a number of its own, 1 to 15.
void syncThreads(KernelBuilder &b, int64_t number, int64_t threads);

/// The same, and whether the condition holds in any of the threads.
Pred anyOfThreads(KernelBuilder &b, int64_t number, int64_t threads,
                  Pred condition);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_SYNCHRONIZATION_H
