//===- BarrierOps.h - Late results of barriers ------------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_BARRIEROPS_H
#define KVQ_EMULATOR_MACHINE_BARRIEROPS_H

namespace kvq::emu {

class Cluster;
class Warp;
struct Group;

/// Ends the phase of the cluster barrier if every live thread has arrived.
void completeClusterBarrier(Cluster &cluster);

/// Writes what `barrier.red` returns to a group that waited at a barrier:
/// `trueCount` of `threadCount` threads had a true predicate.
void finishBarrierWait(Warp &warp, Group &group, unsigned trueCount,
                       unsigned threadCount);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_BARRIEROPS_H
