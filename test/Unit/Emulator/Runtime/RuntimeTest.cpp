//===- RuntimeTest.cpp - The mgpu functions, called as host code does -----===//

#include "gtest/gtest.h"
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

extern "C" {
void *mgpuModuleLoad(void *data, size_t size);
void *mgpuModuleLoadJIT(void *data, int optimization);
void mgpuModuleUnload(void *module);
void *mgpuModuleGetFunction(void *module, const char *name);
void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t sharedBytes, void *stream,
                      void **values, void **extra, size_t count);
void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                             intptr_t clusterY, intptr_t clusterZ,
                             intptr_t gridX, intptr_t gridY, intptr_t gridZ,
                             intptr_t blockX, intptr_t blockY, intptr_t blockZ,
                             int32_t sharedBytes, void *stream, void **values,
                             void **extra);
void *mgpuStreamCreate();
void mgpuStreamDestroy(void *stream);
void mgpuStreamSynchronize(void *stream);
void mgpuStreamWaitEvent(void *stream, void *event);
void *mgpuEventCreate();
void mgpuEventDestroy(void *event);
void mgpuEventSynchronize(void *event);
void mgpuEventRecord(void *event, void *stream);
void *mgpuMemAlloc(uint64_t bytes, void *stream, bool isHostShared);
void mgpuMemFree(void *pointer, void *stream);
void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream);
void mgpuMemset16(void *to, uint16_t value, size_t count, void *stream);
void mgpuMemset32(void *to, uint32_t value, size_t count, void *stream);
void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor, int64_t bytes);
void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor, int64_t bytes);
void mgpuSetDefaultDevice(int32_t device);
void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor,
                                     uint32_t type, uint32_t interleave,
                                     uint32_t swizzle, uint32_t l2Promotion,
                                     uint32_t fill, int64_t *boxDims);
}

namespace {

// p[tid + ntid * ctaid] += v, and the rank in the cluster.
char text[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p, .param .u16 v) {
  .reg .b16 %h;
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [p];
  ld.param.u16 %h, [v];
  cvt.u32.u16 %r4, %h;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r0, %r1, %r2, %r0;
  mad.wide.u32 %rd1, %r0, 4, %rd0;
  ld.global.u32 %r3, [%rd1];
  add.u32 %r3, %r3, %r4;
  mov.u32 %r1, %cluster_ctarank;
  mad.lo.u32 %r3, %r1, 1000, %r3;
  st.global.u32 [%rd1], %r3;
  ret;
}
)";

struct Kernel {
  Kernel() {
    module = mgpuModuleLoadJIT(text, 2);
    function = mgpuModuleGetFunction(module, "add");
  }
  ~Kernel() { mgpuModuleUnload(module); }
  void launch(int64_t grid, int64_t block, void *p, uint16_t v) {
    void *values[] = {&p, &v};
    mgpuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, nullptr, values,
                     nullptr, 2);
  }
  void *module, *function;
};

struct MemRef2 {
  void *allocated;
  uint32_t *aligned;
  int64_t offset, sizes[2], strides[2];
};

using Words = std::vector<uint32_t>;

