/* Appends rows to a cache. Prints what kvq_report says, or "ok". */
#include "cache.h"
#include "kvq/Support/RuntimeError.h"
#include <stdio.h>
#include <string.h>

static int reports;

void kvq_report(int32_t kind, int64_t index, int64_t value, int64_t limit) {
  char message[256];
  kvqRuntimeErrorMessage(message, sizeof(message), kind, index, value, limit);
  printf("report: %s\n", message);
  ++reports;
}

int main(void) {
  float rows[2][1][32];
  int32_t slots[2] = {2, 7};
  uint8_t data[2][1][4][16];
  uint8_t scales[2][1][4][2];
  float g = 1;
  for (int i = 0; i != 64; ++i)
    rows[i / 32][0][i % 32] = i % 16 == 0 ? 6 : 0;
  memset(data, 0xaa, sizeof(data));
  memset(scales, 0xaa, sizeof(scales));
  kvq_memref_3d mrows = {rows, rows, 0, {2, 1, 32}, {32, 32, 1}};
  kvq_memref_1d mslots = {slots, slots, 0, {2}, {1}};
  kvq_memref_4d mdata = {data, data, 0, {2, 1, 4, 16}, {64, 64, 16, 1}};
  kvq_memref_4d mscales = {scales, scales, 0, {2, 1, 4, 2}, {8, 8, 2, 1}};
  kvq_memref_0d mg = {&g, &g, 0};

  slots[1] = 8;
  if (_mlir_ciface_append(&mrows, &mslots, &mdata, &mscales, &mg) == 0 ||
      reports != 1 || data[0][0][2][0] != 0xaa) {
    printf("an error was expected\n");
    return 1;
  }
  slots[1] = 7;
  if (_mlir_ciface_append(&mrows, &mslots, &mdata, &mscales, &mg) != 0 ||
      data[0][0][2][0] != 7 || data[1][0][3][8] != 7 ||
      data[1][0][3][15] != 0 || data[1][0][2][0] != 0xaa ||
      scales[1][0][3][1] != 0x38) {
    printf("wrong bytes\n");
    return 1;
  }
  printf("ok\n");
  return 0;
}
