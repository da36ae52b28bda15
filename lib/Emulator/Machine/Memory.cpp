//===- Memory.cpp - From an address to bytes, with checks -----------------===//

#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;

static bool outOfBounds(Warp &warp, const Op &op, unsigned lane,
                        uint64_t address, const std::string &what) {
  warp.report(FindingKind::OutOfBounds, op, lane, address, what, true);
  return false;
}

static bool locateGlobal(Warp &warp, const Op &op, unsigned lane,
                         uint64_t address, unsigned bytes, Location &result) {
  Allocation *allocation = warp.launch.memory.find(address, bytes);
  if (!allocation)
    return outOfBounds(warp, op, lane, address,
                       llvm::formatv("{0} bytes of global memory at {1:x}: {2}",
                                     bytes, address,
                                     warp.launch.memory.describe(address)));
  warp.lastAllocation = allocation;
  result.host = reinterpret_cast<uint8_t *>(address);
  result.space = Space::Global;
  result.written = allocation->written ? allocation->written->data() +
                                             (address - allocation->base)
                                       : nullptr;
  return true;
}

static bool locateShared(Warp &warp, const Op &op, unsigned lane,
                         uint64_t address, unsigned bytes, bool anyRank,
                         Location &result) {
  uint32_t offset = address & ((1u << sharedRankShift) - 1);
  uint64_t rank = (address & 0xffffffffu) >> sharedRankShift;
  const auto &ctas = warp.cta.cluster.ctas;
  if (address >> 32 || rank >= ctas.size() ||
      (!anyRank && rank != warp.cta.rank))
    return outOfBounds(
        warp, op, lane, address,
        address >> 32 || rank >= ctas.size()
            ? llvm::formatv("{0:x} is no address of shared memory", address)
                  .str()
            : llvm::formatv("{0:x} is in the shared memory of CTA {1} of the "
                            "cluster, and this instruction takes addresses "
                            "of its own CTA, {2}",
                            address, rank, warp.cta.rank)
                  .str());
  Cta &cta = *ctas[rank];
  uint64_t size = cta.shared.size();
  if (offset < sharedReserved || offset + uint64_t(bytes) > size)
    return outOfBounds(
        warp, op, lane, address,
        llvm::formatv("{0} bytes of shared memory at {1:x}; the CTA has "
                      "{2:x}..{3:x} ({4} bytes static, {5} dynamic)",
                      bytes, address, sharedReserved, size,
                      warp.program.staticSharedEnd - sharedReserved,
                      warp.launch.config.dynamicSharedBytes));
  result.host = cta.shared.data() + offset;
  result.written =
      cta.sharedWritten.empty() ? nullptr : cta.sharedWritten.data() + offset;
  result.space = Space::Shared;
  return true;
}

static bool locateLocal(Warp &warp, const Op &op, unsigned lane,
                        uint64_t address, unsigned bytes, Location &result) {
  if (address >= stackBase) {
    uint64_t offset = address - stackBase, top = warp.stackTop(lane);
    if (offset >= top || bytes > top - offset)
      return outOfBounds(warp, op, lane, address,
                         llvm::formatv("{0} bytes of the stack at byte {1}; "
                                       "alloca has given the thread {2} bytes",
                                       bytes, offset, top));
    result.host = warp.stack(lane).data() + offset;
    result.written = warp.launch.checkWritten
                         ? warp.stackWritten(lane).data() + offset
                         : nullptr;
    result.space = Space::Local;
    return true;
  }
  uint64_t size = warp.localSize(lane);
  if (address >= size || bytes > size - address)
    return outOfBounds(warp, op, lane, address,
                       llvm::formatv("{0} bytes of local memory at {1:x}; the "
                                     "thread has {2} bytes",
                                     bytes, address, size));
  result.host = warp.localMemory(lane, 0) + address;
  result.written =
      warp.launch.checkWritten ? warp.localWritten(lane) + address : nullptr;
  result.space = Space::Local;
  return true;
}

