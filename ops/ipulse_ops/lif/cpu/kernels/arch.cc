#include "arch.h"

namespace lif {

uint64_t supported_arch() {
  uint64_t arch = ARCH_NONE;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
    arch |= ARCH_AVX2;
  if ((arch & ARCH_AVX2) && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    arch |= ARCH_AVX512;
#elif defined(__aarch64__)
  arch |= ARCH_NEON;
#endif
  return arch;
}

} // namespace lif
