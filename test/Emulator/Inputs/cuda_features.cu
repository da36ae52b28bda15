//===- cuda_features.cu - What needs the CUDA headers ---------------------===//

#include <cassert>
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>

#define FULL 0xffffffffu

extern "C" {

__global__ void mathFloat(const float *in, float *out, int n) {
  int t = threadIdx.x;
  float x = in[t];
  out[0 * n + t] = sinf(x);
  out[1 * n + t] = cosf(x);
  out[2 * n + t] = expf(x);
  out[3 * n + t] = logf(fabsf(x) + 1e-3f);
  out[4 * n + t] = tanhf(x);
  out[5 * n + t] = powf(fabsf(x), 1.7f);
  out[6 * n + t] = atan2f(x, 2.0f);
  out[7 * n + t] = erff(x);
  out[8 * n + t] = cbrtf(x);
  out[9 * n + t] = fmodf(x, 0.7f);
}

__global__ void mathFast(const float *in, float *out, int n) {
  int t = threadIdx.x;
  float x = in[t];
  out[0 * n + t] = __sinf(x);
  out[1 * n + t] = __expf(x);
  out[2 * n + t] = __logf(fabsf(x) + 1e-3f);
  out[3 * n + t] = __fdividef(1.0f, x);
  out[4 * n + t] = rsqrtf(fabsf(x));
}

__global__ void mathDouble(const double *in, double *out, int n) {
  int t = threadIdx.x;
  double x = in[t];
  out[0 * n + t] = sin(x);
  out[1 * n + t] = exp(x);
  out[2 * n + t] = log(fabs(x) + 1e-3);
  out[3 * n + t] = pow(fabs(x), 1.7);
  out[4 * n + t] = sqrt(fabs(x));
  out[5 * n + t] = 1.0 / x;
  out[6 * n + t] = tgamma(fabs(x) + 0.5);
}

__global__ void rounding(const float *in, float *out, int n) {
  int t = threadIdx.x;
  float x = in[t], y = in[(t + 1) % n];
  out[0 * n + t] = __fadd_ru(x, y);
  out[1 * n + t] = __fadd_rd(x, y);
  out[2 * n + t] = __fmul_rz(x, y);
  out[3 * n + t] = __fdiv_rn(x, y);
  out[4 * n + t] = __fsqrt_ru(fabsf(x));
  out[5 * n + t] = __fmaf_rd(x, y, x);
}

__global__ void halves(const half *in, half *out, __nv_bfloat16 *bf, int n) {
  int t = threadIdx.x;
  half x = in[t], y = in[(t + 1) % n];
  out[0 * n + t] = __hadd(x, y);
  out[1 * n + t] = __hmul(x, y);
  out[2 * n + t] = __hfma(x, y, x);
  out[3 * n + t] = __hmax(x, y);
  half2 p = __hadd2(__halves2half2(x, y), __half2half2(y));
  out[4 * n + t] = __high2half(p);
  bf[t] = __float2bfloat16(__half2float(x));
  bf[n + t] = __hmul(bf[t], __float2bfloat16(3.0f));
}

__global__ void fp8(const float *in, unsigned char *e4m3, unsigned char *e5m2,
                    half *back, int n) {
  int t = threadIdx.x;
  e4m3[t] = __nv_cvt_float_to_fp8(in[t], __NV_SATFINITE, __NV_E4M3);
  e5m2[t] = __nv_cvt_float_to_fp8(in[t], __NV_SATFINITE, __NV_E5M2);
  back[t] = __nv_cvt_fp8_to_halfraw(e4m3[t], __NV_E4M3);
  back[n + t] = __nv_cvt_fp8_to_halfraw(e5m2[t], __NV_E5M2);
}

__global__ void atomics(int *i, unsigned long long *u, float *f, double *d,
                        half2 *h) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t);
  atomicMin(&i[1], -t);
  atomicMax(&i[2], t);
  atomicAnd(&i[3], ~(1 << (t & 31)));
  atomicOr(&i[4], 1 << (t & 15));
  atomicXor(&i[5], t);
  atomicInc((unsigned *)&i[6], 9);
  atomicDec((unsigned *)&i[7], 9);
  i[16 + t] = atomicExch(&i[8], t);
  atomicAdd(&u[0], 1ull << 33);
  atomicMax(&u[1], (unsigned long long)t << 40);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
}

