// The backward pass of any layer, one sample and panel: the equations of reference/network_pass.py
// with every term. panel_backward.h is faster and covers most networks.
#ifndef IPULSE_OPS_LIF_CPU_GENERAL_BACKWARD_H
#define IPULSE_OPS_LIF_CPU_GENERAL_BACKWARD_H

#include "adaptation.h"
#include "panel_backward.h"
#include "surrogate.h"

namespace {

// A panel's row of one step: dL/ds, u and who carries gradient.
template <int V> struct BackwardRow {
  float grad_spikes[V * L], u[V * L];
  uint8_t kept[V * L / 8];
};

template <int V> inline void read_sparse_row(const PanelBackward &a, int t, BackwardRow<V> &row) {
  const uint8_t *kept = a.kept + t * a.row_bytes;
  int64_t place = a.start[t] + count_range(kept, a.first_neuron / 8);
  memcpy(row.kept, kept + a.first_neuron / 8, sizeof row.kept);
  // A load of a vector may reach behind the last membrane, and behind the last product to the next
  // sample's, which another thread may be writing.
  float packed[V * L + L] = {}, products[V * L + L] = {};
  int64_t count = count_range(row.kept, V * L / 8);
  for (int64_t k = 0; k < count; ++k) {
    packed[k] = a.membranes[place + k];
    products[k] = a.product[place + k];
  }
  const float *u = packed, *product = products;
  LIF_UNROLL for (int j = 0; j < V; ++j) {
    unsigned gradient = load_mask(row.kept + j * L / 8);
    Vec::store(row.grad_spikes + j * L, Vec::load_expanded(product, gradient));
    Vec::store(row.u + j * L, Vec::load_expanded(u, gradient));
    product += __builtin_popcount(gradient);
    u += __builtin_popcount(gradient);
  }
}

// products: [width] of this step.
template <int V>
inline void read_dense_row(const PanelBackward &a, int t, const float *products,
                           BackwardRow<V> &row) {
  memcpy(row.grad_spikes, products, sizeof row.grad_spikes);
  memcpy(row.u, a.membranes + static_cast<int64_t>(t) * (V * L), sizeof row.u);
  memset(row.kept, 0xff, sizeof row.kept);
  if (a.grad_spikes)
    add_direct(a, t, row.grad_spikes);
  if (a.extra)
    for (int n = 0; n < a.columns; ++n)
      row.grad_spikes[n] += a.extra[n];
}

// State of a panel, [width] each: lambda, dL/di and dL/db of the step after.
template <int W> struct BackwardState {
  float lambda[W], grad_i[W], grad_adaptation[W];
};

template <int V, bool ADAPTS>
inline void step_back_generally(const PanelBackward &a, int t, const BackwardRow<V> &row,
                                BackwardState<V * L> &state, float *sums) {
  constexpr int W = V * L;
  const Constants &c = a.constants;
  const F one = Vec::all(1), zero = Vec::zero();
  float phi[W] = {}, grad_u[W] = {};
  float *lambda = state.lambda, *grad_i = state.grad_i;
  const float *thresholds = c.threshold;
  [[maybe_unused]] float adaptive[W];
  [[maybe_unused]] const float *adaptation = nullptr;
  if constexpr (ADAPTS) {
    adaptation = a.adaptation_trace + static_cast<int64_t>(t) * W;
    LIF_UNROLL for (int j = 0; j < W; j += L) Vec::store(
        adaptive + j, raised(Vec::load(c.threshold + j), Vec::load(c.adaptation_strength + j),
                             Vec::load(adaptation + j)));
    thresholds = adaptive;
  }
  if (a.spiking) {
    float x[W];
    for (int n = 0; n < W; ++n)
      x[n] = row.u[n] - thresholds[n];
    surrogate_of<W>(*a.surrogate, x, phi);
  }
  if (a.grad_u)
    memcpy(grad_u, a.grad_u + t * a.grad_u_stride, a.columns * sizeof(float));
  bool resets = a.spiking && a.reset != LIF_RESET_NONE;
  bool by_spike = resets && a.reset_gradient == LIF_RESET_GRADIENT_NONE;
  bool masked = resets && a.reset == LIF_RESET_ZERO && a.reset_gradient != LIF_RESET_GRADIENT_TERM;
  bool by_threshold =
      resets && a.reset == LIF_RESET_SUBTRACT && a.reset_gradient != LIF_RESET_GRADIENT_TERM;
  LIF_UNROLL for (int j = 0; j < V; ++j) {
    F kappa = Vec::mul(Vec::load(c.decay + j * L), Vec::load(lambda + j * L));
    F threshold = Vec::load(thresholds + j * L);
    unsigned reset = 0;
    if (resets)
      reset = load_mask(a.above + t * a.row_bytes + (a.first_neuron + j * L) / 8);
    F through = zero; // of the spike
    if (a.spiking) {
      F e = Vec::load(row.grad_spikes + j * L);
      if (by_spike)
        e = Vec::sub(
            e, Vec::mul(a.reset == LIF_RESET_ZERO ? Vec::load(row.u + j * L) : threshold, kappa));
      if constexpr (ADAPTS)
        if (!a.detach_adaptation)
          e = Vec::add(e, Vec::load(state.grad_adaptation + j * L));
      F here = Vec::zero_where(mask_but(load_mask(row.kept + j * L / 8)), Vec::load(phi + j * L));
      through = Vec::mul(here, e);
    }
    F past = masked ? Vec::zero_where(Vec::mask(reset), kappa) : kappa;
    F total = Vec::add(Vec::add(through, past), Vec::load(grad_u + j * L));
    Vec::store(lambda + j * L, total);
    F by_i = Vec::mul(Vec::load(c.scale + j * L), total), by_current = by_i;
    if (c.synapse_decay) {
      F decay = Vec::load(c.synapse_decay + j * L);
      by_i = Vec::add(by_i, Vec::mul(decay, Vec::load(grad_i + j * L)));
      Vec::store(grad_i + j * L, by_i);
      by_current = Vec::mul(Vec::sub(one, decay), by_i);
    }
    int64_t place = static_cast<int64_t>(t) * W + j * L;
    Vec::store(a.grad_current + place, by_current);
    auto add = [&](int which, F value) {
      float *sum = sums + which * W + j * L;
      Vec::store(sum, Vec::add(Vec::load(sum), value));
    };
    if constexpr (ADAPTS) {
      F rise = Vec::load(adaptation + j * L), after = Vec::load(state.grad_adaptation + j * L);
      F by_theta = Vec::sub(zero, through);
      if (by_threshold)
        by_theta = Vec::sub(by_theta, Vec::zero_where(mask_but(reset), kappa));
      F before = Vec::add(Vec::mul(Vec::load(c.adaptation_decay + j * L), after),
                          Vec::mul(Vec::load(c.adaptation_strength + j * L), by_theta));
      Vec::store(state.grad_adaptation + j * L, before);
      if (sums) {
        add(4, Vec::mul(after, rise));
        add(5, Vec::mul(by_theta, rise));
      }
    }
    if (!sums)
      continue;
    F before = t ? Vec::load(a.i_trace + place - W) : zero;
    add(0, Vec::mul(total, Vec::load(a.v_trace + place)));
    add(1, Vec::mul(total, Vec::load(a.i_trace + place)));
    add(2, Vec::mul(by_i, Vec::sub(before, Vec::load(a.current_trace + place))));
    add(3, Vec::sub(zero, through));
    if (by_threshold)
      add(3, Vec::sub(zero, Vec::zero_where(mask_but(reset), kappa)));
  }
}

template <int V, bool ADAPTS> void run_general_backward(const PanelBackward &a) {
  constexpr int W = V * L;
  constexpr size_t BYTES = W * sizeof(float);
  BackwardState<W> state = {};
  float sums[CONSTANT_SUMS * W] = {};
  if (a.lambda) {
    memcpy(state.lambda, a.lambda, BYTES);
    memcpy(state.grad_i, a.grad_i, BYTES);
    if constexpr (ADAPTS)
      memcpy(state.grad_adaptation, a.grad_adaptation, BYTES);
  }
  const float nothing[W] = {};
  BackwardRow<V> row = {};
  for (int t = a.last - 1; t >= a.first; --t) {
    if (a.truncate && (t + 1) % a.truncate == 0)
      state = {};
    if (a.kept) {
      read_sparse_row<V>(a, t, row);
    } else if (a.spiking) {
      bool reaches = a.products && t + a.delay < a.steps;
      int64_t place = static_cast<int64_t>(t - a.first) * W;
      read_dense_row<V>(a, t, reaches ? a.products + place : nothing, row);
    }
    step_back_generally<V, ADAPTS>(a, t, row, state, a.sums ? sums : nullptr);
  }
  if (a.lambda) {
    memcpy(a.lambda, state.lambda, BYTES);
    memcpy(a.grad_i, state.grad_i, BYTES);
    if constexpr (ADAPTS)
      memcpy(a.grad_adaptation, state.grad_adaptation, BYTES);
  }
  if (a.sums)
    for (int n = 0; n < CONSTANT_SUMS * W; ++n)
      a.sums[n] += sums[n];
}

template <int V> void general_backward_of(const PanelBackward &a) {
  if (a.constants.adaptation_decay)
    run_general_backward<V, true>(a);
  else
    run_general_backward<V, false>(a);
}

void general_backward(const PanelBackward &a) { LIF_FOR_VECTORS(a.vectors, general_backward_of, a) }

} // namespace

#endif
