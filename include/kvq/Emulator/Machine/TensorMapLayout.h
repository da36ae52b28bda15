//===- TensorMapLayout.h - Rules and bytes of tensor maps -------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_TENSORMAPLAYOUT_H
#define KVQ_EMULATOR_MACHINE_TENSORMAPLAYOUT_H

#include "kvq/Emulator/Emulator.h"

namespace kvq::emu {

/// Bits of an element in global memory.
unsigned tensorElementBits(TensorElement element);

/// Success if the hardware's rules for tiled maps hold.
llvm::Error checkTensorMap(const TensorMap &map);

/// Writes the bytes of a map of rank 1 to 5 without looking at the rules.
void writeTensorMap(const TensorMap &map, void *bytes128);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_TENSORMAPLAYOUT_H
