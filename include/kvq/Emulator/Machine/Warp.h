//===- Warp.h - Thirty-two threads and their control flow -------*- C++ -*-===//
//
// Threads have their own program counters. Those that share a pc and a frame
// form a group and execute together; the warp runs one group at a time, by
// preference the one that is furthest behind, so that groups meet again, but
// no runnable group waits forever.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_WARP_H
#define KVQ_EMULATOR_MACHINE_WARP_H

#include "kvq/Emulator/Machine/AsyncCopy.h"
#include "kvq/Emulator/Machine/Program.h"
#include "kvq/Emulator/Machine/SpinWatch.h"
#include "kvq/Emulator/Machine/VectorClock.h"
#include "kvq/Emulator/PTX/Instruction.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"
#include <deque>
#include <functional>
#include <vector>

namespace kvq::emu {

class Cta;
class Launch;
struct Allocation;

/// Where a function activation keeps its values.
struct Frame {
  uint32_t registers = 0;
  uint32_t predicates = 0;
  uint32_t local = 0;
  bool operator==(const Frame &other) const {
    return registers == other.registers && predicates == other.predicates &&
           local == other.local;
  }
};

/// What a group waits for.
enum class Wait : uint8_t {
  None,
  /// Executes now: what the list of groups holds of it is out of date.
  Running,
  /// The other members of a warp-level instruction; key = member mask.
  WarpSync,
  /// A barrier of the CTA; key = its number.
  CtaBarrier,
  ClusterBarrier,
  /// A phase of an mbarrier; key = its address, value = the phase parity.
  MBarrier,
  /// Columns of tensor memory; key = their number.
  TensorAlloc
};

/// Products of a warpgroup that the warp has issued and not waited for.
struct WarpgroupQueue {
  struct Product {
    uint32_t group = 0;
    /// Of the race check; 0 without it.
    uint32_t clock = 0;
    bool done = false;
    std::function<void()> perform;
  };
  std::deque<Product> products;
  /// The open group.
  uint32_t group = 0;
};

struct Group {
  LaneMask lanes = 0;
  uint32_t pc = 0;
  Frame frame;
  uint32_t depth = 0;
  Wait wait = Wait::None;
  uint64_t key = 0;
  uint64_t value = 0;
  /// The instruction that waits, for reports and late results.
  const Op *op = nullptr;
  /// When it last ran, on the warp's own clock.
  uint64_t lastRun = 0;
  /// The MBarrier wait ended without the phase: try_wait returns false.
  bool timedOut = false;
  /// Runs on, but `key`, `value` and `op` say what its last test of an mbarrier
  /// did not find complete.
  bool polls = false;
  /// Whether it gets anywhere; null until nothing else does.
  std::shared_ptr<SpinWatch> watch;
};

/// What a thread returns to.
struct Activation {
  uint32_t returnPc = 0;
  Frame frame;
  const Op *call = nullptr;
  /// The caller's top of the stack of `alloca`.
  uint64_t stackTop = 0;
};

/// Local addresses from here on are of `alloca`; those below, of frames.
constexpr uint64_t stackBase = uint64_t(1) << 24;

/// Special registers have 32 values each, in the order of this enumeration.
using ptx::SpecialRegister;
constexpr unsigned numSpecialRegisters =
    static_cast<unsigned>(SpecialRegister::Zero) + 1;

class Warp {
public:
  Warp(Cta &cta, unsigned index, LaneMask present);

  /// Runs until `budget` instructions are done or nothing can run. Returns the
  /// number executed.
  uint64_t run(uint64_t budget);
  bool isDone() const { return exited == allLanes; }
  /// Whether a group can run now.
  bool isRunnable() const;

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// The 32 values of an operand that is not a predicate.
  const uint64_t *values(const Operand &operand) const {
    return banks[static_cast<unsigned>(operand.bank)] + operand.index;
  }
  uint64_t *destination(const Operand &operand) {
    return registerBank + operand.index;
  }
  LaneMask predicate(const Operand &operand) const {
    LaneMask value = operand.predicate ? predicateBank[operand.index]
                                       : nonZeroLanes(operand);
    return operand.negated ? ~value : value;
  }
  void setPredicate(const Operand &operand, LaneMask lanes, LaneMask value) {
    LaneMask &slot = predicateBank[operand.index];
    slot = (slot & ~lanes) | (value & lanes);
  }

