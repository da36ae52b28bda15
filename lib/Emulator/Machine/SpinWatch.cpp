//===- SpinWatch.cpp - Threads that repeat themselves forever -------------===//

#include "kvq/Emulator/Machine/SpinWatch.h"
#include "kvq/Emulator/Machine/Warp.h"

using namespace kvq::emu;

SpinWatch::Private SpinWatch::privateOf(const Warp &warp, LaneMask lanes) {
  Private result;
  forLanes(lanes, [&](unsigned lane) {
    result.places.push_back(warp.stackTops[lane]);
    for (const Activation &activation : warp.stacks[lane])
      result.places.insert(result.places.end(),
                           {activation.returnPc, activation.frame.registers,
                            activation.frame.predicates, activation.frame.local,
                            activation.stackTop});
    for (const auto *memory : {&warp.local[lane], &warp.stackBytes[lane]})
      result.memory.insert(result.memory.end(), memory->begin(), memory->end());
  });
  return result;
}

void SpinWatch::save(const Warp &warp, const Group &group) {
  lanes = group.lanes;
  pc = group.pc;
  depth = group.depth;
  oracles = warp.oracles;
  registers = warp.registers;
  predicates = warp.predicates;
  own = privateOf(warp, lanes);
}

bool SpinWatch::isSaved(const Warp &warp, const Group &group) const {
  if (lanes != group.lanes || pc != group.pc || depth != group.depth ||
      oracles != warp.oracles || registers.size() != warp.registers.size() ||
      predicates.size() != warp.predicates.size())
    return false;
  for (size_t i = 0; i < predicates.size(); ++i)
    if ((predicates[i] ^ warp.predicates[i]) & lanes)
      return false;
  if (lanes == allLanes) {
    if (registers != warp.registers)
      return false;
  } else {
    for (size_t i = 0; i < registers.size(); i += warpSize)
      for (LaneMask rest = lanes; rest; rest &= rest - 1) {
        size_t at = i + static_cast<unsigned>(llvm::countr_zero(rest));
        if (registers[at] != warp.registers[at])
          return false;
      }
  }
  return own == privateOf(warp, lanes);
}

void SpinWatch::sample(const Warp &warp, const Group &group, uint64_t now) {
  if (epoch != now || !nextSave) {
    epoch = now;
    found = false;
    samples = 0;
    nextSave = 1;
    save(warp, group);
    return;
  }
  if (found && lanes == group.lanes)
    return;
  found = isSaved(warp, group);
  if (!found && ++samples == nextSave) {
    save(warp, group);
    samples = 0;
    nextSave *= 2;
  }
}

bool SpinWatch::repeats(const Group &group, uint64_t now) const {
  return found && epoch == now && lanes == group.lanes;
}
