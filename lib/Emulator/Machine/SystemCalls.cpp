//===- SystemCalls.cpp - Functions that the system has --------------------===//

#include "kvq/Emulator/Machine/Calls.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "kvq/Emulator/Machine/Printf.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;

namespace {

/// Reads an argument of a call.
uint64_t argument(Warp &warp, const CallValue &value, unsigned lane) {
  if (!value.reg.isNone())
    return warp.values(value.reg)[lane];
  uint64_t bits = 0;
  memcpy(&bits,
         warp.localMemory(lane, warp.localBase() + value.offset + value.size) +
             warp.localBase() + value.offset,
         std::min<uint32_t>(8, value.size));
  return bits;
}

void setResult(Warp &warp, const CallExtra &call, unsigned lane,
               uint64_t bits) {
  if (call.results.empty())
    return;
  const CallValue &value = call.results[0];
  if (!value.reg.isNone()) {
    warp.destination(value.reg)[lane] = lowBits(bits, value.reg.bits);
    return;
  }
  uint32_t at = warp.localBase() + value.offset;
  memcpy(warp.localMemory(lane, at + value.size) + at, &bits,
         std::min<uint32_t>(8, value.size));
  if (warp.launch.checkWritten)
    memset(warp.localWritten(lane) + at, 1, value.size);
}

/// A zero-terminated string of at most 64 KiB at a generic address.
bool readString(Warp &warp, const Op &op, unsigned lane, uint64_t address,
                std::string &text) {
  for (unsigned i = 0; i < 65536; ++i) {
    Location location;
    if (!locate(warp, op, lane, Space::Generic, address + i, 1, 1, location))
      return false;
    if (!*location.host)
      return true;
    text.push_back(static_cast<char>(*location.host));
  }
  return true;
}

void callVprintf(Warp &warp, const Op &op, LaneMask lanes) {
  const CallExtra &call = callOf(op);
  forLanes(lanes, [&](unsigned lane) {
    if (warp.launch.stopped())
      return;
    std::string format;
    uint64_t arguments = argument(warp, call.arguments[1], lane);
    if (!readString(warp, op, lane, argument(warp, call.arguments[0], lane),
                    format))
      return;
    PrintfSource source;
    source.read = [&](uint64_t offset, unsigned bytes) -> uint64_t {
      Location location;
      if (!locate(warp, op, lane, Space::Generic, arguments + offset, bytes,
                  bytes, location))
        return 0;
      return readBytes(location.host, bytes);
    };
    source.string = [&](uint64_t address) {
      std::string text;
      readString(warp, op, lane, address, text);
      return text;
    };
    int conversions = 0;
    std::string text = formatDevice(format, source, conversions);
    warp.launch.print(warp.cta.cluster, text);
    setResult(warp, call, lane, static_cast<uint32_t>(conversions));
  });
}

/// __assertfail(message, file, line, function, character size).
void callAssertFail(Warp &warp, const Op &op, LaneMask lanes) {
  const CallExtra &call = callOf(op);
  unsigned lane = llvm::countr_zero(lanes);
  std::string message, file, function;
  if (!readString(warp, op, lane, argument(warp, call.arguments[0], lane),
                  message) ||
      !readString(warp, op, lane, argument(warp, call.arguments[1], lane),
                  file) ||
      !readString(warp, op, lane, argument(warp, call.arguments[3], lane),
                  function))
    return;
  warp.report(FindingKind::AssertFailed, op, lane, 0,
              llvm::formatv("assertion `{0}` failed at {1}:{2}, in {3}",
                            message, file,
                            argument(warp, call.arguments[2], lane), function)
                  .str(),
              true);
}

/// malloc(size): an allocation of its own, so that its bounds are known. Null
/// if there is no more memory, or for no bytes.
void callMalloc(Warp &warp, const Op &op, LaneMask lanes) {
  const CallExtra &call = callOf(op);
  forLanes(lanes, [&](unsigned lane) {
    uint64_t bytes = argument(warp, call.arguments[0], lane), address = 0;
    if (bytes) {
      llvm::Expected<Allocation *> allocation = warp.launch.memory.allocate(
          bytes, "the device's heap", warp.launch.checkWritten);
      if (allocation) {
        (*allocation)->heap = true;
        address = (*allocation)->base;
      } else {
        llvm::consumeError(allocation.takeError());
      }
    }
    setResult(warp, call, lane, address);
  });
}

void callFree(Warp &warp, const Op &op, LaneMask lanes) {
  const CallExtra &call = callOf(op);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint64_t address = argument(warp, call.arguments[0], lane);
    if (!address)
      continue;
    Allocation *allocation = warp.launch.memory.find(address, 1);
    if (!allocation || allocation->base != address || !allocation->heap) {
      warp.report(FindingKind::IllegalOperand, op, lane, address,
                  "free of what malloc has not returned, or has been freed",
                  true);
      return;
    }
    if (warp.launch.checkRaces)
      warp.launch.races.forget(address, allocation->size);
    warp.launch.forgetAllocations();
    llvm::cantFail(warp.launch.memory.free(address));
  }
}

} // namespace

Handler kvq::emu::findSystemCall(Decoder &decoder, llvm::StringRef name,
                                 const CallExtra &call) {
  struct System {
    Handler handler;
    size_t arguments;
    bool heap;
  };
  System system = llvm::StringSwitch<System>(name)
                      .Case("vprintf", {callVprintf, 2, false})
                      .Case("__assertfail", {callAssertFail, 5, false})
                      .Case("malloc", {callMalloc, 1, true})
                      .Case("free", {callFree, 1, true})
                      .Default({nullptr, 0, false});
  if (!system.handler || call.arguments.size() != system.arguments)
    return nullptr;
  decoder.program.usesHeap |= system.heap;
  return system.handler;
}
