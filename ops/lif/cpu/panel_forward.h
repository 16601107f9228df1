// Layers forward in time, one sample and panel.
#ifndef IPULSE_OPS_LIF_CPU_PANEL_FORWARD_H
#define IPULSE_OPS_LIF_CPU_PANEL_FORWARD_H

#include "bits.h"

namespace {

template <int V>
inline void add_rows(const float *weights, const int32_t *id, const int32_t *end, F (&sum)[V]) {
  for (; id < end; ++id) {
    const float *row = weights + static_cast<int64_t>(*id) * (V * L);
    LIF_UNROLL for (int j = 0; j < V; ++j) sum[j] = Vec::add(sum[j], Vec::load(row + j * L));
  }
}

// The bias and the input's spikes.
template <int V> inline void gather_current(const PanelForward &a, int t, F (&current)[V]) {
  if (a.constants.bias) {
    LIF_UNROLL for (int j = 0; j < V; ++j) current[j] = Vec::load(a.constants.bias + j * L);
  } else {
    LIF_UNROLL for (int j = 0; j < V; ++j) current[j] = Vec::zero();
  }
  if (t >= a.delay)
    add_rows<V>(a.weights, a.ids + a.begin[t - a.delay], a.ids + a.end[t - a.delay], current);
}

// A copy of the arguments: see panel_backward.h.
template <int V> void lif_forward_of(const PanelForward a) {
  F v[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) v[j] = Vec::zero();
  float *membranes = a.membranes;
  uint8_t *above = a.above, *gate = a.gate;
  for (int t = 0; t < a.steps; ++t, above += a.row_bytes) {
    F current[V];
    gather_current<V>(a, t, current);
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      const Constants &c = a.constants;
      F u = Vec::add(Vec::mul(Vec::load(c.decay + j * L), v[j]),
                     Vec::mul(Vec::load(c.scale + j * L), current[j]));
      Vec::M reset = Vec::greater(u, Vec::load(c.threshold + j * L));
      store_mask(above + j * L / 8, Vec::bits(reset));
      v[j] = Vec::zero_where(reset, u);
      if (gate) {
        unsigned gradient = Vec::bits(Vec::greater(u, Vec::load(c.second + j * L)));
        store_mask(gate + j * L / 8, gradient);
        if (membranes) {
          Vec::store_compressed(membranes, gradient, u);
          membranes += __builtin_popcount(gradient);
        }
      } else if (membranes) {
        Vec::store(membranes, u);
        membranes += L;
      }
    }
    if (gate)
      gate += a.row_bytes;
  }
}

void lif_forward(const PanelForward &a) { LIF_FOR_VECTORS(a.vectors, lif_forward_of, a) }

template <int V> void leaky_forward_of(const PanelForward a) {
  F u[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) u[j] = Vec::zero();
  float row[V * L];
  for (int t = 0; t < a.steps; ++t) {
    F current[V];
    gather_current<V>(a, t, current);
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      u[j] = Vec::add(Vec::mul(Vec::load(a.constants.decay + j * L), u[j]),
                      Vec::mul(Vec::load(a.constants.scale + j * L), current[j]));
      Vec::store(row + j * L, u[j]);
    }
    memcpy(a.readout + t * a.readout_stride, row, a.columns * sizeof(float));
  }
}

void leaky_forward(const PanelForward &a) { LIF_FOR_VECTORS(a.vectors, leaky_forward_of, a) }

} // namespace

#endif
