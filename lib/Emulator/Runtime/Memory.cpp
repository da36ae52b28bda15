//===- Memory.cpp - Allocate, copy, fill, register ------------------------===//

#include "Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstring>

using namespace kvq::emu;

static uint64_t toAddress(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// Fills `count` elements of device or host memory.
template <typename T>
static void fill(const char *function, void *to, T value, size_t count) {
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  std::vector<T> data(count, value);
  if (count == 0)
    return;
  checkCall(function, runtime.device->copyToDevice(toAddress(to), data.data(),
                                                   count * sizeof(T)));
}

static void registerHost(const char *function, void *host, uint64_t bytes) {
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  if (bytes)
    checkCall(function, runtime.device->registerHost(host, bytes, "host"));
}

static void unregisterHost(const char *function, void *host, uint64_t bytes) {
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  if (bytes)
    checkCall(function, runtime.device->unregisterHost(host));
}

/// Start and bytes of a memref's data, which must be dense and row-major.
static std::pair<void *, uint64_t>
getDenseRange(const char *function, int64_t rank,
              const MemRefDescriptor *descriptor, int64_t elementBytes) {
  llvm::ArrayRef<int64_t> sizes(descriptor->sizesAndStrides, rank);
  llvm::ArrayRef<int64_t> strides(descriptor->sizesAndStrides + rank, rank);
  int64_t elements = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    if (sizes[i] != 1 && strides[i] != elements)
      failCall(function, "the memref is not dense: dimension " +
                             llvm::Twine(i) + " has stride " +
                             llvm::Twine(strides[i]) + ", not " +
                             llvm::Twine(elements));
    elements *= sizes[i];
  }
  return {descriptor->aligned + descriptor->offset * elementBytes,
          static_cast<uint64_t>(elements * elementBytes)};
}

extern "C" {

void *mgpuMemAlloc(uint64_t bytes, void *stream, bool isHostShared) {
  constexpr const char *name = "mgpuMemAlloc";
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  if (bytes == 0)
    return nullptr;
  if (isHostShared) {
    // The host writes it without a call, so all of it counts as written.
    auto memory = std::make_unique<uint8_t[]>(bytes);
    void *pointer = memory.get();
    checkCall(name, runtime.device->registerHost(pointer, bytes, "shared"));
    runtime.sharedMemory.try_emplace(pointer, std::move(memory));
    return pointer;
  }
  llvm::Expected<uint64_t> address = runtime.device->allocate(bytes);
  if (!address)
    failCall(name, toString(address.takeError()));
  return reinterpret_cast<void *>(static_cast<uintptr_t>(*address));
}

void mgpuMemFree(void *pointer, void *stream) {
  constexpr const char *name = "mgpuMemFree";
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  if (!pointer)
    return;
  auto shared = runtime.sharedMemory.find(pointer);
  if (shared != runtime.sharedMemory.end()) {
    checkCall(name, runtime.device->unregisterHost(pointer));
    runtime.sharedMemory.erase(shared);
    return;
  }
  checkCall(name, runtime.device->free(toAddress(pointer)));
}

void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream) {
  constexpr const char *name = "mgpuMemcpy";
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  if (bytes == 0)
    return;
  Device &device = *runtime.device;
  bool toDevice = device.isDeviceAddress(toAddress(to));
  bool fromDevice = device.isDeviceAddress(toAddress(from));
  if (toDevice && fromDevice)
    checkCall(name,
              device.copyDeviceToDevice(toAddress(to), toAddress(from), bytes));
  else if (toDevice)
    checkCall(name, device.copyToDevice(toAddress(to), from, bytes));
  else if (fromDevice)
    checkCall(name, device.copyFromDevice(to, toAddress(from), bytes));
  else
    std::memmove(to, from, bytes);
}

void mgpuMemset16(void *to, uint16_t value, size_t count, void *stream) {
  fill("mgpuMemset16", to, value, count);
}

void mgpuMemset32(void *to, uint32_t value, size_t count, void *stream) {
  fill("mgpuMemset32", to, value, count);
}

void mgpuMemHostRegister(void *host, uint64_t bytes) {
  registerHost("mgpuMemHostRegister", host, bytes);
}

void mgpuMemHostUnregister(void *host) {
  unregisterHost("mgpuMemHostUnregister", host, 1);
}

void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                               int64_t elementBytes) {
  constexpr const char *name = "mgpuMemHostRegisterMemRef";
  auto [host, bytes] = getDenseRange(
      name, rank, static_cast<MemRefDescriptor *>(descriptor), elementBytes);
  registerHost(name, host, bytes);
}

void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor,
                                 int64_t elementBytes) {
  constexpr const char *name = "mgpuMemHostUnregisterMemRef";
  auto [host, bytes] = getDenseRange(
      name, rank, static_cast<MemRefDescriptor *>(descriptor), elementBytes);
  unregisterHost(name, host, bytes);
}

} // extern "C"
