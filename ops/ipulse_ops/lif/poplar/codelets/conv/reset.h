// Resets of LIF neurons behind a convolution, for vertices and for the host.
#ifndef IPULSE_LIF_POPLAR_CONV_RESET_H
#define IPULSE_LIF_POPLAR_CONV_RESET_H

enum ConvReset : unsigned { kResetToZero, kResetBySubtraction, kNoReset };
enum ConvResetGradient : unsigned { kResetMask, kResetTerm, kResetWhole };

/// The membrane after the reset of a neuron that spikes where u > threshold.
inline float afterReset(unsigned reset, float threshold, float u) {
  if (!(u > threshold))
    return u;
  return reset == kResetToZero ? 0.0f : reset == kResetBySubtraction ? u - threshold : u;
}

#endif
