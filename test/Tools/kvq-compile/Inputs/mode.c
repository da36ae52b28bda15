/* The mode of the caller neither matters nor changes. */
#include "functions.h"

#include <stdio.h>

int main(void) {
  float a[2] = {0x1p-130f, 0x1p-100f}, b[2] = {2, 0x1p-35f};
  kvq_memref_1d x = {a, a, 0, {2}, {1}}, y = {b, b, 0, {2}, {1}};
#ifdef __x86_64__
  /* FTZ, DAZ, and rounding towards zero. */
  unsigned mode = 0xffc0;
#else
  unsigned mode = 0;
#endif
#ifdef __x86_64__
  __builtin_ia32_ldmxcsr(mode);
#endif
  float sum = _mlir_ciface_dot(&x, &y, 2);
#ifdef __x86_64__
  unsigned after = __builtin_ia32_stmxcsr() & ~0x3fu;
  __builtin_ia32_ldmxcsr(0x1f80);
#else
  unsigned after = mode;
#endif
  if (sum != 0x1p-129f + 0x1p-135f)
    return printf("sum %a\n", sum), 1;
  if (after != mode)
    return printf("mode %#x\n", after), 1;
  puts("ok");
  return 0;
}
