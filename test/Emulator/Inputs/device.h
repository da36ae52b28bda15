//===- device.h - What nvcc declares by itself, for clang -------*- C++ -*-===//
//
// clang compiles CUDA without the CUDA headers if it is told what the few
// names are that these kernels use.
//
//===----------------------------------------------------------------------===//

#ifdef __clang__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))

#define KVQ_SPECIAL(name, function)                                            \
  __declspec(property(get = get_##name)) unsigned name;                        \
  __device__ static unsigned get_##name() { return function(); }
#define KVQ_VECTOR(type, sreg)                                                 \
  struct type {                                                                \
    KVQ_SPECIAL(x, __nvvm_read_ptx_sreg_##sreg##_x)                            \
    KVQ_SPECIAL(y, __nvvm_read_ptx_sreg_##sreg##_y)                            \
    KVQ_SPECIAL(z, __nvvm_read_ptx_sreg_##sreg##_z)                            \
  };
KVQ_VECTOR(ThreadIdx, tid)
KVQ_VECTOR(BlockIdx, ctaid)
KVQ_VECTOR(BlockDim, ntid)
KVQ_VECTOR(GridDim, nctaid)
extern const __device__ __attribute__((weak)) ThreadIdx threadIdx;
extern const __device__ __attribute__((weak)) BlockIdx blockIdx;
extern const __device__ __attribute__((weak)) BlockDim blockDim;
extern const __device__ __attribute__((weak)) GridDim gridDim;

__device__ inline int __shfl_down_sync(unsigned mask, int value, int delta) {
  return __nvvm_shfl_sync_down_i32(mask, value, delta, 31);
}
__device__ inline int __shfl_xor_sync(unsigned mask, int value, int other) {
  return __nvvm_shfl_sync_bfly_i32(mask, value, other, 31);
}
__device__ inline float __shfl_xor_sync(unsigned mask, float value, int other) {
  return __nvvm_shfl_sync_bfly_f32(mask, value, other, 31);
}
__device__ inline int __shfl_up_sync(unsigned mask, int value, int delta) {
  return __nvvm_shfl_sync_up_i32(mask, value, delta, 0);
}
__device__ inline unsigned __ballot_sync(unsigned mask, int value) {
  return __nvvm_vote_ballot_sync(mask, value);
}
__device__ inline int atomicAdd(int *at, int value) {
  return __nvvm_atom_add_gen_i(at, value);
}
__device__ inline unsigned atomicCAS(unsigned *at, unsigned from, unsigned to) {
  return __nvvm_atom_cas_gen_i((int *)at, from, to);
}
__device__ inline int __popc(unsigned x) { return __builtin_popcount(x); }
__device__ inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
__device__ inline unsigned __brev(unsigned x) {
  return __builtin_bitreverse32(x);
}
__device__ inline unsigned __umulhi(unsigned x, unsigned y) {
  return ((unsigned long long)x * y) >> 32;
}
__device__ inline float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
__device__ inline float exp2f(float x) { return __nvvm_ex2_approx_f(x); }
__device__ inline float fmaxf(float x, float y) {
  return __builtin_fmaxf(x, y);
}
#endif
