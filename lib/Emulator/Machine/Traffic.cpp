//===- Traffic.cpp - Sectors and bank conflicts of accesses ---------------===//

#include "kvq/Emulator/Machine/Memory.h"
#include <algorithm>

using namespace kvq::emu;

static constexpr unsigned numBanks = 32;

/// Marks bytes of global memory that lie in one allocation.
static void touchGlobal(Warp &warp, uint64_t address, uint64_t bytes,
                        bool write) {
  Allocation *allocation = warp.lastAllocation;
  if (!allocation || !allocation->contains(address, bytes))
    allocation = warp.launch.memory.find(address, bytes);
  // Memory that came to be after the launch began has no marks.
  if (allocation && allocation->touched)
    allocation->touched->mark(address, bytes, write, warp.launch.isParallel());
}

static uint64_t sectorsOf(uint64_t address, uint64_t bytes) {
  return bytes ? (address + bytes - 1) / 32 - address / 32 + 1 : 0;
}

/// Whether each thread accesses the bytes behind those of the one before.
static bool areConsecutive(const uint64_t *addresses, unsigned count,
                           unsigned size) {
  for (unsigned i = 1; i < count; ++i)
    if (addresses[i] != addresses[i - 1] + size)
      return false;
  return true;
}

/// Passes over the 32 banks that a group of threads needs: the largest number
/// of distinct words in one bank.
static unsigned wavefronts(const uint64_t *addresses, unsigned count,
                           unsigned size) {
  if (addresses[0] % 128 == 0 && areConsecutive(addresses, count, size))
    return (count * size + 127) / 128;
  // A pass moves at most 128 bytes: 8-byte accesses go by half warps, 16-byte
  // ones by quarters.
  unsigned perPass = size <= 4 ? warpSize : std::max(1u, 128 / size);
  unsigned total = 0;
  for (unsigned begin = 0; begin < count; begin += perPass) {
    unsigned end = std::min(count, begin + perPass);
    uint64_t words[numBanks][warpSize];
    uint8_t used[numBanks] = {};
    unsigned worst = 1;
    for (unsigned i = begin; i < end; ++i)
      for (uint64_t word = addresses[i] / 4,
                    last = (addresses[i] + size - 1) / 4;
           word <= last; ++word) {
        unsigned bank = word % numBanks;
        uint64_t *known = words[bank];
        if (std::find(known, known + used[bank], word) != known + used[bank])
          continue;
        known[used[bank]++] = word;
        worst = std::max<unsigned>(worst, used[bank]);
      }
    total += worst;
  }
  return total;
}

void kvq::emu::countTransfer(Warp &warp, const Location &location,
                             uint64_t bytes, bool write) {
  Counters &counters = warp.launch.counters;
  if (location.space == Space::Shared) {
    (write ? counters.sharedWriteBytes : counters.sharedReadBytes) += bytes;
    counters.sharedWavefronts += (bytes + 127) / 128;
    return;
  }
  if (location.space != Space::Global)
    return;
  uint64_t address = reinterpret_cast<uint64_t>(location.host);
  (write ? counters.globalWriteBytes : counters.globalReadBytes) += bytes;
  (write ? counters.globalWriteSectors : counters.globalReadSectors) +=
      sectorsOf(address, bytes);
  touchGlobal(warp, address, bytes, write);
}

void AccessCounter::finish() {
  Counters &counters = warp.launch.counters;
  uint64_t bytes = uint64_t(count) * size;
  if (space == Space::Shared) {
    (write ? counters.sharedWriteBytes : counters.sharedReadBytes) += bytes;
    counters.sharedWavefronts += wavefronts(addresses, count, size);
    return;
  }
  (write ? counters.globalWriteBytes : counters.globalReadBytes) += bytes;
  uint64_t &total =
      write ? counters.globalWriteSectors : counters.globalReadSectors;
  if (areConsecutive(addresses, count, size)) {
    total += sectorsOf(addresses[0], bytes);
    touchGlobal(warp, addresses[0], bytes, write);
    return;
  }
  // An access has at most 32 bytes and lies in two sectors at most.
  uint64_t sectors[warpSize * 2];
  unsigned found = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (i && addresses[i] == addresses[i - 1])
      continue;
    touchGlobal(warp, addresses[i], size, write);
    uint64_t first = addresses[i] / 32, last = (addresses[i] + size - 1) / 32;
    for (uint64_t sector = first; sector <= last; ++sector)
      sectors[found++] = sector;
  }
  std::sort(sectors, sectors + found);
  total +=
      static_cast<uint64_t>(std::unique(sectors, sectors + found) - sectors);
}
