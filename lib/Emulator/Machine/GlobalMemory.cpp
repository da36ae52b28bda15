//===- GlobalMemory.cpp - Device allocations with known bounds ------------===//

#include "kvq/Emulator/Machine/GlobalMemory.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace kvq::emu;

static constexpr uint64_t arenaBytes = uint64_t(1) << 42;
static constexpr uint64_t pageBytes = 4096;

LazyBytes::LazyBytes(uint64_t size)
    : mapped(llvm::alignTo(std::max<uint64_t>(size, 1), pageBytes)) {
  void *result = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (result == MAP_FAILED)
    llvm::report_fatal_error("kvq-emu: out of address space for shadow memory");
  bytes = static_cast<uint8_t *>(result);
}

LazyBytes::~LazyBytes() { munmap(bytes, mapped); }

void LazyBytes::clear() { madvise(bytes, mapped, MADV_DONTNEED); }

TouchedBytes::TouchedBytes(uint64_t base, uint64_t size)
    : firstSector(base >> 5),
      numSectors(((base + size + 31) >> 5) - (base >> 5)),
      sectors(numSectors * sizeof(Sector)),
      blocks(numSectors / blockSectors + 1) {}

void TouchedBytes::mark(uint64_t address, uint64_t bytes, bool write,
                        bool shared) {
  auto *cells = reinterpret_cast<Sector *>(sectors.data());
  while (bytes) {
    unsigned begin = address & 31;
    unsigned count =
        static_cast<unsigned>(std::min<uint64_t>(bytes, 32 - begin));
    uint32_t bits = (count == 32 ? ~0u : (1u << count) - 1) << begin;
    uint64_t index = (address >> 5) - firstSector;
    uint32_t *cell = write ? &cells[index].written : &cells[index].read;
    if (bits & ~__atomic_load_n(cell, __ATOMIC_RELAXED)) {
      if (shared)
        __atomic_fetch_or(cell, bits, __ATOMIC_RELAXED);
      else
        *cell |= bits;
      __atomic_store_n(blocks.data() + index / blockSectors, 1,
                       __ATOMIC_RELAXED);
    }
    address += count;
    bytes -= count;
  }
}

void TouchedBytes::clear() {
  sectors.clear();
  blocks.clear();
}

void TouchedBytes::addTo(Totals &totals) const {
  const auto *cells = reinterpret_cast<const Sector *>(sectors.data());
  for (uint64_t block = 0; block * blockSectors < numSectors; ++block) {
    if (!blocks.data()[block])
      continue;
    uint64_t end = std::min(numSectors, (block + 1) * blockSectors);
    for (uint64_t i = block * blockSectors; i < end; ++i) {
      totals.readBytes += llvm::popcount(cells[i].read);
      totals.writtenBytes += llvm::popcount(cells[i].written);
      totals.readSectors += cells[i].read != 0;
      totals.writtenSectors += cells[i].written != 0;
    }
  }
}

GlobalMemory::~GlobalMemory() {
  if (arena)
    munmap(arena, arenaBytes);
}