bool kvq::emu::locateSlow(Warp &warp, const Op &op, unsigned lane, Space space,
                          uint64_t address, unsigned bytes, unsigned alignment,
                          Location &result) {
  result.shown = address;
  if (address & (alignment - 1)) {
    warp.report(FindingKind::Misaligned, op, lane, address,
                llvm::formatv("address {0:x} is not aligned to {1} bytes",
                              address, alignment),
                true);
    return false;
  }
  switch (space) {
  case Space::Generic:
    switch (address & windowMask) {
    case 0:
      return locateGlobal(warp, op, lane, address, bytes, result);
    case sharedWindow:
      result.shown = address & ~windowMask;
      return locateShared(warp, op, lane, result.shown, bytes,
                          /*anyRank=*/true, result);
    case localWindow:
      result.shown = address & ~windowMask;
      return locateLocal(warp, op, lane, result.shown, bytes, result);
    case paramWindow:
      return locateSlow(warp, op, lane, Space::KernelParam,
                        address & ~windowMask, bytes, 1, result);
    default:
      return outOfBounds(warp, op, lane, address,
                         llvm::formatv("{0:x} is in no window of the generic "
                                       "address space",
                                       address));
    }
  case Space::Global:
  case Space::Const:
    return locateGlobal(warp, op, lane, address, bytes, result);
  case Space::Shared:
    return locateShared(warp, op, lane, address, bytes, false, result);
  case Space::SharedCluster:
    return locateShared(warp, op, lane, address, bytes, true, result);
  case Space::Local:
  case Space::FrameParam:
    return locateLocal(warp, op, lane, address, bytes, result);
  case Space::KernelParam: {
    const std::vector<uint8_t> &arguments = warp.launch.arguments;
    if (address + bytes > arguments.size() || address + bytes < address)
      return outOfBounds(warp, op, lane, address,
                         llvm::formatv("{0} bytes of parameters at {1}; the "
                                       "kernel has {2} bytes",
                                       bytes, address, arguments.size()));
    // Nothing writes through a parameter address: stores are rejected.
    result.host = const_cast<uint8_t *>(arguments.data()) + address;
    result.written = nullptr;
    result.space = Space::KernelParam;
    return true;
  }
  case Space::Tensor:
    break;
  }
  return outOfBounds(warp, op, lane, address, "not an address of memory");
}

/// The written map has words of the same sizes and places as memory.
static bool isWord(const uint8_t *at, unsigned bytes) {
  return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
         reinterpret_cast<uintptr_t>(at) % bytes == 0;
}

static constexpr uint64_t allWritten = 0x0101010101010101;

/// `isShared`: other threads may use the map at the same time.
static void markWritten(uint8_t *map, unsigned bytes, bool isShared) {
  if (isWord(map, bytes))
    return writeBytes(map, allWritten, bytes);
  if (!isShared) {
    memset(map, 1, bytes);
    return;
  }
  for (unsigned i = 0; i < bytes; ++i)
    writeBytes(map + i, 1, 1);
}

/// The first byte that has not been written, or `bytes`.
static unsigned findUnwritten(const uint8_t *map, unsigned bytes,
                              bool isShared) {
  if (isWord(map, bytes) &&
      readBytes(map, bytes) == allWritten >> (64 - 8 * bytes))
    return bytes;
  if (!isShared) {
    const void *fresh = memchr(map, 0, bytes);
    return fresh ? static_cast<unsigned>(static_cast<const uint8_t *>(fresh) -
                                         map)
                 : bytes;
  }
  unsigned at = 0;
  while (at < bytes && readBytes(map + at, 1))
    ++at;
  return at;
}

void kvq::emu::noteWritten(Warp &warp, const Op &op, unsigned lane,
                           const Location &location, unsigned bytes,
                           AccessKind kind) {
  if (!location.written)
    return;
  if (isWrite(kind))
    return markWritten(location.written, bytes, warp.launch.isParallel());
  unsigned fresh =
      findUnwritten(location.written, bytes, warp.launch.isParallel());
  if (fresh < bytes)
    warp.report(FindingKind::Uninitialized, op, lane, location.shown + fresh,
                llvm::formatv("reads byte {0} of {1}, which nothing has "
                              "written",
                              fresh, bytes),
                false);
}

void kvq::emu::noteAccessSlow(Warp &warp, const Op &op, unsigned lane,
                              const Location &location, unsigned bytes,
                              AccessKind kind) {
  noteWritten(warp, op, lane, location, bytes, kind);
  if (warp.launch.checkRaces &&
      (location.space == Space::Global || location.space == Space::Shared))
    warp.launch.races.access(warp, op, lane,
                             reinterpret_cast<uint64_t>(location.host), bytes,
                             kind, location.space, location.shown);
}
