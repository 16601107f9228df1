// The surrogates of ../../surrogate.h over a panel's row.
#ifndef IPULSE_OPS_LIF_CPU_SURROGATE_H
#define IPULSE_OPS_LIF_CPU_SURROGATE_H

#include "../../../surrogate.h"
#include "vectors.h"

namespace {

// phi(x[n]) for all n below W.
template <int W> inline void surrogate_of(const LifSurrogate &s, const float *x, float *phi) {
  float slope = s.slope, width = s.width;
  switch (s.kind) {
  case LIF_SUPERSPIKE:
    for (int n = 0; n < W; ++n)
      phi[n] = superspike_at(slope, x[n]);
    return;
  case LIF_ARCTAN:
    for (int n = 0; n < W; ++n)
      phi[n] = arctan_at(slope, x[n]);
    return;
  case LIF_BOXCAR:
    for (int n = 0; n < W; ++n)
      phi[n] = boxcar_at(width, x[n]);
    return;
  case LIF_EXPONENTIAL:
    for (int n = 0; n < W; ++n)
      phi[n] = exponential_at(slope, x[n]);
    return;
  default:
    for (int n = 0; n < W; ++n)
      phi[n] = table_at(s.values, s.size, width, x[n]);
  }
}

} // namespace

#endif