__global__ void warps(unsigned *out, const int *in) {
  int t = threadIdx.x, lane = t & 31;
  int x = in[t];
  unsigned *o = out + t * 12;
  o[0] = __ballot_sync(FULL, x & 1);
  o[1] = __any_sync(FULL, x > 90);
  o[2] = __all_sync(FULL, x > -90);
  o[3] = __shfl_sync(FULL, x, (lane * 5) & 31);
  o[4] = __shfl_up_sync(FULL, x, 3, 16);
  o[5] = __shfl_down_sync(FULL, x, 5, 8);
  o[6] = __shfl_xor_sync(FULL, x, 9);
  o[7] = __match_any_sync(FULL, x & 3);
  o[8] = __reduce_add_sync(FULL, x);
  o[9] = __reduce_max_sync(FULL, x);
  o[10] = lane < 10 ? __activemask() : 0;
  auto warp = cooperative_groups::tiled_partition<8>(
      cooperative_groups::this_thread_block());
  o[11] = warp.shfl_down(x, 1) + warp.thread_rank() + warp.meta_group_rank();
}

/// Adds one to 4096 floats with three stages of asynchronous copies.
__global__ void pipelined(const float4 *in, float4 *out, int tiles) {
  __shared__ float4 stages[3][64];
  int t = threadIdx.x;
  for (int stage = 0; stage < 2; ++stage) {
    if (stage < tiles)
      __pipeline_memcpy_async(&stages[stage][t], in + stage * 64 + t, 16);
    __pipeline_commit();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 2 < tiles)
      __pipeline_memcpy_async(&stages[(tile + 2) % 3][t],
                              in + (tile + 2) * 64 + t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    // The neighbour's element shows whether the barrier is there.
    float4 v = stages[tile % 3][t ^ 1];
    v.x += 1, v.y += 1, v.z += 1, v.w += 1;
    out[tile * 64 + t] = v;
    __syncthreads();
  }
}

__device__ inline unsigned sharedAddress(const void *p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// D = A * B of 16x16 and 16x8 halves, through ldmatrix and mma.sync.
__global__ void mmaHalf(const half *a, const half *b, float *d) {
  __shared__ __align__(16) half sa[16 * 16], sb[16 * 8];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32)
    sa[i] = a[i];
  for (int i = lane; i < 128; i += 32)
    sb[i] = b[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(sharedAddress(sa + (lane % 16) * 16 + lane / 16 * 8)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(sharedAddress(sb + (lane % 16) * 8)));
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]),
                 "r"(rb[1]));
  for (int i = 0; i < 4; ++i)
    d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}

/// D = 2 A B + C of 16x16 halves and floats, through the fragments of wmma.
__global__ void fragments(const half *a, const half *b, const float *c,
                          float *d) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) half sa[16 * 24];
  for (int i = threadIdx.x; i < 256; i += 32)
    sa[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc, product;
  load_matrix_sync(fa, sa, 24);
  load_matrix_sync(fb, b, 16);
  load_matrix_sync(fc, c, 16, mem_col_major);
  fill_fragment(product, 0.0f);
  mma_sync(product, fa, fb, product);
  for (int i = 0; i < product.num_elements; ++i)
    product.x[i] = 2 * product.x[i] + fc.x[i];
  store_matrix_sync(d, product, 16, mem_row_major);
}

/// The same label and the same register in two inline-asm scopes.
__global__ void inlineScopes(int *out) {
  int x = threadIdx.x, y = 0;
  asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 10; mov.b32 %0, 1;"
               " @p bra DONE; mov.b32 %0, 2; DONE: }"
               : "=r"(y)
               : "r"(x));
  out[x] = y;
  asm volatile("{ .reg .pred p; setp.ge.s32 p, %1, 20; mov.b32 %0, 3;"
               " @p bra DONE; mov.b32 %0, 4; DONE: }"
               : "=r"(y)
               : "r"(x));
  out[32 + x] = y;
}

__global__ void wide(unsigned __int128 *out, const unsigned long long *in) {
  int t = threadIdx.x;
  unsigned __int128 a = in[t], b = in[t + 1];
  out[4 * t] = a * b;
  out[4 * t + 1] = (a << 64 | b) - (b << 61);
  out[4 * t + 2] = (a << 64 | b) / (b | 1);
  out[4 * t + 3] = (a << 64) % (b | 1);
}

__global__ void prints(int n) {
  if (threadIdx.x < n)
    printf("thread %d of %u: %s %5.2f %c %lld %x%%\n", (int)threadIdx.x,
           blockDim.x, n & 1 ? "odd" : "even", threadIdx.x * 1.25, 'a' + n,
           1234567890123ll, 255u);
}

__global__ void asserts(int n) { assert(threadIdx.x < n); }

} // extern "C"
