//===- Printf.h - The device's printf ---------------------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_PRINTF_H
#define KVQ_EMULATOR_MACHINE_PRINTF_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <functional>
#include <string>

namespace kvq::emu {

/// Where the values come from: a buffer with each at its natural alignment,
/// 4 bytes for `int`, 8 for `double`, `long long` and pointers.
struct PrintfSource {
  std::function<uint64_t(uint64_t offset, unsigned bytes)> read;
  std::function<std::string(uint64_t address)> string;
};

/// Formats as C does. `conversions` is the number of values, which is what
/// vprintf returns, or -1 where the format is malformed.
std::string formatDevice(llvm::StringRef format, const PrintfSource &source,
                         int &conversions);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_PRINTF_H
