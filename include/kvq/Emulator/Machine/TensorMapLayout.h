//===- TensorMapLayout.h - Rules and bytes of tensor maps -------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_TENSORMAPLAYOUT_H
#define KVQ_EMULATOR_MACHINE_TENSORMAPLAYOUT_H

#include "kvq/Emulator/Emulator.h"

namespace kvq::emu {

/// Bits of an element in global memory.
unsigned tensorElementBits(TensorElement element);

/// Success if the hardware's rules for tiled maps hold.
llvm::Error checkTensorMap(const TensorMap &map);

/// Fields that tensormap.replace changes.
enum class TensorMapField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  Elemtype,
  InterleaveLayout,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode
};

/// Changes one field of 128 bytes, which need not be a map yet: a map comes to
/// be field by field. `rank` values count from 0, as in PTX. False for a value
/// that the field does not take.
bool replaceTensorMapField(void *bytes128, TensorMapField field,
                           unsigned ordinal, uint64_t value);

/// Writes the bytes of a map of rank 1 to 5 without looking at the rules.
void writeTensorMap(const TensorMap &map, void *bytes128);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_TENSORMAPLAYOUT_H