  //===--------------------------------------------------------------------===//
  // Control, called by handlers
  //===--------------------------------------------------------------------===//

  /// The group that executes: its threads and the pc of its next instruction.
  LaneMask active() const { return activeLanes; }
  uint32_t getPc() const { return pc; }
  /// Sends `lanes` of the running group to `target`.
  void jump(LaneMask lanes, uint32_t target);
  void exitLanes(LaneMask lanes);
  /// The running group, all of it, enters a function of the program.
  void call(const Op &op, LaneMask lanes, uint32_t function);
  void returnLanes(LaneMask lanes);
  /// The 32 values of a register in another frame.
  uint64_t *registersOf(const Frame &where, const Operand &operand) {
    return registers.data() + size_t(where.registers) * warpSize +
           operand.index;
  }
  /// Where a thread returns to; null in the kernel itself.
  const Activation *caller(unsigned lane) const {
    return stacks[lane].empty() ? nullptr : &stacks[lane].back();
  }
  /// Writes a thread's value of a register in another frame.
  void setCallerRegister(const Frame &where, const Operand &operand,
                         unsigned lane, uint64_t value) {
    if (operand.predicate) {
      LaneMask &slot = predicates[where.predicates + operand.index];
      slot = (slot & ~(LaneMask(1) << lane)) | LaneMask(value & 1) << lane;
    } else {
      registers[size_t(where.registers) * warpSize + operand.index + lane] =
          value;
    }
  }
  /// Takes `lanes` out of the running group as a group of its own that waits;
  /// it resumes at `resumePc`. Returns it.
  Group &park(LaneMask lanes, uint32_t resumePc, Wait wait, uint64_t key,
              const Op &op);
  /// For an instruction that all of `members` execute together: true if they
  /// are all here; else the threads now wait, to execute it again.
  bool converge(const Op &op, LaneMask lanes, LaneMask members);
  /// For an `.aligned` instruction of all threads of the warp: the same, and
  /// reports threads that have ended instead of executing it.
  bool convergeAligned(const Op &op, LaneMask lanes);
  /// Remembers for reports that the running group tests an mbarrier, which is
  /// not complete; with null that it is.
  void notePoll(const Op *op, uint64_t key, uint64_t parity);
  /// Gives other warps a turn after this instruction.
  void yield() { switchRequested = yielded = true; }
  /// Wakes groups; `release` decides which. Woken groups with the same pc and
  /// frame become one.
  template <typename Predicate>
  bool wake(Predicate &&release) {
    bool any = false;
    for (Group &group : groups)
      if (group.wait != Wait::None && release(group)) {
        group.wait = Wait::None;
        any = true;
      }
    return any;
  }
  llvm::SmallVectorImpl<Group> &getGroups() { return groups; }
  /// Threads that have not exited.
  LaneMask live() const { return ~exited; }
  /// Whether the running group resumed because its wait ran out; asking ends
  /// that.
  bool takeTimeout() {
    bool result = timeout;
    timeout = false;
    return result;
  }
  /// Marks an instruction that will execute again as not yet counted.
  void uncount(const Op &op, LaneMask lanes);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// Bytes of a thread's stack of `alloca`: its addresses begin at stackBase.
  uint64_t &stackTop(unsigned lane) { return stackTops[lane]; }
  std::vector<uint8_t> &stack(unsigned lane) { return stackBytes[lane]; }
  std::vector<uint8_t> &stackWritten(unsigned lane) {
    return stackShadow[lane];
  }
  /// The local memory of a thread, grown to hold `bytes` from the start.
  uint8_t *localMemory(unsigned lane, uint64_t bytes);
  uint8_t *localWritten(unsigned lane) { return localShadow[lane].data(); }
  uint32_t localBase() const { return frame.local; }
  uint64_t localSize(unsigned lane) const { return local[lane].size(); }
  const Frame &getFrame() const { return frame; }

