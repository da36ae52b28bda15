//===- FloatEnvironment.h - Modes of the processor, for tests -------------===//

#ifndef KVQ_TEST_UNIT_SUPPORT_FLOATENVIRONMENT_H
#define KVQ_TEST_UNIT_SUPPORT_FLOATENVIRONMENT_H

#include <cfenv>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kvq::test {

/// Sets flush-to-zero, denormals-are-zero and a rounding direction for the
/// calling thread, until the end of the scope.
class ScopedFloatEnvironment {
public:
  ScopedFloatEnvironment(bool flush, int roundingMode) {
    std::fegetenv(&saved);
    std::fesetround(roundingMode);
    if (!flush)
      return;
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    asm volatile("msr fpcr, %0" : : "r"(control | (uint64_t(1) << 24)));
#endif
  }
  ~ScopedFloatEnvironment() { std::fesetenv(&saved); }

  ScopedFloatEnvironment(const ScopedFloatEnvironment &) = delete;
  ScopedFloatEnvironment &operator=(const ScopedFloatEnvironment &) = delete;

private:
  std::fenv_t saved;
};

/// Whether the thread flushes subnormal results: a check that the above works.
inline bool flushesSubnormals() {
  volatile float smallest = 0x1p-126f, half = 0.5f;
  volatile float product = smallest * half;
  uint32_t bits;
  float value = product;
  static_assert(sizeof(bits) == sizeof(value));
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits == 0;
}

} // namespace kvq::test

#endif // KVQ_TEST_UNIT_SUPPORT_FLOATENVIRONMENT_H
