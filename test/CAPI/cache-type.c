// RUN: kvq-capi-cache-type 2>&1 | FileCheck %s
//
// Sizes and shapes of cache types.

#include "kvq-c/KVQ.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static MlirStringRef str(const char *text) {
  return mlirStringRefCreate(text, strlen(text));
}

static void report(const KvqDiagnostic *d, void *userData) {
  (void)userData;
  printf("error: %.*s\n", (int)d->message.length, d->message.data);
}

static void printShape(const char *name,
                       MlirLogicalResult (*get)(MlirType, int64_t[4]),
                       MlirType type) {
  int64_t s[4] = {-7, -7, -7, -7};
  printf(" %s", name);
  if (mlirLogicalResultIsFailure(get(type, s)))
    printf(" none");
  printf(" %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64, s[0], s[1], s[2],
         s[3]);
}

static void describe(MlirContext context, const char *text) {
  MlirType type = kvqTypeParse(context, str(text), report, NULL);
  MlirStringRef format = kvqCacheTypeGetFormatName(type);
  printf("cache %d side %d layout %d scales %d format '%.*s' bits %" PRId64
         " global %d\n",
         kvqTypeIsACache(type), kvqCacheTypeGetSide(type),
         kvqCacheTypeGetKVLayout(type), kvqCacheTypeGetScaleLayout(type),
         (int)format.length, format.data, kvqCacheTypeGetElementBits(type),
         kvqCacheTypeHasGlobalScale(type));
  printf("page %" PRId64 " heads %" PRId64 " head_dim %" PRId64
         " bytes %" PRId64 " %" PRId64 "\n",
         kvqCacheTypeGetPageSize(type), kvqCacheTypeGetNumHeads(type),
         kvqCacheTypeGetHeadDim(type), kvqCacheTypeGetBytesPerPage(type),
         kvqCacheTypeGetBytesPerToken(type));
  printShape("data", kvqCacheTypeGetDataShape, type);
  printShape("scales", kvqCacheTypeGetScalesShape, type);
  printf("\n");
}

int main(void) {
  MlirContext context = kvqContextCreate();

  // A token has 8 * 128 / 2 bytes of data and 8 * 128 / 16 of scales.
  describe(context, "!kvq.cache<key, 16x8x128, nvfp4, NHD, linear>");
  // CHECK: cache 1 side 0 layout 0 scales 1 format 'nvfp4' bits 4 global 1
  // CHECK-NEXT: page 16 heads 8 head_dim 128 bytes 9216 576
  // CHECK-NEXT: data -1x16x8x128 scales -1x16x8x8

  describe(context, "!kvq.cache<value, 16x8x128, nvfp4, HND, interleaved_4>");
  // CHECK: cache 1 side 1 layout 1 scales 2 format 'nvfp4' bits 4 global 1
  // CHECK-NEXT: page 16 heads 8 head_dim 128 bytes 9216 576
  // CHECK-NEXT: data -1x8x16x128 scales -1x8x16x8

  describe(context, "!kvq.cache<value, 128x1x128, nvfp4, HND, blocked_128x4>");
  // CHECK: cache 1 side 1 layout 1 scales 3
  describe(context, "!kvq.cache<key, 16x8x128, mxfp4, NHD, ?>");
  // CHECK: cache 1 side 0 layout 0 scales 0 format 'mxfp4' bits 4 global 0
  // CHECK-NEXT: page 16 heads 8 head_dim 128 bytes 8704 544
  // CHECK-NEXT: data -1x16x8x128 scales -1x16x8x4

  describe(context, "!kvq.cache<key, 1x3x64, mxfp8, NHD, linear>");
  // CHECK: format 'mxfp8' bits 8 global 0
  // CHECK-NEXT: page 1 heads 3 head_dim 64 bytes 198 198

  describe(context, "!kvq.cache<key, 64x4x128, fp8, NHD>");
  // CHECK: cache 1 side 0 layout 0 scales 4 format 'fp8' bits 8 global 1
  // CHECK-NEXT: page 64 heads 4 head_dim 128 bytes 32768 512
  // CHECK-NEXT: data -1x64x4x128 scales none -7x-7x-7x-7

  describe(context, "!kvq.cache<key, 64x4x128, bf16, NHD>");
  // CHECK: format 'bf16' bits 16 global 0
  // CHECK-NEXT: page 64 heads 4 head_dim 128 bytes 65536 1024

  // What the block scales are is not decided.
  describe(context, "!kvq.cache<key, 64x4x128, fp4, NHD>");
  // CHECK: cache 1 side 0 layout 0 scales 4 format 'fp4' bits 4 global 0
  // CHECK-NEXT: page 64 heads 4 head_dim 128 bytes 16384 256
  // CHECK-NEXT: data -1x64x4x128 scales none -7x-7x-7x-7

  // Blocks of 16 tokens: 32 rows of 32 / 2 bytes, 2 rows of 32 scales.
  describe(context,
           "!kvq.cache<value, 32x1x32, #kvq.format<f4E2M1FN, scale = f8E4M3FN, "
           "block = 16, axis = token, global_scale>, NHD, linear>");
  // CHECK: cache 1 side 1 layout 0 scales 1 format '' bits 4 global 1
  // CHECK-NEXT: page 32 heads 1 head_dim 32 bytes 576 18
  // CHECK-NEXT: data -1x32x1x32 scales -1x2x1x32

  // Not a cache, and not a type.
  describe(context, "i32");
  // CHECK: cache 0 side -1 layout -1 scales -1 format '' bits -1 global 0
  // CHECK-NEXT: page -1 heads -1 head_dim -1 bytes -1 -1
  // CHECK-NEXT: data none -7x-7x-7x-7 scales none -7x-7x-7x-7
  describe(context, "!kvq.cache<key, 16x8x100, nvfp4, NHD, linear>");
  // CHECK: error: head_dim is 100, expected a multiple of the block size 16
  // CHECK: cache 0 side -1
  describe(context, "i32 i32");
  // CHECK: error: found trailing characters: 'i32'
  // CHECK: cache 0 side -1
  describe(context, "");
  // CHECK: error: expected {{.*}}type
  // CHECK: cache 0 side -1

  mlirContextDestroy(context);
  return 0;
}
