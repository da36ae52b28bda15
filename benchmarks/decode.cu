// Decode attention over a paged nvfp4 cache in CUDA, of the job of decode in
// nvfp4_triton.py, for what nvcc takes to compile such a kernel (compile_time.py).
//
// A block is a KV head of a sequence. Each of its warps goes through every fourth
// 16 tokens with a running maximum of its own; the warps are merged at the end. The
// channels of a thread are consecutive: the order of a contraction is free.

#include <cuda_fp16.h>
#include <cuda_fp8.h>

constexpr int GROUP = 8, D = 128, PAGE = 64, WARPS = 4;

__device__ __half2 decodePair(unsigned byte) {
  unsigned pair;
  asm("{ .reg .b8 b; cvt.u8.u32 b, %1; cvt.rn.f16x2.e2m1x2 %0, b; }"
      : "=r"(pair)
      : "r"(byte));
  return reinterpret_cast<__half2 &>(pair);
}

__device__ __half2 decodeScale(unsigned char byte) {
  __half_raw raw = __nv_cvt_fp8_to_halfraw(byte, __NV_E4M3);
  return __half2half2(__half(raw));
}

__device__ unsigned bitsOf(__half2 pair) {
  return reinterpret_cast<unsigned &>(pair);
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                         unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
decode(const __half *q, const unsigned char *k, const unsigned char *kScales,
       const float *kGlobal, const unsigned char *v,
       const unsigned char *vScales, const float *vGlobal, const int *table,
       const int *lengths, __half *out, int pages, float scale) {
  const int sequence = blockIdx.x, head = blockIdx.y, heads = gridDim.y;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = lane / 4, part = lane % 4, length = lengths[sequence];
  __shared__ __half values[WARPS][16][D + 8];
  __shared__ float merged[WARPS][16][D], tops[WARPS][16], sums[WARPS][16];

  const __half *queries = q + (sequence * heads + head) * GROUP * D;
  unsigned a[8][4] = {};
  if (row < GROUP)
    for (int step = 0; step < 8; ++step)
      for (int pair = 0; pair < 2; ++pair)
        a[step][2 * pair] = *reinterpret_cast<const unsigned *>(
            queries + row * D + part * 32 + step * 4 + pair * 2);

  auto rowOf = [&](int token) {
    int page = table[sequence * pages + token / PAGE];
    return ((long long)page * heads + head) * PAGE + token % PAGE;
  };
  const float factor = scale * kGlobal[0] * 1.4426950408889634f;
  float top = -INFINITY, sum = 0, o[D / 8][4] = {};
  for (int first = warp * 16; first < length; first += 16 * WARPS) {
    float s[2][4] = {};
    for (int half = 0; half < 2; ++half) {
      int token = first + half * 8 + row;
      uint4 data = {};
      ushort1 scales = {};
      if (token < length) {
        long long at = rowOf(token);
        data = *reinterpret_cast<const uint4 *>(k + at * (D / 2) + part * 16);
        scales = *reinterpret_cast<const ushort1 *>(kScales + at * (D / 16) +
                                                    part * 2);
      }
      const unsigned words[4] = {data.x, data.y, data.z, data.w};
#pragma unroll
      for (int step = 0; step < 8; ++step) {
        unsigned bytes = words[step / 2] >> (step % 2 * 16);
        __half2 by = decodeScale(scales.x >> (step / 4 * 8) & 0xff);
        multiply(s[half], a[step], bitsOf(__hmul2(decodePair(bytes & 0xff), by)),
                 bitsOf(__hmul2(decodePair(bytes >> 8 & 0xff), by)));
      }
    }
    // Row `row`, tokens 2 * part and the next, of both halves.
    float most = -INFINITY;
    for (int half = 0; half < 2; ++half)
      for (int n = 0; n < 2; ++n) {
        bool seen = first + half * 8 + part * 2 + n < length;
        s[half][n] = seen ? s[half][n] * factor : -INFINITY;
        most = fmaxf(most, s[half][n]);
      }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
    float next = fmaxf(top, most), old = exp2f(top - next);
    unsigned p[4] = {};
    sum *= old;
    for (int half = 0; half < 2; ++half) {
      float x = exp2f(s[half][0] - next), y = exp2f(s[half][1] - next);
      sum += x + y;
      p[2 * half] = bitsOf(__floats2half2_rn(x, y));
    }
    top = next;

    __syncwarp();
    for (int item = lane; item < 16 * (D / 16); item += 32) {
      int token = item / (D / 16), block = item % (D / 16);
      uint2 data = {};
      unsigned char code = 0;
      if (first + token < length) {
        long long at = rowOf(first + token);
        data = *reinterpret_cast<const uint2 *>(v + at * (D / 2) + block * 8);
        code = vScales[at * (D / 16) + block];
      }
      __half2 by = decodeScale(code);
      for (int byte = 0; byte < 8; ++byte) {
        unsigned word = byte < 4 ? data.x : data.y;
        *reinterpret_cast<__half2 *>(&values[warp][token][block * 16 + byte * 2]) =
            __hmul2(decodePair(word >> (byte % 4 * 8) & 0xff), by);
      }
    }
    __syncwarp();
    for (int column = 0; column < D / 8; column += 2) {
      unsigned b[4], address = __cvta_generic_to_shared(
                         &values[warp][lane % 16][(column + lane / 16) * 8]);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                   "{%0,%1,%2,%3}, [%4];"
                   : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                   : "r"(address)
                   : "memory");
      for (int n = 0; n < 2; ++n) {
        o[column + n][0] *= old;
        o[column + n][1] *= old;
        multiply(o[column + n], p, b[2 * n], b[2 * n + 1]);
      }
    }
  }
  sum += __shfl_xor_sync(~0u, sum, 1);
  sum += __shfl_xor_sync(~0u, sum, 2);
  tops[warp][row] = top;
  sums[warp][row] = sum;
  for (int column = 0; column < D / 8; ++column)
    for (int n = 0; n < 2; ++n)
      merged[warp][row][column * 8 + part * 2 + n] = o[column][n];
  __syncthreads();
  for (int item = threadIdx.x; item < GROUP * D; item += 32 * WARPS) {
    int r = item / D, c = item % D;
    float most = -INFINITY, total = 0, value = 0;
    for (int w = 0; w < WARPS; ++w)
      most = fmaxf(most, tops[w][r]);
    for (int w = 0; w < WARPS; ++w) {
      float weight = most == -INFINITY ? 0 : exp2f(tops[w][r] - most);
      total += weight * sums[w][r];
      value += weight * merged[w][r][c];
    }
    out[((sequence * heads + head) * GROUP + r) * D + c] =
        __float2half(total > 0 ? value / total * vGlobal[0] : 0);
  }
}
