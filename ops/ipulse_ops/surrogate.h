// The surrogates of surrogate.py in float32, at x = u - threshold, in plain arithmetic that a
// compiler turns into vectors. In an unnamed namespace, as each file may be for a CPU of its own.
#ifndef IPULSE_OPS_SURROGATE_H
#define IPULSE_OPS_SURROGATE_H

#include <cstdint>
#include <cstring>

namespace {

inline float superspike_at(float slope, float x) {
  float d = slope * __builtin_fabsf(x) + 1;
  return 1 / (d * d);
}

inline float arctan_at(float slope, float x) {
  float d = slope * x;
  return 1 / (d * d + 1);
}

inline float boxcar_at(float half_width, float x) {
  return __builtin_fabsf(x) < half_width ? 1.0f : 0.0f;
}

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

inline float exponential_at(float slope, float x) { return exp_of(-slope * __builtin_fabsf(x)); }

// values: `size` of them, at least 2, from -width to width.
inline float table_at(const float *values, int size, float width, float x) {
  if (!(__builtin_fabsf(x) <= width))
    return 0;
  float place = (x + width) * (static_cast<float>(size - 1) / (2 * width));
  int k = static_cast<int>(place);
  k = k < size - 2 ? k : size - 2;
  return values[k] + (place - static_cast<float>(k)) * (values[k + 1] - values[k]);
}

} // namespace

#endif
