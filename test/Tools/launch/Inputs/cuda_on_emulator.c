/* The functions of libcuda.so.1 that examples/launch uses, on the emulator. */
#include <stddef.h>
#include <stdint.h>

void *mgpuModuleLoadJIT(const void *data, int level);
void *mgpuModuleGetFunction(void *module, const char *name);
void *mgpuMemAlloc(uint64_t bytes, void *stream, _Bool is_shared);
void mgpuMemFree(void *pointer, void *stream);
void mgpuMemcpy(void *to, const void *from, size_t bytes, void *stream);
void mgpuLaunchClusterKernel(void *function, intptr_t cluster_x,
                             intptr_t cluster_y, intptr_t cluster_z,
                             intptr_t grid_x, intptr_t grid_y, intptr_t grid_z,
                             intptr_t block_x, intptr_t block_y,
                             intptr_t block_z, int32_t shared, void *stream,
                             void **arguments, void **extra);

int cuInit(unsigned flags) { return flags != 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = NULL;
  return device;
}
int cuCtxSetCurrent(void *context) { return context != NULL; }
int cuModuleLoadData(void **module, const void *image) {
  *module = mgpuModuleLoadJIT(image, 0);
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = mgpuModuleGetFunction(module, name);
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  return !function || attribute != 8 || value <= 48 * 1024;
}
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
  *pointer = (uintptr_t)mgpuMemAlloc(bytes, NULL, 0);
  return 0;
}
int cuMemFree_v2(uint64_t pointer) {
  mgpuMemFree((void *)(uintptr_t)pointer, NULL);
  return 0;
}
int cuMemsetD8_v2(uint64_t pointer, unsigned char value, size_t count) {
  for (size_t i = 0; i < count; ++i)
    mgpuMemcpy((char *)(uintptr_t)pointer + i, &value, 1, NULL);
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  mgpuMemcpy((void *)(uintptr_t)to, from, bytes, NULL);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  mgpuMemcpy(to, (const void *)(uintptr_t)from, bytes, NULL);
  return 0;
}
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream,
                   void **arguments, void **extra) {
  mgpuLaunchClusterKernel(function, 1, 1, 1, grid_x, grid_y, grid_z, block_x,
                          block_y, block_z, (int32_t)shared, stream, arguments,
                          extra);
  return 0;
}
int cuCtxSynchronize(void) { return 0; }
