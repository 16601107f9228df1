// CPU features as an explicit bit mask, so that choosing a kernel is a pure function of it.
#ifndef IPULSE_OPS_LIF_CPU_ARCH_H
#define IPULSE_OPS_LIF_CPU_ARCH_H

#include <cstdint>

namespace lif {

enum Arch : uint64_t {
  ARCH_NONE = 0,
  ARCH_AVX2 = 1 << 0,   // with FMA, BMI2 and POPCNT
  ARCH_AVX512 = 1 << 1, // F, BW, DQ and VL, with all of ARCH_AVX2
  ARCH_NEON = 1 << 2,   // of every 64-bit ARM
};

// Returns the features that this machine and its operating system support.
uint64_t supported_arch();

} // namespace lif

#endif
