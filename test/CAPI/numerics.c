// RUN: kvq-capi-numerics 2>&1 | FileCheck %s
//
// Quantizes and dequantizes rows on the host.

#include "kvq-c/KVQ.h"

#include <stdio.h>
#include <string.h>

static MlirStringRef str(const char *text) {
  return mlirStringRefCreate(text, strlen(text));
}

static void report(const KvqDiagnostic *d, void *userData) {
  (void)userData;
  printf("error: %.*s\n", (int)d->message.length, d->message.data);
}

static void printBytes(const char *name, const uint8_t *bytes, size_t count) {
  printf("%s", name);
  for (size_t i = 0; i < count; ++i)
    printf(" %02x", (unsigned)bytes[i]);
  printf("\n");
}

int main(void) {
  KvqBlockFormat nvfp4, fp8, other;
  size_t dataBytes = 99, scaleBytes = 99;
  printf("presets: %d %d %d\n",
         mlirLogicalResultIsSuccess(
             kvqBlockFormatGetPreset(str("nvfp4"), &nvfp4)),
         mlirLogicalResultIsSuccess(kvqBlockFormatGetPreset(str("fp8"), &fp8)),
         mlirLogicalResultIsSuccess(
             kvqBlockFormatGetPreset(str("nvfp5"), &other)));
  // CHECK: presets: 1 1 0
  printf("nvfp4: %d %d %u %d\n", (int)nvfp4.element, (int)nvfp4.scale,
         nvfp4.blockSize, (int)nvfp4.hasGlobalScale);
  // CHECK-NEXT: nvfp4: 0 1 16 1
  kvqBlockFormatGetRowBytes(&nvfp4, 32, &dataBytes, &scaleBytes, report, NULL);
  printf("bytes: %zu %zu\n", dataBytes, scaleBytes);
  // CHECK-NEXT: bytes: 16 2

  // Two rows; g = 1. The first block has maximum 6: scale 1 (E4M3 0x38), and
  // 2.5 is a tie that goes to 2. The second has maximum 12: scale 2 (0x40).
  float x[32] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 2.5f, 3.0f, 4.0f,
                 6.0f, -6.0f, -0.5f, 0.25f, 0.75f, 5.0f, 3.5f, -0.0f,
                 12.0f, -1.0f};
  float y[32];
  uint8_t data[16], scales[2];
  MlirLogicalResult result =
      kvqQuantizeRows(&nvfp4, x, 2, 16, 1.0f, false, data, sizeof data, scales,
                      sizeof scales, report, NULL);
  printf("quantized: %d\n", mlirLogicalResultIsSuccess(result));
  printBytes("data", data, sizeof data);
  printBytes("scales", scales, sizeof scales);
  // CHECK: quantized: 1
  // CHECK-NEXT: data 10 32 44 65 f7 09 62 86 97 00 00 00 00 00 00 00
  // CHECK-NEXT: scales 38 40
  result = kvqDequantizeRows(&nvfp4, data, sizeof data, scales, sizeof scales, 2,
                             16, 1.0f, y, report, NULL);
  printf("dequantized: %d %g %g %g %g\n", mlirLogicalResultIsSuccess(result),
         y[5], y[9], y[16], y[17]);
  // CHECK-NEXT: dequantized: 1 2 -6 12 -1

  // What does not fit is an error, and nothing is written.
  memset(data, 0xaa, sizeof data);
  kvqQuantizeRows(&nvfp4, x, 2, 8, 1.0f, false, data, 8, scales, 1, report,
                  NULL);
  kvqQuantizeRows(&nvfp4, x, 2, 16, 1.0f, false, data, 15, scales, 2, report,
                  NULL);
  kvqQuantizeRows(&nvfp4, x, 2, 16, -1.0f, false, data, 16, scales, 2, report,
                  NULL);
  kvqQuantizeRows(&nvfp4, NULL, 2, 16, 1.0f, false, data, 16, scales, 2, report,
                  NULL);
  kvqQuantizeRows(&fp8, x, 1, 16, 1.0f, true, data, 16, NULL, 0, report, NULL);
  kvqQuantizeRows(&nvfp4, x, SIZE_MAX / 8, 16, 1.0f, false, data, 16, scales, 2,
                  report, NULL);
  kvqQuantizeRows(NULL, x, 2, 16, 1.0f, false, data, 16, scales, 2, report,
                  NULL);
  other = nvfp4;
  other.element = (KvqElementKind)3;
  kvqQuantizeRows(&other, x, 2, 16, 1.0f, false, data, 16, scales, 2, report,
                  NULL);
  other.scale = (KvqBlockScaleKind)3;
  kvqQuantizeRows(&other, x, 2, 16, 1.0f, false, data, 16, scales, 2, report,
                  NULL);
  // CHECK-NEXT: error: a row has a multiple of the block size 16 of elements, found 8
  // CHECK-NEXT: error: the data of 32 elements has 16 bytes, found 15
  // CHECK-NEXT: error: a global scale is finite and positive, found -1
  // CHECK-NEXT: error: a pointer to values, data or scales is null
  // CHECK-NEXT: error: {{.*}}
  // CHECK-NEXT: error: {{[0-9]+}} rows of 16 values are too large to address
  // CHECK-NEXT: error: the format is null
  // CHECK-NEXT: error: bf16 and f16 elements have no scales
  // CHECK-NEXT: error: 3 is no KvqBlockScaleKind
  printBytes("untouched", data, sizeof data);
  // CHECK-NEXT: untouched aa aa aa aa aa aa aa aa aa aa aa aa aa aa aa aa

  // No rows are fine.
  result = kvqQuantizeRows(&nvfp4, NULL, 0, 16, 1.0f, false, NULL, 0, NULL, 0,
                           report, NULL);
  printf("empty: %d\n", mlirLogicalResultIsSuccess(result));
  // CHECK-NEXT: empty: 1
  return 0;
}
