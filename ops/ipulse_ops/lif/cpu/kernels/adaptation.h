// Thresholds that rise with a neuron's own spikes; b and theta of reference/network_pass.py.
#ifndef IPULSE_OPS_LIF_CPU_ADAPTATION_H
#define IPULSE_OPS_LIF_CPU_ADAPTATION_H

#include "bits.h"
#include "vectors.h"

namespace {

// theta, from a threshold and b.
inline F raised(F threshold, F strength, F adaptation) {
  return Vec::add(threshold, Vec::mul(strength, adaptation));
}

// b of the next step, from b and who is reset.
inline F next_adaptation(F decay, F adaptation, unsigned reset) {
  F spikes = Vec::zero_where(mask_but(reset), Vec::all(1));
  return Vec::add(Vec::mul(decay, adaptation), spikes);
}

template <int V> void replay_adaptation_of(const AdaptationReplay &a) {
  F adaptation[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) adaptation[j] = Vec::zero();
  float *trace = a.trace;
  for (int t = 0; t < a.steps; ++t, trace += V * L) {
    const uint8_t *reset = a.reset_bits + t * a.row_bytes;
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      Vec::store(trace + j * L, adaptation[j]);
      adaptation[j] =
          next_adaptation(Vec::load(a.decay + j * L), adaptation[j], load_mask(reset + j * L / 8));
    }
  }
}

void replay_adaptation(const AdaptationReplay &a) {
  LIF_FOR_VECTORS(a.vectors, replay_adaptation_of, a)
}

} // namespace

#endif
