//===- SpecialRegisters.cpp - What a warp reads of its place and time -----===//

#include "kvq/Emulator/Machine/Launch.h"
#include <algorithm>

using namespace kvq::emu;

void Warp::setSpecialRegisters() {
  auto set = [&](SpecialRegister reg, auto &&value) {
    uint64_t *slot = specials.data() + static_cast<unsigned>(reg) * warpSize;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      slot[lane] = value(lane);
  };
  auto setAll = [&](SpecialRegister reg, uint64_t value) {
    set(reg, [&](unsigned) { return value; });
  };
  using SR = SpecialRegister;
  const Dim3 &block = launch.config.block, &grid = launch.config.grid;
  const Dim3 &shape = launch.clusterShape;
  set(SR::TidX, [&](unsigned lane) { return threadIndex(lane).x; });
  set(SR::TidY, [&](unsigned lane) { return threadIndex(lane).y; });
  set(SR::TidZ, [&](unsigned lane) { return threadIndex(lane).z; });
  setAll(SR::NtidX, block.x);
  setAll(SR::NtidY, block.y);
  setAll(SR::NtidZ, block.z);
  setAll(SR::CtaidX, cta.id.x);
  setAll(SR::CtaidY, cta.id.y);
  setAll(SR::CtaidZ, cta.id.z);
  setAll(SR::NctaidX, grid.x);
  setAll(SR::NctaidY, grid.y);
  setAll(SR::NctaidZ, grid.z);
  set(SR::LaneId, [](unsigned lane) { return lane; });
  setAll(SR::WarpId, index);
  setAll(SR::NwarpId, launch.warpsPerCta);
  // CTAs lie on 148 processors in turn, as on a B200.
  setAll(SR::NsmId, 148);
  setAll(SR::SmId, cta.linear % 148);
  setAll(SR::GridId, 1);
  setAll(SR::IsExplicitCluster, shape.volume() > 1);
  setAll(SR::ClusterIdX, cta.id.x / shape.x);
  setAll(SR::ClusterIdY, cta.id.y / shape.y);
  setAll(SR::ClusterIdZ, cta.id.z / shape.z);
  setAll(SR::NclusterIdX, grid.x / shape.x);
  setAll(SR::NclusterIdY, grid.y / shape.y);
  setAll(SR::NclusterIdZ, grid.z / shape.z);
  setAll(SR::ClusterCtaidX, cta.id.x % shape.x);
  setAll(SR::ClusterCtaidY, cta.id.y % shape.y);
  setAll(SR::ClusterCtaidZ, cta.id.z % shape.z);
  setAll(SR::ClusterNctaidX, shape.x);
  setAll(SR::ClusterNctaidY, shape.y);
  setAll(SR::ClusterNctaidZ, shape.z);
  setAll(SR::ClusterCtarank, cta.rank);
  setAll(SR::ClusterNctarank, shape.volume());
  set(SR::LanemaskEq, [](unsigned lane) { return 1u << lane; });
  set(SR::LanemaskLt, [](unsigned lane) { return (1u << lane) - 1; });
  set(SR::LanemaskLe,
      [](unsigned lane) { return (uint64_t(2) << lane) - 1 & 0xffffffffu; });
  set(SR::LanemaskGt,
      [](unsigned lane) { return ~((uint64_t(2) << lane) - 1) & 0xffffffffu; });
  set(SR::LanemaskGe,
      [](unsigned lane) { return ~((uint64_t(1) << lane) - 1) & 0xffffffffu; });
  setAll(SR::TotalSmemSize, launch.sharedBytes - sharedReserved);
  setAll(SR::AggrSmemSize, launch.sharedBytes);
  setAll(SR::DynamicSmemSize, launch.config.dynamicSharedBytes);
  setAll(SR::ReservedSmemOffsetBegin, 0);
  setAll(SR::ReservedSmemOffsetEnd, sharedReserved);
  setAll(SR::ReservedSmemOffsetCap, sharedReserved);
  setAll(SR::WarpSize, warpSize);
}

Dim3 Warp::threadIndex(unsigned lane) const {
  const Dim3 &block = launch.config.block;
  uint32_t linear = index * warpSize + lane;
  return {linear % block.x, linear / block.x % block.y,
          linear / (block.x * block.y)};
}

void Warp::refreshClocks() {
  // One step of the emulator stands for one clock, and a nanosecond for two.
  uint64_t now = cta.cluster.steps + executed;
  ++oracles;
  auto set = [&](SpecialRegister reg, uint64_t value) {
    uint64_t *slot = specials.data() + static_cast<unsigned>(reg) * warpSize;
    std::fill(slot, slot + warpSize, value);
  };
  set(SpecialRegister::Clock, now & 0xffffffffu);
  set(SpecialRegister::ClockHi, now >> 32);
  set(SpecialRegister::Clock64, now);
  set(SpecialRegister::GlobalTimer, now / 2);
  set(SpecialRegister::GlobalTimerLo, now / 2 & 0xffffffffu);
  set(SpecialRegister::GlobalTimerHi, now / 2 >> 32);
}
