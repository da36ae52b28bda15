//===- portable.cu - Kernels that clang and nvcc compile ------------------===//

#include "device.h"

#define FULL 0xffffffffu

extern "C" {

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

__global__ void grid3d(int *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] = x + 100 * y + 10000 * z;
}

/// Sums of whole CTAs, with one atomic for each.
__global__ void reduceSum(const int *in, int *out, int n) {
  __shared__ int partial[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    sum += in[i];
  for (int delta = 16; delta > 0; delta /= 2)
    sum += __shfl_down_sync(FULL, sum, delta);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < (blockDim.x + 31) / 32 ? partial[threadIdx.x] : 0;
    for (int delta = 16; delta > 0; delta /= 2)
      sum += __shfl_down_sync(FULL, sum, delta);
    if (threadIdx.x == 0)
      atomicAdd(out, sum);
  }
}

/// C = A * B of n x n, n a multiple of 16.
__global__ void __launch_bounds__(256)
    matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tileA[16][17], tileB[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    tileA[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tileB[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += tileA[threadIdx.y][i] * tileB[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

/// Inclusive scan of one CTA of 256 threads.
__global__ void scan(const int *in, int *out) {
  __shared__ int totals[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int value = in[threadIdx.x];
  for (int delta = 1; delta < 32; delta *= 2) {
    int other = __shfl_up_sync(FULL, value, delta);
    if (lane >= delta)
      value += other;
  }
  if (lane == 31)
    totals[warp] = value;
  __syncthreads();
  for (int i = 0; i < warp; ++i)
    value += totals[i];
  out[threadIdx.x] = value;
}

__global__ void histogram(const unsigned char *in, int *out, int n) {
  __shared__ int bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd(&bins[in[i]], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

/// One row for each CTA of 32 threads.
__global__ void softmax(const float *in, float *out, int n) {
  const float *row = in + blockIdx.x * n;
  float top = -__builtin_huge_valf();
  for (int i = threadIdx.x; i < n; i += 32)
    top = fmaxf(top, row[i]);
  for (int delta = 16; delta > 0; delta /= 2)
    top = fmaxf(top, __shfl_xor_sync(FULL, top, delta));
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32)
    sum += exp2f((row[i] - top) * 1.4426950408889634f);
  for (int delta = 16; delta > 0; delta /= 2)
    sum += __shfl_xor_sync(FULL, sum, delta);
  for (int i = threadIdx.x; i < n; i += 32)
    out[blockIdx.x * n + i] = exp2f((row[i] - top) * 1.4426950408889634f) / sum;
}

/// Sorts 256 keys in one CTA.
__global__ void bitonicSort(int *keys) {
  __shared__ int shared[256];
  int i = threadIdx.x;
  shared[i] = keys[i];
  __syncthreads();
  for (int size = 2; size <= 256; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      int other = i ^ step;
      if (other > i) {
        bool up = (i & size) == 0;
        int a = shared[i], b = shared[other];
        if ((a > b) == up) {
          shared[i] = b;
          shared[other] = a;
        }
      }
      __syncthreads();
    }
  keys[i] = shared[i];
}

/// Steps to 1 of the Collatz sequence: threads of a warp diverge at will.
__global__ void collatz(int *out) {
  unsigned value = threadIdx.x + 1;
  int steps = 0;
  while (value != 1) {
    if (value & 1)
      value = 3 * value + 1;
    else
      value >>= 1;
    ++steps;
  }
  out[threadIdx.x] = steps;
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void recursion(int *out) {
  out[threadIdx.x] = fibonacci(threadIdx.x % 12);
}

__device__ __noinline__ int plus3(int x) { return x + 3; }
__device__ __noinline__ int times5(int x) { return x * 5; }
__device__ __noinline__ int negate(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function functions[3] = {plus3, times5, negate};
__global__ void indirect(int *out) {
  out[threadIdx.x] = functions[threadIdx.x % 3](threadIdx.x);
}

__global__ void switches(int *out, int n) {
  int x = threadIdx.x, r;
  switch (x % 11) {
  case 0:
    r = x * x;
    break;
  case 1:
    r = x / 3;
    break;
  case 2:
    r = n - x;
    break;
  case 3:
    r = x % 7;
    break;
  case 4:
    r = x << 3;
    break;
  case 5:
    r = -x;
    break;
  case 6:
    r = x ^ n;
    break;
  case 7:
    r = n / (x + 1);
    break;
  default:
    r = 1000 + x;
    break;
  }
  out[x] = r;
}

/// An array that is indexed with what only the run knows: local memory.
__global__ void localArray(int *out, int n) {
  int table[64];
  for (int i = 0; i < 64; ++i)
    table[i] = i * i;
  for (int i = 0; i < n; ++i)
    table[(i * 7 + threadIdx.x) & 63] += i;
  int sum = 0;
  for (int i = 0; i < 64; ++i)
    sum = sum * 31 + table[i];
  out[threadIdx.x] = sum;
}

struct Pair {
  char tag;
  double scale;
  short offsets[3];
};
__constant__ int weights[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__device__ const char *names[2] = {"even", "odd"};
__global__ void structs(double *out, Pair pair) {
  int i = threadIdx.x;
  out[i] = pair.scale * weights[i % 8] + pair.offsets[i % 3] + pair.tag +
           names[i & 1][i % 3];
}

__global__ void bits(unsigned *out, const unsigned *in) {
  unsigned x = in[threadIdx.x], y = in[threadIdx.x ^ 1];
  unsigned long long w = ((unsigned long long)x << 32) | y;
  unsigned *o = out + threadIdx.x * 10;
  o[0] = __popc(x);
  o[1] = __clz(x);
  o[2] = __brev(x);
  o[3] = __umulhi(x, y);
  o[4] = x / (y | 1);
  o[5] = (int)x / (int)(y | 1);
  o[6] = (unsigned)((w / (x | 1)) ^ (w % (y | 1)));
  o[7] = (unsigned)((w * w) >> 29);
  o[8] = (x >> (y & 31)) | (x << ((32 - y) & 31));
  o[9] = (unsigned char)x * (signed char)y;
}

__global__ void floats(float *f, double *d, int *i) {
  int t = threadIdx.x;
  float x = f[t], y = f[t ^ 1];
  double z = d[t];
  f[32 + t] = x / y;
  f[64 + t] = __builtin_sqrtf(x * x);
  f[96 + t] = (float)z;
  f[128 + t] = __builtin_floorf(x) + __builtin_truncf(y);
  d[32 + t] = z / (double)x;
  d[64 + t] = z * z + x;
  i[t] = (int)x;
  i[32 + t] = (int)(unsigned char)(int)z;
  i[64 + t] = x < y ? 1 : x == y ? 2 : 3;
}

/// A lock that threads of one warp fight for: needs independent threads.
__global__ void spinLock(unsigned *lock, int *counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      int value = *(volatile int *)counter;
      *(volatile int *)counter = value + 1;
#ifdef __clang__
      __nvvm_membar_gl();
#else
      __threadfence();
#endif
      *(volatile unsigned *)lock = 0;
      done = true;
    }
  }
}

__global__ void ballots(unsigned *out) {
  unsigned mask = __ballot_sync(FULL, threadIdx.x % 3 == 0);
  out[threadIdx.x] = mask;
}

extern __shared__ float dynamic[];
__global__ void reverse(float *data) {
  int n = blockDim.x;
  dynamic[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = dynamic[n - 1 - threadIdx.x];
}

} // extern "C"
