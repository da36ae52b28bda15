//===- Runtime.h - The state behind the mgpu functions ----------*- C++ -*-===//
//
// The functions have the names and signatures that MLIR 22's gpu-to-llvm and
// its translation of gpu.launch_func call. They cannot return errors, and a
// host program would go on with wrong results: so an error is printed and ends
// the process with status 1.
//
// Environment variables set what a host program cannot:
//   KVQ_EMU_SCHEDULE          eager, lazy or random:SEED (default eager), or a
//                             list: each launch then runs under all of them,
//                             and leaves the same bytes in memory
//   KVQ_EMU_CHECK             all or none (default none)
//   KVQ_EMU_MAX_INSTRUCTIONS  limit of warp instructions per launch
//   KVQ_EMU_REPORT            file to which each launch appends one line of
//                             JSON: its kernel and its report
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_RUNTIME_RUNTIME_H
#define KVQ_LIB_EMULATOR_RUNTIME_RUNTIME_H

#include "kvq/Emulator/Emulator.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace kvq::emu {

/// A `CUfunction` stands for one of these; it lives as long as its module.
struct RuntimeKernel {
  Module *module = nullptr;
  KernelInfo info;
};

struct RuntimeModule {
  Module *module = nullptr;
  std::map<std::string, std::unique_ptr<RuntimeKernel>> kernels;
};

struct Runtime {
  /// One device for the process, made by the first call.
  static Runtime &get();

  std::mutex mutex;
  std::unique_ptr<Device> device;
  std::vector<Schedule> schedules = {Schedule()};
  /// Memory that host and device share, by address.
  llvm::DenseMap<void *, std::unique_ptr<uint8_t[]>> sharedMemory;
  std::string reportFile;

private:
  Runtime();
};

/// Prints "kvq_emu_runtime: FUNCTION: message" and ends the process.
[[noreturn]] void failCall(const char *function, const llvm::Twine &message);
void checkCall(const char *function, llvm::Error error);

/// The part of a ranked memref descriptor that its rank does not change.
struct MemRefDescriptor {
  void *allocated;
  char *aligned;
  int64_t offset;
  /// `rank` sizes, then `rank` strides, in elements.
  int64_t sizesAndStrides[1];
};

} // namespace kvq::emu

#endif // KVQ_LIB_EMULATOR_RUNTIME_RUNTIME_H
