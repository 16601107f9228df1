// The surrogates of ../../surrogate.py, in plain loops that the compiler turns into vectors.
#ifndef IPULSE_OPS_LIF_CPU_SURROGATE_H
#define IPULSE_OPS_LIF_CPU_SURROGATE_H

#include "vectors.h"

namespace {

// exp(x) for x <= 0, to about two units in the last place; 0 where that would be subnormal.
inline float exp_of(float x) {
  constexpr float log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  float limited = x > -87.0f ? x : -87.0f;
  // Truncation rounds to the nearest, as the argument is not positive.
  int n = static_cast<int>(limited * log2e - 0.5f);
  float whole = static_cast<float>(n);
  float r = limited - whole * ln2_high - whole * ln2_low;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  int32_t bits = (n + 127) * (1 << 23);
  float power;
  memcpy(&power, &bits, sizeof power);
  return x > -87.0f ? p * power : 0.0f;
}

inline float table_at(const LifSurrogate &s, float x) {
  if (!(__builtin_fabsf(x) <= s.width))
    return 0;
  float place = (x + s.width) * (static_cast<float>(s.size - 1) / (2 * s.width));
  int k = static_cast<int>(place);
  k = k < s.size - 2 ? k : s.size - 2;
  return s.values[k] + (place - static_cast<float>(k)) * (s.values[k + 1] - s.values[k]);
}

// phi(x[n]) for all n below W.
template <int W> inline void surrogate_of(const LifSurrogate &s, const float *x, float *phi) {
  float slope = s.slope, width = s.width;
  switch (s.kind) {
  case LIF_SUPERSPIKE:
    for (int n = 0; n < W; ++n) {
      float d = slope * __builtin_fabsf(x[n]) + 1;
      phi[n] = 1 / (d * d);
    }
    return;
  case LIF_ARCTAN:
    for (int n = 0; n < W; ++n) {
      float d = slope * x[n];
      phi[n] = 1 / (d * d + 1);
    }
    return;
  case LIF_BOXCAR:
    for (int n = 0; n < W; ++n)
      phi[n] = __builtin_fabsf(x[n]) < width ? 1.0f : 0.0f;
    return;
  case LIF_EXPONENTIAL:
    for (int n = 0; n < W; ++n)
      phi[n] = exp_of(-slope * __builtin_fabsf(x[n]));
    return;
  default:
    for (int n = 0; n < W; ++n)
      phi[n] = table_at(s, x[n]);
  }
}

} // namespace

#endif
