// The surrogates of ops/ipulse_ops/surrogate.py.
#ifndef IPULSE_LIF_POPLAR_SURROGATE_H
#define IPULSE_LIF_POPLAR_SURROGATE_H

#include <cmath>

enum SurrogateKind : unsigned { kSuperSpike, kArcTan, kBoxcar, kExponential, kTable };

/// parameter: the slope, half_width or width. table: `size` values, of kTable alone.
inline float surrogate(unsigned kind, float parameter, const float *table, unsigned size, float x) {
  const float distance = x < 0 ? -x : x;
  switch (kind) {
  case kSuperSpike: {
    const float d = parameter * distance + 1.0f;
    return 1.0f / (d * d);
  }
  case kArcTan: {
    const float d = parameter * x;
    return 1.0f / (d * d + 1.0f);
  }
  case kBoxcar:
    return distance < parameter ? 1.0f : 0.0f;
  case kExponential:
    return std::exp(-parameter * distance);
  default: {
    if (!(distance <= parameter))
      return 0.0f;
    const float place = (x + parameter) * (static_cast<float>(size - 1) / (2.0f * parameter));
    unsigned k = static_cast<unsigned>(static_cast<int>(place));
    k = k < size - 2 ? k : size - 2;
    return table[k] + (place - static_cast<float>(k)) * (table[k + 1] - table[k]);
  }
  }
}

#endif
