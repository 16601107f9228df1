// Layers backward in time, one sample and panel.
#ifndef IPULSE_OPS_LIF_CPU_PANEL_BACKWARD_H
#define IPULSE_OPS_LIF_CPU_PANEL_BACKWARD_H

#include "bits.h"
#include "vectors.h"

namespace {

// The arguments are copied into each loop: a stored vector may alias anything that is behind a
// reference, so that pointers would be read again after each.

// Rows that are fetched ahead. dL/dI is far larger than the caches that keep it, and a row's lines
// ascend while the rows descend: no prefetcher of a CPU follows that.
constexpr int ROWS_AHEAD = 4;

template <int V> inline void fetch_row(const float *grad_current) {
  LIF_UNROLL for (int j = 0; j < V * L; j += LINE)
      __builtin_prefetch(grad_current - ROWS_AHEAD * V * L + j, 1);
}

template <int V> void leaky_backward_of(const LeakyBackward a) {
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::zero();
  for (int t = a.steps - 1; t >= 0; --t) {
    fetch_row<V>(a.grad_current + t * (V * L));
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      lambda[j] = Vec::add(load_columns(a.grad + t * a.grad_stride, a.columns, j),
                           Vec::mul(Vec::load(a.constants.decay + j * L), lambda[j]));
      Vec::store(a.grad_current + t * (V * L) + j * L,
                 Vec::mul(Vec::load(a.constants.scale + j * L), lambda[j]));
    }
  }
}

void leaky_backward(const LeakyBackward &a) { LIF_FOR_VECTORS(a.vectors, leaky_backward_of, a) }

// lambda <- direct + kappa lambda, and dL/dI of one row.
template <int V>
inline void step_back(const PanelBackward &a, const uint8_t *above, int j, F direct, F (&lambda)[V],
                      float *grad_current) {
  F kappa = Vec::load(a.constants.decay + j * L);
  if (!a.term)
    kappa = Vec::zero_where(Vec::mask(load_mask(above + j * L / 8)), kappa);
  lambda[j] = Vec::add(direct, Vec::mul(kappa, lambda[j]));
  Vec::store(grad_current + j * L, Vec::mul(Vec::load(a.constants.scale + j * L), lambda[j]));
}

template <int V> void sparse_backward_of(const PanelBackward a) {
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::zero();
  int first_byte = a.first_neuron / 8;
  for (int t = a.steps - 1; t >= 0; --t) {
    const uint8_t *kept = a.kept + t * a.row_bytes;
    const uint8_t *above = a.above + t * a.row_bytes + first_byte;
    const float *product = a.product + a.start[t] + count_range(kept, first_byte);
    kept += first_byte;
    fetch_row<V>(a.grad_current + t * (V * L));
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      unsigned gradient = load_mask(kept + j * L / 8);
      F direct = Vec::load_expanded(product, gradient);
      product += __builtin_popcount(gradient);
      step_back<V>(a, above, j, direct, lambda, a.grad_current + t * (V * L));
    }
  }
}

void sparse_backward(const PanelBackward &a) { LIF_FOR_VECTORS(a.vectors, sparse_backward_of, a) }

// Adds the loss's own derivative by the spikes, which comes in slot order: spikes, then the rest.
inline void add_direct(const PanelBackward &a, int t, float *grad_spikes) {
  const uint8_t *above = a.above + t * a.row_bytes;
  const float *direct = a.grad_spikes + t * a.grad_spikes_stride;
  int64_t spikes = count_range(above, a.row_bytes);
  int64_t rank = count_range(above, a.first_neuron / 8);
  for (int n = a.first_neuron; n < a.first_neuron + a.columns; ++n) {
    bool spiking = above[n / 8] >> (n % 8) & 1;
    grad_spikes[n - a.first_neuron] += direct[spiking ? rank : spikes + n - rank];
    rank += spiking;
  }
}

template <int V> void dense_backward_of(const PanelBackward a) {
  constexpr int W = V * L;
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::zero();
  F slope = Vec::all(a.slope), one = Vec::all(1);
  float nothing[W];
  int first_byte = a.first_neuron / 8;
  for (int t = a.steps - 1; t >= 0; --t) {
    float *row = a.products + static_cast<int64_t>(t) * W;
    if (t + a.delay >= a.steps) {
      memset(nothing, 0, sizeof nothing);
      row = nothing;
    }
    if (a.grad_spikes)
      add_direct(a, t, row);
    const uint8_t *above = a.above + t * a.row_bytes + first_byte;
    const float *membranes = a.membranes + static_cast<int64_t>(t) * W;
    fetch_row<V>(membranes);
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      F u = Vec::load(membranes + j * L);
      F distance = Vec::abs(Vec::sub(u, Vec::load(a.constants.threshold + j * L)));
      F d = Vec::add(Vec::mul(slope, distance), one);
      F phi = Vec::div(one, Vec::mul(d, d));
      F direct = Vec::mul(phi, Vec::load(row + j * L));
      step_back<V>(a, above, j, direct, lambda, a.grad_current + static_cast<int64_t>(t) * W);
    }
  }
}

void dense_backward(const PanelBackward &a) { LIF_FOR_VECTORS(a.vectors, dense_backward_of, a) }

} // namespace

#endif
