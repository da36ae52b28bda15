//===- Arguments.h - Kernel arguments of the command line -------*- C++ -*-===//

#ifndef KVQ_TOOLS_KVQ_EMU_ARGUMENTS_H
#define KVQ_TOOLS_KVQ_EMU_ARGUMENTS_H

#include "kvq/Emulator/Emulator.h"
#include "kvq/Support/Npy.h"
#include <optional>

namespace kvq::emu {

/// One `--arg`, parsed but not yet on the device.
struct Argument {
  enum Kind {
    /// Bytes that are passed by value.
    Value,
    /// A buffer: from a file, of zeros, or uninitialized.
    Buffer,
    /// The address of another argument's buffer.
    Reference
  };
  Kind kind = Value;
  /// As the command line has it, for messages.
  std::string text;
  std::vector<uint8_t> bytes;

  /// The content of `in` and `inout`, the type and shape of `out`.
  std::optional<NpyArray> array;
  uint64_t bufferBytes = 0;
  bool isInput = false;
  bool isZero = false;
  /// Where `out` and `inout` are saved; empty for the rest.
  std::string outputPath;
  uint64_t address = 0;

  /// Of a reference.
  unsigned target = 0;
  uint64_t offset = 0;
};

/// What `--help` says about the forms of `--arg`.
extern const char *const argumentHelp;

/// Parses one `--arg` and reads its file.
llvm::Expected<Argument> parseArgument(llvm::StringRef text);

/// Puts buffers on the device and lays the kernel's arguments out. Errors name
/// the argument and the parameter.
llvm::Expected<std::vector<uint8_t>>
layOutArguments(Device &device, const KernelInfo &kernel,
                llvm::MutableArrayRef<Argument> arguments);

/// Saves every `out` and `inout` buffer; no file changes unless all can.
llvm::Error saveOutputs(Device &device, llvm::ArrayRef<Argument> arguments);

} // namespace kvq::emu

#endif // KVQ_TOOLS_KVQ_EMU_ARGUMENTS_H
