// One step of Adam over a run of weights.
#ifndef IPULSE_OPS_LIF_CPU_ADAM_STEP_H
#define IPULSE_OPS_LIF_CPU_ADAM_STEP_H

#include "vectors.h"

namespace {

inline void adam_vector(const AdamBlock &a, const float *from, const float *mean,
                        const float *square, const float *gradient, float *to, float *mean_to,
                        float *square_to) {
  F g = Vec::load(gradient), m = Vec::load(mean), v = Vec::load(square), w = Vec::load(from);
  m = Vec::add(m, Vec::mul(Vec::all(a.mean_share), Vec::sub(g, m)));
  v = Vec::add(v, Vec::mul(Vec::all(a.square_share), Vec::sub(Vec::mul(g, g), v)));
  F step = Vec::div(Vec::mul(Vec::all(a.rate), m), Vec::add(Vec::sqrt(v), Vec::all(a.epsilon)));
  Vec::store(mean_to, m);
  Vec::store(square_to, v);
  Vec::store(to, Vec::sub(Vec::mul(Vec::all(a.keep), w), step));
}

void adam_step(const AdamBlock &a) {
  int64_t i = 0;
  for (; i + L <= a.count; i += L)
    adam_vector(a, a.weights + i, a.means + i, a.squares + i, a.gradients + i, a.new_weights + i,
                a.new_means + i, a.new_squares + i);
  int64_t rest = a.count - i;
  if (rest == 0)
    return;
  float last[4][L] = {};
  const float *from[4] = {a.weights + i, a.means + i, a.squares + i, a.gradients + i};
  for (int k = 0; k < 4; ++k)
    memcpy(last[k], from[k], rest * sizeof(float));
  adam_vector(a, last[0], last[1], last[2], last[3], last[0], last[1], last[2]);
  float *to[3] = {a.new_weights + i, a.new_means + i, a.new_squares + i};
  for (int k = 0; k < 3; ++k)
    memcpy(to[k], last[k], rest * sizeof(float));
}

} // namespace

#endif
