//===- RaceDetector.cpp - Conflicting accesses without an order -----------===//

#include "kvq/Emulator/Machine/RaceDetector.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;

RaceDetector::Page &RaceDetector::pageOf(uint64_t address) {
  uint64_t index = address / pageBytes;
  if (index == lastIndex)
    return *lastPage;
  std::unique_ptr<Page> &slot = pages[index];
  if (!slot)
    slot = std::make_unique<Page>();
  lastIndex = index;
  lastPage = slot.get();
  return *slot;
}

bool RaceDetector::ordered(const Warp &warp, unsigned lane,
                           const Access &earlier) const {
  if (earlier.pending)
    return false;
  uint32_t otherWarp = earlier.thread >> 5, otherLane = earlier.thread & 31;
  if (otherWarp != warp.globalIndex)
    return earlier.clock <= warp.clock.known.get(otherWarp);
  return otherLane == lane || earlier.clock < warp.clock.lanes[lane][otherLane];
}

void RaceDetector::conflict(Warp &warp, const Op &op, unsigned lane,
                            uint64_t shown, const Access &earlier,
                            const char *what) {
  const Op &other = warp.program.ops[earlier.pc];
  unsigned otherWarp = earlier.thread >> 5;
  unsigned warpsPerCta = warp.launch.warpsPerCta;
  uint64_t warps = warp.launch.config.grid.volume() * warpsPerCta;
  std::string who =
      otherWarp >= warps
          ? llvm::formatv("the asynchronous work of CTA {0}", otherWarp - warps)
                .str()
          : llvm::formatv("thread {0} of CTA {1}",
                          otherWarp % warpsPerCta * warpSize +
                              (earlier.thread & 31),
                          otherWarp / warpsPerCta)
                .str();
  warp.report(FindingKind::Race, op, lane, shown,
              llvm::formatv("{0} that line {1} ('{2}') made by {3}: nothing "
                            "orders the two",
                            what, other.line, other.text, who)
                  .str(),
              false);
}

void RaceDetector::access(Warp &warp, const Op &op, unsigned lane,
                          uint64_t address, unsigned bytes, AccessKind kind,
                          uint64_t shown, const AsyncToken *token) {
  bool write = kind == AccessKind::Write || kind == AccessKind::SameWrite ||
               kind == AccessKind::StrongWrite;
  bool strong =
      kind == AccessKind::StrongRead || kind == AccessKind::StrongWrite;
  Access self;
  self.clock = warp.clock.now;
  self.thread = warp.globalIndex << 5 | lane;
  if (token) {
    self.clock = token->clock;
    self.thread = token->agent << 5 | lane;
  }
  self.pc = static_cast<uint32_t>(&op - warp.program.ops.data());
  self.strong = strong;
  bool reported = false;
  for (unsigned i = 0; i < bytes; ++i) {
    Byte &byte = pageOf(address + i).bytes[(address + i) % pageBytes];
    auto clashes = [&](const Access &earlier) {
      return earlier.clock && !(strong && earlier.strong) &&
             !ordered(warp, lane, earlier);
    };
    bool together = kind == AccessKind::SameWrite &&
                    byte.write.thread >> 5 == self.thread >> 5 &&
                    byte.write.pc == self.pc && byte.write.clock == self.clock;
    if (!reported && !together && clashes(byte.write)) {
      conflict(warp, op, lane, shown + i, byte.write,
               write ? "overwrites a value without order with the write"
                     : "reads a value without order with the write");
      reported = true;
    }
    if (!write) {
      // Keep the reads of two different warps, the latest of each.
      Access &first = byte.reads[0];
      if (!first.clock || first.thread >> 5 == self.thread >> 5) {
        // A weak read of another lane says more than a strong one.
        if (!(strong && first.clock == self.clock && !first.strong))
          first = self;
      } else {
        byte.reads[1] = first;
        first = self;
      }
      continue;
    }
    for (Access &read : byte.reads) {
      if (!reported && clashes(read)) {
        conflict(warp, op, lane, shown + i, read,
                 "overwrites a value without order with the read");
        reported = true;
      }
      read.clock = 0;
    }
    byte.write = self;
  }
}

