//===- RaceDetector.cpp - Conflicting accesses without an order -----------===//

#include "kvq/Emulator/Machine/RaceDetector.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

void RaceDetector::Page::refine(unsigned newShift) {
  std::vector<Cell> smaller(size_t(1) << (pageBits - newShift));
  for (size_t i = 0; i < smaller.size(); ++i)
    smaller[i] = cells[i >> (shift - newShift)];
  cells = std::move(smaller);
  shift = newShift;
}

RaceDetector::Page &RaceDetector::pageOf(uint64_t address) {
  uint64_t index = address >> pageBits;
  CacheLine &line = cache[index % cacheSize];
  if (line.index == index)
    return *line.page;
  std::unique_ptr<Page> &slot = pages[index];
  if (!slot) {
    slot = std::make_unique<Page>();
    slot->cells.resize(size_t(1) << (pageBits - slot->shift));
  }
  line = {index, slot.get()};
  return *slot;
}

void RaceDetector::forget(uint64_t address, uint64_t bytes) {
  forgetSync(address, bytes);
  uint64_t end = address + bytes;
  for (uint64_t at = address; at < end;) {
    uint64_t pageEnd = ((at >> pageBits) + 1) << pageBits;
    uint64_t stop = std::min(pageEnd, end);
    if (auto it = pages.find(at >> pageBits); it != pages.end()) {
      Page &page = *it->second;
      constexpr uint64_t mask = (uint64_t(1) << pageBits) - 1;
      unsigned edges = static_cast<unsigned>((at | stop) & 15);
      if (edges && page.shift)
        page.refine(0);
      for (uint64_t i = (at & mask) >> page.shift,
                    last = ((stop - 1) & mask) >> page.shift;
           i <= last; ++i)
        page.cells[i] = Cell();
    }
    at = stop;
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string RaceDetector::describe(const Warp &warp, Stamp stamp) const {
  unsigned perCta = warp.launch.warpsPerCta;
  bool wholeWarp = stamp.kind() == AgentKind::TensorLoad ||
                   stamp.kind() == AgentKind::TensorStore;
  std::string who =
      wholeWarp ? llvm::formatv("warp {0} of CTA {1}", stamp.warp() % perCta,
                                stamp.warp() / perCta)
                      .str()
                : llvm::formatv("thread {0} of CTA {1}",
                                stamp.warp() % perCta * warpSize + stamp.lane(),
                                stamp.warp() / perCta)
                      .str();
  return (stamp.kind() == AgentKind::Thread
              ? "made by "
              : "makes asynchronously, issued by ") +
         who;
}

void RaceDetector::conflict(Warp &warp, const Op &op, unsigned lane,
                            uint64_t shown, FindingKind kind, const char *what,
                            Stamp stamp, uint32_t pc, const char *why) {
  const Op &other = warp.program.ops[pc];
  warp.report(kind, op, lane, shown,
              llvm::formatv("{0} that line {1} ('{2}') {3}: {4}", what,
                            other.line, other.oneLine(), describe(warp, stamp),
                            why)
                  .str(),
              false);
}

//===----------------------------------------------------------------------===//
// Shared and global memory
//===----------------------------------------------------------------------===//

bool RaceDetector::areMorallyStrong(const Warp &warp, const Op &op,
                                    const Access &earlier) const {
  MemoryScope other =
      static_cast<MemoryScope>(earlier.where >> FlagScopeShift & 3);
  MemoryScope narrow = std::min(op.scope, other);
  if (narrow >= MemoryScope::Gpu)
    return true;
  uint64_t cta = earlier.stamp.warp() / warp.launch.warpsPerCta;
  if (cta == warp.cta.linear)
    return true;
  uint64_t perCluster = warp.launch.clusterShape.volume();
  return narrow == MemoryScope::Cluster &&
         cta / perCluster == warp.cta.linear / perCluster;
}

bool RaceDetector::check(Warp &warp, const Op &op, unsigned lane,
                         const Access &self, const Access &earlier, Space space,
                         uint64_t shown, const char *what) {
  if (!earlier.stamp.clock)
    return false;
  uint32_t both = self.where & earlier.where;
  if (!isKnown(warp, lane, earlier.stamp, Visibility::Base)) {
    if (both & FlagStrong && areMorallyStrong(warp, op, earlier))
      return false;
    conflict(warp, op, lane, shown, FindingKind::Race, what, earlier.stamp,
             earlier.pc(),
             both & FlagStrong ? "their scopes do not include both threads"
                               : "nothing orders the two");
    return true;
  }
  // Completion of asynchronous work is a fence by itself.
  if (!(self.where & (FlagAsync | FlagMap)) ||
      earlier.where & (FlagAsync | FlagMap))
    return false;
  Visibility needed = self.where & FlagMap     ? Visibility::MapAcquired
                      : space == Space::Global ? Visibility::AsyncGlobal
                                               : Visibility::AsyncShared;
  if (isActive(needed) && isKnown(warp, lane, earlier.stamp, needed))
    return false;
  conflict(warp, op, lane, shown, FindingKind::ProxyRace, what, earlier.stamp,
           earlier.pc(),
           self.where & FlagMap
               ? "a fence.proxy.tensormap pair is missing between the two"
               : "a fence.proxy.async is missing between the two");
  return true;
}

void RaceDetector::access(Warp &warp, const Op &op, unsigned lane,
                          uint64_t address, unsigned bytes, AccessKind kind,
                          Space space, uint64_t shown, Stamp stamp,
                          Proxy proxy) {
  bool write = isWrite(kind);
  bool strong =
      kind == AccessKind::StrongRead || kind == AccessKind::StrongWrite;
  Access self;
  self.stamp = stamp;
  self.where = static_cast<uint32_t>(&op - warp.program.ops.data()) << 8;
  if (strong)
    self.where |= FlagStrong | static_cast<uint32_t>(op.scope)
                                   << FlagScopeShift;
  if (proxy == Proxy::Async)
    self.where |= FlagAsync;
  else if (proxy == Proxy::TensorMap)
    self.where |= FlagMap;
  bool reported = false;
  constexpr uint64_t mask = (uint64_t(1) << pageBits) - 1;
  for (uint64_t at = address, end = address + bytes; at < end;) {
    Page &page = pageOf(at);
    uint64_t stop = std::min(end, (at | mask) + 1);
    unsigned fit = llvm::countr_zero(at | stop | 16);
    if (fit < page.shift)
      page.refine(fit == 3 ? 2 : fit);
    Cell *cell = &page.cells[(at & mask) >> page.shift];
    Cell *last = &page.cells[((stop - 1) & mask) >> page.shift];
    for (; cell <= last; ++cell, at += uint64_t(1) << page.shift) {
      uint64_t here = shown + (at - address);
      if (!(kind == AccessKind::SameWrite && cell->write.stamp.clock &&
            cell->write.stamp.kind() == AgentKind::Thread &&
            !(cell->write.where & FlagStrong)) &&
          !reported)
        reported = check(warp, op, lane, self, cell->write, space, here,
                         write ? "this write conflicts with the write"
                               : "this read conflicts with the write");
      if (!write) {
        Access *slot = &cell->reads[0];
        if (slot->stamp.clock && slot->stamp.row() != stamp.row() &&
            !isKnown(warp, lane, slot->stamp, Visibility::Base)) {
          // Reads by two agents; the newer one stays in front.
          cell->reads[1] = *slot;
        } else if (strong && !(slot->where & FlagStrong) &&
                   slot->stamp.row() == stamp.row() &&
                   slot->stamp.clock == stamp.clock) {
          // A weak read says more than a strong one.
          continue;
        }
        *slot = self;
        continue;
      }
      for (Access &read : cell->reads) {
        if (!reported)
          reported = check(warp, op, lane, self, read, space, here,
                           "this write conflicts with the read");
        read.stamp.clock = 0;
      }
      cell->write = self;
    }
    at = stop;
  }
}
