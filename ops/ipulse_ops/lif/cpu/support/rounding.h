// The rounding that all results are computed with: to the nearest, and small numbers are kept.
// TensorFlow's threads flush them to zero, so that who computes a task would matter.
#ifndef IPULSE_OPS_LIF_CPU_ROUNDING_H
#define IPULSE_OPS_LIF_CPU_ROUNDING_H

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace lif {

// Sets it for this thread, and what was set before when it ends.
class StandardRounding {
public:
  StandardRounding(const StandardRounding &) = delete;
  StandardRounding &operator=(const StandardRounding &) = delete;
#if defined(__x86_64__)
  StandardRounding() : before_(_mm_getcsr()) { _mm_setcsr(ALL_MASKED); }
  ~StandardRounding() { _mm_setcsr(before_); }

private:
  static constexpr unsigned ALL_MASKED = 0x1f80; // MXCSR of a new process
  const unsigned before_;
#elif defined(__aarch64__)
  StandardRounding() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" ::"r"(uint64_t(0)));
  }
  ~StandardRounding() { asm volatile("msr fpcr, %0" ::"r"(before_)); }

private:
  uint64_t before_;
#else
  StandardRounding() {
    fegetenv(&before_);
    fesetenv(FE_DFL_ENV);
  }
  ~StandardRounding() { fesetenv(&before_); }

private:
  fenv_t before_;
#endif
};

} // namespace lif

#endif