llvm::Expected<Allocation *>
GlobalMemory::allocate(uint64_t bytes, llvm::StringRef name, bool trackWrites) {
  if (!arena) {
    void *result = mmap(nullptr, arenaBytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (result == MAP_FAILED)
      return llvm::createStringError(
          "cannot reserve %llu bytes of address space for device memory: %s",
          static_cast<unsigned long long>(arenaBytes), strerror(errno));
    arena = static_cast<uint8_t *>(result);
    // The last page stays unmapped whatever is allocated.
    unused[reinterpret_cast<uint64_t>(arena)] = arenaBytes - pageBytes;
  }
  if (bytes >= arenaBytes / 2)
    return llvm::createStringError(
        llvm::formatv("cannot allocate {0} bytes of device memory", bytes));
  // An unmapped page before each: the next one's is the page after.
  uint64_t usable = llvm::alignTo(std::max<uint64_t>(bytes, 1), pageBytes);
  uint64_t needed = usable + pageBytes;
  for (auto it = unused.begin(); it != unused.end(); ++it) {
    if (it->second < needed)
      continue;
    uint64_t blockBase = it->first, blockSize = it->second;
    uint64_t base = blockBase + pageBytes;
    if (mprotect(reinterpret_cast<void *>(base), usable,
                 PROT_READ | PROT_WRITE) != 0)
      return llvm::createStringError(
          llvm::formatv("cannot allocate {0} bytes of device memory: {1}",
                        bytes, strerror(errno)));
    unused.erase(it);
    if (blockSize > needed)
      unused[blockBase + needed] = blockSize - needed;
    auto allocation = std::make_unique<Allocation>();
    allocation->base = base;
    allocation->size = bytes;
    allocation->name = name.str();
    if (trackWrites)
      allocation->written = std::make_unique<LazyBytes>(bytes);
    Allocation *result = allocation.get();
    allocations[base] = std::move(allocation);
    return result;
  }
  return llvm::createStringError("out of device address space");
}

llvm::Error GlobalMemory::free(uint64_t address) {
  auto it = allocations.find(address);
  if (it == allocations.end() || it->second->registered)
    return llvm::createStringError(llvm::formatv(
        "free of {0:x}, which is not the start of an allocation", address));
  uint64_t usable =
      llvm::alignTo(std::max<uint64_t>(it->second->size, 1), pageBytes);
  void *base = reinterpret_cast<void *>(address);
  // Gives the pages back; the next user of the range sees zeros.
  madvise(base, usable, MADV_DONTNEED);
  mprotect(base, usable, PROT_NONE);
  allocations.erase(it);
  auto block = unused.emplace(address - pageBytes, usable + pageBytes).first;
  if (auto next = std::next(block);
      next != unused.end() && block->first + block->second == next->first) {
    block->second += next->second;
    unused.erase(next);
  }
  if (block != unused.begin()) {
    auto previous = std::prev(block);
    if (previous->first + previous->second == block->first) {
      previous->second += block->second;
      unused.erase(block);
    }
  }
  return llvm::Error::success();
}

llvm::Error GlobalMemory::registerHost(uint64_t address, uint64_t bytes,
                                       llvm::StringRef name) {
  auto after = allocations.lower_bound(address);
  bool overlaps = after != allocations.end() &&
                  after->first < address + std::max<uint64_t>(bytes, 1);
  if (Allocation *below = findAtOrBelow(address))
    overlaps |= below->base + below->size > address;
  if (overlaps)
    return llvm::createStringError(llvm::formatv(
        "host range {0:x}..{1:x} overlaps memory that is registered already",
        address, address + bytes));
  auto allocation = std::make_unique<Allocation>();
  allocation->base = address;
  allocation->size = bytes;
  allocation->name = name.str();
  allocation->registered = true;
  allocations[address] = std::move(allocation);
  return llvm::Error::success();
}

llvm::Error GlobalMemory::unregisterHost(uint64_t address) {
  auto it = allocations.find(address);
  if (it == allocations.end() || !it->second->registered)
    return llvm::createStringError(
        llvm::formatv("host address {0:x} is not registered", address));
  allocations.erase(it);
  return llvm::Error::success();
}

Allocation *GlobalMemory::findAtOrBelow(uint64_t address) {
  auto it = allocations.upper_bound(address);
  return it == allocations.begin() ? nullptr : std::prev(it)->second.get();
}

std::string GlobalMemory::describe(uint64_t address) {
  auto nameOf = [](const Allocation &allocation) {
    return llvm::formatv("{0} ({1} bytes at {2:x})",
                         allocation.name.empty() ? "an unnamed allocation"
                                                 : "'" + allocation.name + "'",
                         allocation.size, allocation.base)
        .str();
  };
  if (address < 4096)
    return "a null pointer";
  Allocation *below = findAtOrBelow(address);
  auto above = allocations.upper_bound(address);
  bool nearAbove = above != allocations.end() &&
                   (!below || above->first - address <
                                  address - (below->base + below->size));
  if (nearAbove && above->first - address < (1 << 20))
    return llvm::formatv("{0} bytes before {1}", above->first - address,
                         nameOf(*above->second));
  if (below && address - below->base < below->size)
    return llvm::formatv("byte {0} of {1}", address - below->base,
                         nameOf(*below));
  if (below && address - below->base - below->size < (1 << 20))
    return llvm::formatv("{0} bytes past the end of {1}",
                         address - below->base - below->size, nameOf(*below));
  return "no allocation is near";
}

void GlobalMemory::beginLaunch() {
  for (auto &entry : allocations) {
    Allocation &allocation = *entry.second;
    if (allocation.touched)
      allocation.touched->clear();
    else
      allocation.touched =
          std::make_unique<TouchedBytes>(allocation.base, allocation.size);
  }
}

TouchedBytes::Totals GlobalMemory::countTouched() const {
  TouchedBytes::Totals totals;
  for (const auto &entry : allocations)
    if (entry.second->touched)
      entry.second->touched->addTo(totals);
  return totals;
}

void GlobalMemory::markWritten(uint64_t address, uint64_t bytes) {
  if (Allocation *allocation = find(address, bytes))
    if (allocation->written)
      memset(allocation->written->data() + (address - allocation->base), 1,
             bytes);
}
