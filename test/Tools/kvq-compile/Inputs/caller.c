/* Calls each function of functions.mlir. Prints "ok" or what is wrong. */
#include "functions.h"
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                       \
  if (!(condition)) {                                                          \
    printf("line %d: %s\n", __LINE__, #condition);                             \
    return 1;                                                                  \
  }

int main(void) {
  float a[6] = {1, -1, 2, -1, 3, -1};
  float b[3] = {10, 20, 30};
  kvq_memref_1d ma = {a, a, 0, {3}, {1}};
  kvq_memref_1d mb = {b, b, 0, {3}, {1}};
  CHECK(_mlir_ciface_dot(&mb, &mb, 3) == 1400);
  CHECK(_mlir_ciface_dot(&ma, &mb, 0) == 0);

  int32_t x[2][3] = {{1, 1, 1}, {1, 1, 1}};
  kvq_memref_2d mx = {x, x, 0, {2, 3}, {3, 1}};
  _mlir_ciface_fill(&mx, -7, 0);
  CHECK(x[0][0] == 1 && x[1][2] == 1);
  _mlir_ciface_fill(&mx, -7, 1);
  CHECK(x[0][0] == -7 && x[1][2] == -7);

  range_results results;
  _mlir_ciface_range(&results, 5);
  CHECK(results.result0.sizes[0] == 5);
  int64_t *values = (int64_t *)results.result0.aligned;
  CHECK(values[results.result0.offset + 4 * results.result0.strides[0]] == 4);
  CHECK(results.result1 == -2);
  CHECK(results.result2 == 0.5);
  free(results.result0.allocated);

  _mlir_ciface_nothing();
  printf("ok\n");
  return 0;
}
