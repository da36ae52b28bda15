//===- HappensBefore.h - What each thread knows to come before --*- C++ -*-===//
//
// The causality order of the PTX memory model, as far as barriers, mbarriers,
// fences, releases and acquires make it: what a thread publishes, where, for
// whom, and what others take from there.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_HAPPENSBEFORE_H
#define KVQ_EMULATOR_MACHINE_HAPPENSBEFORE_H

#include "kvq/Emulator/Machine/Program.h"
#include "kvq/Emulator/Machine/VectorClock.h"
#include <map>

namespace kvq::emu {

class Cta;
class Warp;

/// Whom an access is attributed to.
struct Stamp {
  uint32_t agent = 0;
  uint32_t clock = 0;
  uint32_t row() const { return agent >> 5; }
  unsigned lane() const { return agent & 31; }
  AgentKind kind() const {
    return static_cast<AgentKind>(row() % numAgentKinds);
  }
  uint32_t warp() const { return row() / numAgentKinds; }
};

class HappensBefore {
public:
  //===--------------------------------------------------------------------===//
  // Agents
  //===--------------------------------------------------------------------===//

  /// An access that the thread makes now.
  static Stamp threadStamp(Warp &warp, unsigned lane);
  /// A cp.async that it issues now; `closeCopies` ends what a commit or an
  /// arrival covers and returns the clock that this part had.
  static Stamp copyStamp(const Warp &warp, unsigned lane);
  static uint32_t closeCopies(Warp &warp, unsigned lane);
  /// A bulk copy of a bulk group.
  static Stamp bulkStamp(const Warp &warp, unsigned lane, int64_t group,
                         bool write);
  /// A copy that will signal an mbarrier.
  Stamp signalledStamp(const Warp &warp, unsigned lane);
  /// A new tcgen05.mma, cp or shift.
  static Stamp tensorCoreStamp(Warp &warp, unsigned lane);
  /// A new tcgen05.ld or st.
  static Stamp tensorMoveStamp(Warp &warp, bool store);

  /// The thread `viewer` knows that the access is complete.
  bool isKnown(const Warp &warp, unsigned viewer, Stamp stamp,
               Visibility visibility) const;

  //===--------------------------------------------------------------------===//
  // Between threads
  //===--------------------------------------------------------------------===//

  /// Adds what the threads know, their own accesses included; of the
  /// visibilities in `which`.
  void publish(Warp &warp, LaneMask lanes, Knowledge &into,
               uint32_t which = ~0u);
  /// What a fence of at least this scope has made ready to be published, and
  /// what a relaxed operation passes on without one.
  void publishFenced(Warp &warp, LaneMask lanes, MemoryScope scope,
                     Knowledge &into);
  void learn(Warp &warp, LaneMask lanes, const Knowledge &from,
             uint32_t which = ~0u);
  /// All threads of the warp know as much as each.
  void mergeThreads(Warp &warp);
  /// Threads of a warp that meet: each then knows what any of them did.
  void converge(Warp &warp, LaneMask lanes);
  /// The threads have waited for asynchronous work of their own.
  void learnOwn(Warp &warp, LaneMask lanes, AgentKind kind, unsigned lane,
                uint32_t clock);

  /// A strong operation on a location: what it acquires and releases. Of a
  /// read-modify-write the acquire comes first.
  void acquire(Warp &warp, unsigned lane, uint64_t address, MemoryOrder order,
               MemoryScope scope);
  void release(Warp &warp, unsigned lane, uint64_t address, MemoryOrder order,
               MemoryScope scope, bool readsToo);
  /// The release of an asynchronous store that takes effect now; `carried` is
  /// what its thread passed on when it issued it.
  void releaseWork(const Warp &warp, uint64_t address, MemoryScope scope,
                   bool readsToo, const Knowledge &carried);
  void fence(Warp &warp, LaneMask lanes, MemoryOrder order, MemoryScope scope);
  /// Accesses covered for `from` become so for `to`: the proxy fences and
  /// tcgen05.fence.
  void cover(Warp &warp, LaneMask lanes, Visibility from, Visibility to);
  /// The kernel has tensor memory: keep track of tcgen05.fence.
  void activateTensor();
  void fenceBeforeThreadSync(Warp &warp, LaneMask lanes);
  void fenceAfterThreadSync(Warp &warp, LaneMask lanes);

  //===--------------------------------------------------------------------===//
  // mbarriers
  //===--------------------------------------------------------------------===//

  void initBarrier(uint64_t address);
  void arriveBarrier(Warp &warp, LaneMask lanes, uint64_t address,
                     MemoryOrder order, MemoryScope scope);
  /// Work of a thread (cp.async, tensor core) up to a clock is complete and
  /// arrives. `carried` is what its issuing thread passes on, or null.
  void arriveWork(const Warp &warp, Stamp upTo, uint64_t address,
                  const Knowledge *carried);
  /// A copy completes its bytes in the phase that is under way.
  void completeSignalled(Stamp stamp, uint64_t address);
  void completePhase(uint64_t address);
  void acquireBarrier(Warp &warp, LaneMask lanes, uint64_t address,
                      MemoryOrder order, MemoryScope scope);

  /// Forgets synchronization objects whose memory ends.
  void forgetSync(uint64_t address, uint64_t bytes);

protected:
  bool isActive(Visibility visibility) const {
    return active >> static_cast<unsigned>(visibility) & 1;
  }

private:
  /// What releases of one scope by one CTA have published. Releases to the
  /// whole device are kept together.
  struct Part {
    uint32_t cta;
    MemoryScope scope;
    Knowledge knowledge;
  };
  static constexpr uint32_t manyCtas = ~uint32_t(0);
  struct SyncVariable {
    std::vector<Part> parts;
    /// Of an mbarrier: what was published up to the last complete phase, the
    /// number of complete phases, and its row of clocks.
    std::vector<Part> complete;
    uint32_t phases = 0, row = 0;
    /// Change whenever there is more, or less, to acquire.
    uint64_t version = 0, completeVersion = 0;
  };
  /// Where a signalled copy completed: 0 while it has not.
  struct Completion {
    uint32_t row = 0, phase = 0;
  };

  static Part &partOf(std::vector<Part> &parts, const Warp &warp,
                      MemoryScope scope);
  template <typename Body>
  void forParts(Warp &warp, const std::vector<Part> &parts, MemoryScope scope,
                Body &&body);
  /// Whether the threads have acquired this version before: then there is
  /// nothing new. Threads that poll do.
  static bool hasAcquired(Warp &warp, LaneMask lanes, uint64_t version,
                          MemoryOrder order, MemoryScope scope);
  /// Who reads the value of a plain store reads nothing of an earlier one.
  void forgetReleases(uint64_t address);
  /// Where a release publishes.
  Knowledge &partToPublish(SyncVariable &variable, const Warp &warp,
                           MemoryScope scope);
  SyncVariable &barrierAt(uint64_t address);
  static WarpClock::Pending &pendingOf(Warp &warp);

  std::map<uint64_t, SyncVariable> variables;
  std::vector<Completion> completions = {Completion()};
  uint32_t nextBarrier = 0;
  uint64_t nextVersion = 0;
  /// Visibilities that some fence has made different from nothing.
  uint32_t active = 1;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_HAPPENSBEFORE_H