void RaceDetector::accessAsync(Warp &warp, const Op &op, unsigned lane,
                               uint64_t address, unsigned bytes,
                               uint64_t shown) {
  access(warp, op, lane, address, bytes, AccessKind::Write, shown);
  for (unsigned i = 0; i < bytes; ++i)
    pageOf(address + i).bytes[(address + i) % pageBytes].write.pending = true;
}

void RaceDetector::settle(Warp &warp, unsigned lane, uint64_t address,
                          unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    Access &write = pageOf(address + i).bytes[(address + i) % pageBytes].write;
    if (!write.pending || write.thread != (warp.globalIndex << 5 | lane))
      continue;
    write.pending = false;
    write.clock = warp.clock.now;
  }
}

/// Agents count behind the warps of the launch, one for each CTA.
AsyncToken RaceDetector::beginAsync(Warp &warp) {
  AsyncToken token;
  const Launch &launch = warp.launch;
  token.agent = static_cast<uint32_t>(
      launch.config.grid.volume() * launch.warpsPerCta + warp.cta.linear);
  token.clock = ++agentClocks[token.agent];
  return token;
}

void RaceDetector::completeAsync(const AsyncToken &token, uint64_t address) {
  released[address].raise(token.agent, token.clock);
}

void RaceDetector::waitAsync(Warp &warp, const AsyncToken &token) {
  warp.clock.known.raise(token.agent, token.clock);
}

static bool acquires(MemoryOrder order) {
  return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel ||
         order == MemoryOrder::SeqCst;
}

static bool releases(MemoryOrder order) {
  return order == MemoryOrder::Release || order == MemoryOrder::AcqRel ||
         order == MemoryOrder::SeqCst;
}

/// What a thread acquires orders it also behind threads of its own warp.
static void acquireOwnWarp(Warp &warp, unsigned lane, const VectorClock &from) {
  if (uint32_t clock = from.get(warp.globalIndex))
    for (uint32_t &slot : warp.clock.lanes[lane])
      slot = std::max(slot, clock + 1);
}

void RaceDetector::acquire(Warp &warp, unsigned lane, uint64_t address,
                           MemoryOrder order) {
  auto it = released.find(address);
  if (it == released.end())
    return;
  if (acquires(order)) {
    warp.clock.known.join(it->second);
    acquireOwnWarp(warp, lane, it->second);
    return;
  }
  warp.clock.pendingAcquire.join(it->second);
  warp.clock.hasPending = true;
}

void RaceDetector::release(Warp &warp, uint64_t address, MemoryOrder order) {
  WarpClock &clock = warp.clock;
  if (releases(order)) {
    clock.known.raise(warp.globalIndex, clock.now);
    released[address].join(clock.known);
    ++clock.now;
  } else if (clock.hasFenced) {
    // A fence before a relaxed write makes it a release.
    released[address].join(clock.fenced);
  }
}

void RaceDetector::fence(Warp &warp, LaneMask lanes) {
  WarpClock &clock = warp.clock;
  if (clock.hasPending) {
    clock.known.join(clock.pendingAcquire);
    forLanes(lanes, [&](unsigned lane) {
      acquireOwnWarp(warp, lane, clock.pendingAcquire);
    });
    clock.pendingAcquire.clear();
    clock.hasPending = false;
  }
  clock.known.raise(warp.globalIndex, clock.now);
  clock.fenced = clock.known;
  clock.hasFenced = true;
  ++clock.now;
}

void RaceDetector::forget(uint64_t address, uint64_t bytes) {
  for (uint64_t at = address; at < address + bytes;) {
    uint64_t pageEnd = (at / pageBytes + 1) * pageBytes;
    auto it = pages.find(at / pageBytes);
    uint64_t end = std::min(pageEnd, address + bytes);
    if (it != pages.end())
      for (uint64_t i = at; i < end; ++i)
        it->second->bytes[i % pageBytes] = Byte();
    at = end;
  }
}
