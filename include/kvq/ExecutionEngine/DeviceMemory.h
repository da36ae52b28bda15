//===- DeviceMemory.h - Host memory that kernels may touch ------*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_DEVICEMEMORY_H
#define KVQ_EXECUTIONENGINE_DEVICEMEMORY_H

#include "llvm/ADT/DenseSet.h"
#include <cstddef>
#include <cstdint>

namespace kvq {

/// Makes memory of the host accessible to kernels through two functions of
/// MLIR's GPU runtime libraries, mgpuMemHostRegister and
/// mgpuMemHostUnregister. While one exists, what compiled code allocates and
/// frees goes through the other two static functions.
class DeviceMemory {
public:
  using Register = void (*)(void *, uint64_t);
  using Unregister = void (*)(void *);

  DeviceMemory(Register registerHost, Unregister unregisterHost);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Makes `bytes` at `pointer` accessible until this is destroyed.
  void add(void *pointer, size_t bytes);

  /// malloc and free for compiled code: what they return is accessible. A
  /// pointer that `allocate` did not return is freed as usual.
  static void *allocate(size_t bytes);
  static void release(void *pointer);

private:
  Register registerHost;
  Unregister unregisterHost;
  llvm::DenseSet<void *> registered;
};

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_DEVICEMEMORY_H
