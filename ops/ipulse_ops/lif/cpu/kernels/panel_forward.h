// Layers forward in time, one sample and panel.
#ifndef IPULSE_OPS_LIF_CPU_PANEL_FORWARD_H
#define IPULSE_OPS_LIF_CPU_PANEL_FORWARD_H

#include "bits.h"

namespace {

template <int V, bool NARROW> inline void add_row(const float *weights, int32_t id, F (&sum)[V]) {
  for_weights<V, NARROW>(weights + static_cast<int64_t>(id) * ROW<V, NARROW>,
                         [&](int j, F w) { sum[j] = Vec::add(sum[j], w); });
}

template <int V>
inline void add_rows(int storage, const float *weights, const int32_t *id, const int32_t *end,
                     F (&sum)[V]) {
  if (storage == LIF_WEIGHTS_BFLOAT16)
    for (; id < end; ++id)
      add_row<V, true>(weights, *id, sum);
  else
    for (; id < end; ++id)
      add_row<V, false>(weights, *id, sum);
}

// The bias and the input's spikes.
template <int V> inline void gather_current(const PanelForward &a, int t, F (&current)[V]) {
  if (a.constants.bias) {
    LIF_UNROLL for (int j = 0; j < V; ++j) current[j] = Vec::load(a.constants.bias + j * L);
  } else {
    LIF_UNROLL for (int j = 0; j < V; ++j) current[j] = Vec::zero();
  }
  if (t >= a.delay)
    add_rows<V>(a.storage, a.weights, a.ids + a.begin[t - a.delay], a.ids + a.end[t - a.delay],
                current);
}

// Where many channels spike, the currents of some steps are gathered together, from one block of
// weights after the other: a block stays in the L1 cache for these steps.
constexpr int TOGETHER = 8;
constexpr int64_t BLOCK_BYTES = 24 << 10;

// Returns true if a fifth of the inputs spike per step: there both loops take the same time, with
// 1,024 and with 4,096 inputs.
inline bool is_busy(const PanelForward &a) {
  return a.steps &&
         5 * (a.end[a.steps - 1] - a.begin[0]) > static_cast<int64_t>(a.steps) * a.inputs;
}

// The currents of steps t to t + TOGETHER - 1, [steps][V * L]. Each adds its spikes in their order,
// as gather_current does: where the ids do not ascend, a block only serves fewer of them.
template <int V, bool NARROW>
inline void gather_together(const PanelForward &a, int t, float *currents) {
  const int32_t *id[TOGETHER], *end[TOGETHER];
  int count = a.steps - t < TOGETHER ? a.steps - t : TOGETHER;
  for (int s = 0; s < count; ++s) {
    bool any = t + s >= a.delay;
    id[s] = any ? a.ids + a.begin[t + s - a.delay] : a.ids;
    end[s] = any ? a.ids + a.end[t + s - a.delay] : a.ids;
  }
  constexpr int block = static_cast<int>(BLOCK_BYTES / 4 / ROW<V, NARROW>);
  for (int first = 0; first < a.inputs; first += block) {
    int behind = first + block < a.inputs ? first + block : a.inputs;
    for (int s = 0; s < count; ++s) {
      F sum[V];
      float *current = currents + s * V * L;
      if (first) {
        LIF_UNROLL for (int j = 0; j < V; ++j) sum[j] = Vec::load(current + j * L);
      } else {
        LIF_UNROLL for (int j = 0; j < V; ++j) sum[j] =
            a.constants.bias ? Vec::load(a.constants.bias + j * L) : Vec::zero();
      }
      for (; id[s] < end[s] && *id[s] < behind; ++id[s])
        add_row<V, NARROW>(a.weights, *id[s], sum);
      LIF_UNROLL for (int j = 0; j < V; ++j) Vec::store(current + j * L, sum[j]);
    }
  }
}

// A copy of the arguments: see panel_backward.h.
template <int V, bool BUSY> void run_lif_forward(const PanelForward a) {
  F v[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) v[j] = Vec::zero();
  float *membranes = a.membranes;
  uint8_t *above = a.above, *gate = a.gate;
  alignas(64) [[maybe_unused]] float currents[TOGETHER * V * L];
  for (int t = 0; t < a.steps; ++t, above += a.row_bytes) {
    F current[V];
    if constexpr (BUSY) {
      if (t % TOGETHER == 0) {
        if (a.storage == LIF_WEIGHTS_BFLOAT16)
          gather_together<V, true>(a, t, currents);
        else
          gather_together<V, false>(a, t, currents);
      }
      LIF_UNROLL for (int j = 0; j < V; ++j) current[j] =
          Vec::load(currents + t % TOGETHER * V * L + j * L);
    } else {
      gather_current<V>(a, t, current);
    }
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

template <int V> void lif_forward_of(const PanelForward &a) {
  if (is_busy(a))
    run_lif_forward<V, true>(a);
  else
    run_lif_forward<V, false>(a);
}

void lif_forward(const PanelForward &a) { LIF_FOR_VECTORS(a.vectors, lif_forward_of, a) }

template <int V> void leaky_forward_of(const PanelForward a) {
  F u[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) u[j] = Vec::zero();
  for (int t = 0; t < a.steps; ++t) {
    F current[V];
    gather_current<V>(a, t, current);
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      u[j] = Vec::add(Vec::mul(Vec::load(a.constants.decay + j * L), u[j]),
                      Vec::mul(Vec::load(a.constants.scale + j * L), current[j]));
      store_columns(a.readout + t * a.readout_stride, a.columns, j, u[j]);
    }
  }
}

void leaky_forward(const PanelForward &a) { LIF_FOR_VECTORS(a.vectors, leaky_forward_of, a) }

} // namespace

#endif