TEST(Runtime, DeviceMemory) {
  Kernel kernel;
  void *stream = mgpuStreamCreate();
  void *event = mgpuEventCreate();
  Words host(8);
  std::iota(host.begin(), host.end(), 0);
  void *a = mgpuMemAlloc(32, stream, false);
  void *b = mgpuMemAlloc(32, stream, false);
  mgpuMemcpy(a, host.data(), 32, stream);
  kernel.launch(2, 4, a, 7);
  mgpuEventRecord(event, stream);
  mgpuStreamWaitEvent(stream, event);
  mgpuMemcpy(b, a, 32, stream);
  mgpuMemset32(a, 0xABCD, 2, stream);
  mgpuMemset16(static_cast<char *>(a) + 8, 0x1234, 2, stream);
  Words fromA(8), fromB(8);
  mgpuMemcpy(fromA.data(), a, 32, stream);
  mgpuMemcpy(fromB.data(), b, 32, stream);
  mgpuEventSynchronize(event);
  mgpuStreamSynchronize(stream);
  EXPECT_EQ(fromB, (Words{7, 8, 9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(fromA, (Words{0xABCD, 0xABCD, 0x12341234, 10, 11, 12, 13, 14}));
  mgpuMemFree(a, stream);
  mgpuMemFree(b, stream);
  mgpuMemFree(nullptr, stream);
  EXPECT_EQ(mgpuMemAlloc(0, stream, false), nullptr);
  mgpuEventDestroy(event);
  mgpuStreamDestroy(stream);
}

TEST(Runtime, SharedMemoryIsTheHostsToo) {
  Kernel kernel;
  auto *p = static_cast<uint32_t *>(mgpuMemAlloc(16, nullptr, true));
  for (uint32_t i = 0; i < 4; ++i)
    p[i] = 10 * i;
  kernel.launch(1, 4, p, 1);
  EXPECT_EQ(Words(p, p + 4), (Words{1, 11, 21, 31}));
  mgpuMemFree(p, nullptr);
}

TEST(Runtime, RegisteredMemory) {
  Kernel kernel;
  Words host(20);
  // Rows 1 and 2 of four.
  MemRef2 memref{host.data(), host.data(), 5, {2, 5}, {5, 1}};
  mgpuMemHostRegisterMemRef(2, &memref, 4);
  kernel.launch(2, 5, host.data() + 5, 3);
  mgpuMemHostUnregisterMemRef(2, &memref, 4);
  Words want(20);
  std::fill(want.begin() + 5, want.begin() + 15, 3);
  EXPECT_EQ(host, want);
}

TEST(Runtime, Clusters) {
  Kernel kernel;
  auto *p = static_cast<uint32_t *>(mgpuMemAlloc(16, nullptr, true));
  std::memset(p, 0, 16);
  uint16_t v = 5;
  void *values[] = {&p, &v};
  mgpuLaunchClusterKernel(kernel.function, 2, 1, 1, 4, 1, 1, 1, 1, 1, 0,
                          nullptr, values, nullptr);
  EXPECT_EQ(Words(p, p + 4), (Words{5, 1005, 5, 1005}));
  mgpuMemFree(p, nullptr);
}

TEST(Runtime, ModuleOfAGivenSize) {
  // A text that no NUL ends.
  std::vector<char> copy(text, text + std::strlen(text));
  void *module = mgpuModuleLoad(copy.data(), copy.size());
  EXPECT_NE(mgpuModuleGetFunction(module, "add"), nullptr);
  EXPECT_EQ(mgpuModuleGetFunction(module, "add"),
            mgpuModuleGetFunction(module, "add"));
  mgpuModuleUnload(module);
}

TEST(RuntimeDeathTest, Errors) {
  auto exitsWithOne = testing::ExitedWithCode(1);
  Kernel kernel;
  char binary[] = "\x7f"
                  "ELF\2\1\1";
  EXPECT_EXIT(mgpuModuleLoad(binary, sizeof(binary)), exitsWithOne,
              "the module is no PTX text; .*cubin-format=isa");
  char broken[] = ".version 8.0\n.target sm_90\n.entry k() { bad; }";
  EXPECT_EXIT(mgpuModuleLoadJIT(broken, 2), exitsWithOne,
              "<module>:3:14: unknown instruction 'bad'");
  EXPECT_EXIT(mgpuModuleGetFunction(kernel.module, "sub"), exitsWithOne,
              "mgpuModuleGetFunction: .*sub.*add");
  EXPECT_EXIT(mgpuSetDefaultDevice(1), exitsWithOne, "one device, number 0");
  void *none = nullptr;
  uint16_t v = 0;
  void *values[] = {&none, &v};
  EXPECT_EXIT(mgpuLaunchKernel(kernel.function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                               values, nullptr, 3),
              exitsWithOne, "has 2 parameters, but 3 arguments are passed");
  EXPECT_EXIT(mgpuLaunchKernel(kernel.function, 1, 0, 1, 1, 1, 1, 0, nullptr,
                               values, nullptr, 2),
              exitsWithOne, "a size must be positive, found 0");
  // A null pointer in the kernel is a finding, which ends the host program.
  EXPECT_EXIT(kernel.launch(1, 1, nullptr, 0), exitsWithOne,
              "out-of-bounds.*\n.*\n.*\n.*kernel 'add' did not complete");
  uint32_t host[8] = {};
  MemRef2 strided{host, host, 0, {2, 2}, {4, 1}};
  EXPECT_EXIT(mgpuMemHostRegisterMemRef(2, &strided, 4), exitsWithOne,
              "not dense: dimension 0 has stride 4, not 2");
  int64_t box[2] = {2, 2};
  EXPECT_EXIT(mgpuTensorMapEncodeTiledMemref(2, &strided, 13, 0, 0, 0, 0, box),
              exitsWithOne, "a memref cannot hold packed elements");
  EXPECT_EXIT(mgpuTensorMapEncodeTiledMemref(2, &strided, 7, 1, 0, 0, 0, box),
              exitsWithOne, "interleaved tensor maps are not supported");
}

} // namespace
