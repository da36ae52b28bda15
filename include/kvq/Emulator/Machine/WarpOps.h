//===- WarpOps.h - Convergence of warp-level instructions -------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_WARPOPS_H
#define KVQ_EMULATOR_MACHINE_WARPOPS_H

#include "kvq/Emulator/Machine/Warp.h"

namespace kvq::emu {

/// Brings together the threads that an instruction's member mask names.
/// `lanes` shrinks to those that gave the same mask; the others come back to
/// the instruction. False if the threads now wait.
bool convergeOn(Warp &warp, const Op &op, const Operand &mask, LaneMask &lanes,
                LaneMask &members);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_WARPOPS_H
