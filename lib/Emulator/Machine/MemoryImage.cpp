//===- MemoryImage.cpp - What memory was at some time ---------------------===//

#include "kvq/Emulator/Machine/MemoryImage.h"
#include "kvq/Emulator/Machine/GlobalMemory.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace kvq::emu;

static uint8_t *bytesOf(const Allocation &allocation) {
  return reinterpret_cast<uint8_t *>(allocation.base);
}

MemoryImage::MemoryImage(const GlobalMemory &memory) {
  memory.forEach([&](const Allocation &allocation) {
    Part &part = parts[allocation.base];
    part.size = allocation.size;
    const uint8_t *bytes = bytesOf(allocation);
    part.bytes.assign(bytes, bytes + allocation.size);
    if (allocation.written)
      part.written.assign(allocation.written->data(),
                          allocation.written->data() + allocation.size);
  });
}

void MemoryImage::restore(GlobalMemory &memory) const {
  memory.forEach([&](const Allocation &allocation) {
    auto part = parts.find(allocation.base);
    // Nothing writes constants.
    if (part == parts.end() || part->second.size != allocation.size ||
        allocation.constant)
      return;
    memcpy(bytesOf(allocation), part->second.bytes.data(), allocation.size);
    if (allocation.written)
      memcpy(allocation.written->data(), part->second.written.data(),
             allocation.size);
  });
}

std::string MemoryImage::findDifference(const GlobalMemory &memory) const {
  std::string found;
  memory.forEach([&](const Allocation &allocation) {
    auto it = parts.find(allocation.base);
    if (!found.empty() || it == parts.end() ||
        it->second.size != allocation.size)
      return;
    const Part &part = it->second;
    const uint8_t *bytes = bytesOf(allocation);
    if (memcmp(bytes, part.bytes.data(), allocation.size) == 0)
      return;
    for (uint64_t i = 0; i < allocation.size; ++i)
      if (bytes[i] != part.bytes[i] &&
          (part.written.empty() || part.written[i])) {
        found =
            llvm::formatv("byte {0} of {1} is {2:x}, not {3:x}", i,
                          allocation.name.empty()
                              ? llvm::formatv("{0} bytes at {1:x}",
                                              allocation.size, allocation.base)
                                    .str()
                              : "'" + allocation.name + "'",
                          unsigned(bytes[i]), unsigned(part.bytes[i]))
                .str();
        return;
      }
  });
  return found;
}
