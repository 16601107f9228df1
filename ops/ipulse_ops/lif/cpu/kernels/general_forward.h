// Any layer forward in time, one sample and panel: every reset, recurrence, synapse, and the runs
// again that the backward pass makes. panel_forward.h has what most networks need, and is faster.
#ifndef IPULSE_OPS_LIF_CPU_GENERAL_FORWARD_H
#define IPULSE_OPS_LIF_CPU_GENERAL_FORWARD_H

#include "adaptation.h"
#include "panel_forward.h"

namespace {

// v, from u of the step before and who is reset.
inline F after_reset(int reset, F u, unsigned bits, F threshold) {
  if (reset == LIF_RESET_ZERO)
    return Vec::zero_where(Vec::mask(bits), u);
  return Vec::sub(u, Vec::zero_where(mask_but(bits), threshold));
}

// Packs u of the neurons in `kept`. Panels are neighbours there: nothing is written behind them.
template <int V> inline void store_kept(const PanelForward &a, int t, const float *u) {
  const uint8_t *kept = a.kept + t * a.row_bytes;
  float *out = a.kept_membranes + a.start[t] + count_range(kept, a.first_neuron / 8);
  kept += a.first_neuron / 8;
  for (int byte = 0; byte < V * L / 8; ++byte)
    for (unsigned rest = kept[byte]; rest; rest &= rest - 1)
      *out++ = u[8 * byte + __builtin_ctz(rest)];
}

template <int V, bool ADAPTS> void run_general_forward(const PanelForward &a) {
  constexpr int W = V * L;
  const Constants &c = a.constants;
  const F one = Vec::all(1);
  float u[W] = {}, i[W] = {};
  [[maybe_unused]] float adaptation[W] = {};
  if (a.u) {
    memcpy(u, a.u, sizeof u);
    memcpy(i, a.i, sizeof i);
    if constexpr (ADAPTS)
      memcpy(adaptation, a.adaptation, sizeof adaptation);
  }
  float *membranes = a.membranes;
  for (int t = a.first; t < a.last; ++t) {
    F current[V];
    gather_current<V>(a, t, current);
    if (a.recurrent && t > 0)
      add_rows<V>(a.storage, a.recurrent, a.own_ids + a.own_begin[t - 1],
                  a.own_ids + a.own_end[t - 1], current);
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      F v = Vec::load(u + j * L), drive = current[j];
      F threshold = Vec::load(c.threshold + j * L), second = Vec::load(c.second + j * L);
      if constexpr (ADAPTS) {
        F rise = Vec::load(adaptation + j * L), strength = Vec::load(c.adaptation_strength + j * L);
        if (t > 0 && a.reset_bits) {
          unsigned reset = load_mask(a.reset_bits + (t - 1) * a.row_bytes + j * L / 8);
          if (a.reset != LIF_RESET_NONE)
            v = after_reset(a.reset, v, reset, raised(threshold, strength, rise));
          rise = next_adaptation(Vec::load(c.adaptation_decay + j * L), rise, reset);
          Vec::store(adaptation + j * L, rise);
        }
        threshold = raised(threshold, strength, rise);
        second = raised(second, strength, rise);
      } else if (t > 0 && a.reset_bits && a.reset != LIF_RESET_NONE) {
        v = after_reset(a.reset, v, load_mask(a.reset_bits + (t - 1) * a.row_bytes + j * L / 8),
                        threshold);
      }
      if (c.synapse_decay) {
        F decay = Vec::load(c.synapse_decay + j * L);
        drive = Vec::add(Vec::mul(decay, Vec::load(i + j * L)),
                         Vec::mul(Vec::sub(one, decay), current[j]));
        Vec::store(i + j * L, drive);
      }
      F now = Vec::add(Vec::mul(Vec::load(c.decay + j * L), v),
                       Vec::mul(Vec::load(c.scale + j * L), drive));
      Vec::store(u + j * L, now);
      if (a.above)
        store_mask(a.above + t * a.row_bytes + j * L / 8, Vec::bits(Vec::greater(now, threshold)));
      if (a.gate) {
        unsigned gradient = Vec::bits(Vec::greater(now, second));
        store_mask(a.gate + t * a.row_bytes + j * L / 8, gradient);
        if (membranes) {
          Vec::store_compressed(membranes, gradient, now);
          membranes += __builtin_popcount(gradient);
        }
      } else if (membranes) {
        Vec::store(membranes, now);
        membranes += L;
      }
      if (a.v_trace) {
        int64_t place = static_cast<int64_t>(t) * W + j * L;
        Vec::store(a.v_trace + place, v);
        Vec::store(a.i_trace + place, drive);
        Vec::store(a.current_trace + place, current[j]);
      }
    }
    if (a.kept_membranes)
      store_kept<V>(a, t, u);
    if (a.readout)
      memcpy(a.readout + t * a.readout_stride, u, a.columns * sizeof(float));
  }
  if (a.u) {
    memcpy(a.u, u, sizeof u);
    memcpy(a.i, i, sizeof i);
    if constexpr (ADAPTS)
      memcpy(a.adaptation, adaptation, sizeof adaptation);
  }
}

template <int V> void general_forward_of(const PanelForward &a) {
  if (a.constants.adaptation_decay)
    run_general_forward<V, true>(a);
  else
    run_general_forward<V, false>(a);
}

void general_forward(const PanelForward &a) { LIF_FOR_VECTORS(a.vectors, general_forward_of, a) }

} // namespace

#endif