  /// Reports something about a thread; fatal reports stop the launch.
  void report(FindingKind kind, const Op &op, unsigned lane, uint64_t address,
              const llvm::Twine &message, bool fatal);
  const Op &currentOp() const { return *runningOp; }

  Cta &cta;
  Launch &launch;
  const Program &program;
  const unsigned index;
  /// Unique in the launch; counts warps of CTAs in order.
  const uint32_t globalIndex;
  /// Happens-before of this warp's next access.
  WarpClock clock;
  /// Pending cp.async operations of its threads.
  AsyncCopyQueue asyncCopies;
  /// The allocation that the last global access hit.
  Allocation *lastAllocation = nullptr;
  /// tcgen05.ld in `asyncCopies` whose registers are not valid yet.
  unsigned pendingLoads = 0;
  WarpgroupQueue warpgroup;
  /// Operations so far, for the clocks.
  uint64_t executed = 0;
  /// Reads of what changes although nobody writes it: clocks, and which threads
  /// happen to run together.
  uint64_t oracles = 0;
  /// Adds what the warp has counted.
  void addCountsTo(InstructionCounts &total) const;
  /// The cluster barrier's phase, plus 1, that a thread has yet to wait for.
  std::array<uint64_t, warpSize> clusterPhase{};

  /// x, y, z of a thread in its CTA.
  Dim3 threadIndex(unsigned lane) const;
  void refreshClocks();

private:
  friend class SpinWatch;
  void setSpecialRegisters();
  LaneMask nonZeroLanes(const Operand &operand) const;
  bool selectGroup();
  /// Puts the group that ran back; null if it is no more.
  Group *storeGroup();
  void noteRead(const Op &op, LaneMask lanes);
  void useFrame(const Frame &newFrame);
  void mergeGroups();
  void retryWarpSync();
  void ensureFrame(const Frame &newFrame, const ProgramFunction &function);

  uint64_t *registerBank = nullptr;
  LaneMask *predicateBank = nullptr;
  const uint64_t *banks[4] = {};
  LaneMask activeLanes = 0;
  uint32_t pc = 0;
  /// Past this pc another group may be met.
  uint32_t nextPc = ~0u;
  Frame frame;
  uint32_t depth = 0;
  bool switchRequested = false;
  bool yielded = false;
  bool timeout = false;
  LaneMask exited = 0;
  const Op *runningOp = nullptr;
  /// While groups are watched: the last read of the one that runs.
  bool watches = false;
  const Op *readOp = nullptr;
  uint64_t readAddress = 0;
  /// Warp and thread instructions by Op::countKind.
  std::vector<std::array<uint64_t, 2>> counts;
  llvm::SmallVector<Group, 8> groups;
  std::vector<uint64_t> registers;
  std::vector<LaneMask> predicates;
  std::vector<uint64_t> specials;
  std::vector<std::vector<uint8_t>> local, localShadow;
  std::array<uint64_t, warpSize> stackTops{};
  std::array<std::vector<uint8_t>, warpSize> stackBytes, stackShadow;
  std::vector<std::vector<Activation>> stacks;
  uint64_t turns = 0;
  /// Instructions since all runnable groups had a turn.
  uint64_t divergentSteps = 0;
};

/// Calls `body(lane)` for each lane of a mask, in order.
template <typename Body>
inline void forLanes(LaneMask lanes, Body &&body) {
  if (lanes == allLanes) {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      body(lane);
    return;
  }
  for (LaneMask rest = lanes; rest; rest &= rest - 1)
    body(static_cast<unsigned>(llvm::countr_zero(rest)));
}

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_WARP_H
