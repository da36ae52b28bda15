//===- DeviceMemory.cpp - Host memory that kernels may touch --------------===//

#include "kvq/ExecutionEngine/DeviceMemory.h"
#include <algorithm>
#include <cassert>
#include <cstdlib>

using namespace kvq;

/// Compiled code knows no context, so there is one at a time.
static DeviceMemory *current = nullptr;

DeviceMemory::DeviceMemory(Register registerHost, Unregister unregisterHost)
    : registerHost(registerHost), unregisterHost(unregisterHost) {
  assert(!current && "calls with device memory run one after the other");
  current = this;
}

DeviceMemory::~DeviceMemory() {
  // Results that were allocated outlive this; their owner frees them.
  for (void *pointer : registered)
    unregisterHost(pointer);
  current = nullptr;
}

void DeviceMemory::add(void *pointer, size_t bytes) {
  if (bytes == 0 || !registered.insert(pointer).second)
    return;
  registerHost(pointer, bytes);
}

void *DeviceMemory::allocate(size_t bytes) {
  // malloc(0) may be null, which compiled code may take for a failure.
  void *pointer = std::malloc(std::max<size_t>(bytes, 1));
  if (pointer && current && bytes) {
    current->registerHost(pointer, bytes);
    current->registered.insert(pointer);
  }
  return pointer;
}

void DeviceMemory::release(void *pointer) {
  if (current && current->registered.erase(pointer))
    current->unregisterHost(pointer);
  std::free(pointer);
}
