//===- Calls.h - What a call passes and returns -----------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_CALLS_H
#define KVQ_EMULATOR_MACHINE_CALLS_H

#include "kvq/Emulator/Machine/Decoder.h"

namespace kvq::emu {

/// One value that a call passes or returns.
struct CallValue {
  /// A register of the caller, or none: then `offset` in the caller's frame.
  Operand reg;
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct CallExtra : OpExtra {
  /// The callee where it is known.
  int32_t function = -1;
  std::vector<CallValue> arguments, results;
};

inline const CallExtra &callOf(const Op &op) {
  return *static_cast<const CallExtra *>(op.extra);
}

/// The handler of a function that the system has, for a call with these
/// arguments and results; null if there is none.
Handler findSystemCall(Decoder &decoder, llvm::StringRef name,
                       const CallExtra &call);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_CALLS_H
