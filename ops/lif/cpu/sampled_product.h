// dL/ds where a neuron has a slot.
#ifndef IPULSE_OPS_LIF_CPU_SAMPLED_PRODUCT_H
#define IPULSE_OPS_LIF_CPU_SAMPLED_PRODUCT_H

#include "vectors.h"

namespace {

// sums[g] = lambda . weights[ids[g]] of the first `used`, at least one, of `size` rows. A group
// that is not full sums its last row again, which nobody reads.
template <int V, bool NARROW, int size>
inline void sum_group(const F (&lambda)[V], const float *weights, const int32_t *ids, int64_t used,
                      float (&sums)[8]) {
  F sum[8];
  LIF_UNROLL for (int g = 0; g < size; ++g) {
    int64_t id = ids[g < used ? g : used - 1];
    for_weights<V, NARROW>(weights + id * ROW<V, NARROW>, [&](int j, F w) {
      sum[g] = j ? Vec::fma(lambda[j], w, sum[g]) : Vec::mul(lambda[0], w);
    });
  }
  LIF_UNROLL for (int g = size; g < 8; ++g) sum[g] = sum[0];
  Vec::sum_each(sum, sums);
}

// product[k] += grad_current . weights[ids[k]]; WRITES: =
template <int V, bool NARROW, bool WRITES>
inline void add_products(const float *grad_current, const float *weights, const int32_t *ids,
                         int64_t count, float *product) {
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::load(grad_current + j * L);
  float sums[8];
  int64_t k = 0;
  for (; k + 8 <= count; k += 8) {
    sum_group<V, NARROW, 8>(lambda, weights, ids + k, 8, sums);
    for (int g = 0; g < 8; ++g)
      product[k + g] = WRITES ? sums[g] : product[k + g] + sums[g];
  }
  int64_t rest = count - k;
  if (!rest)
    return;
  if (rest > 4)
    sum_group<V, NARROW, 8>(lambda, weights, ids + k, rest, sums);
  else
    sum_group<V, NARROW, 4>(lambda, weights, ids + k, rest, sums);
  for (int64_t g = 0; g < rest; ++g)
    product[k + g] = WRITES ? sums[g] : product[k + g] + sums[g];
}

template <int V, bool NARROW, bool WRITES>
inline void add_panel_products_of(const SampledProduct &a, int panel) {
  const float *weights = a.weights + static_cast<int64_t>(panel) * a.neurons * ROW<V, NARROW>;
  const float *grad_current = a.next.grad_current + panel * a.next.rows * (V * L);
  for (int b = a.first; b < a.last; ++b) {
    int64_t row = static_cast<int64_t>(b) * a.steps, end = row + a.steps;
    for (; row + a.delay < end; ++row) {
      int64_t start = a.start[row];
      add_products<V, NARROW, WRITES>(grad_current + (row + a.delay) * (V * L), weights,
                                      a.ids + start, a.start[row + 1] - start, a.product + start);
    }
    if (WRITES) // nothing reaches the last steps
      memset(a.product + a.start[row], 0, (a.start[end] - a.start[row]) * sizeof(float));
  }
}

template <int V> void add_panel_products(const SampledProduct &a, int panel) {
  bool writes = a.writes && !panel;
  if (a.storage == LIF_WEIGHTS_BFLOAT16)
    writes ? add_panel_products_of<V, true, true>(a, panel)
           : add_panel_products_of<V, true, false>(a, panel);
  else
    writes ? add_panel_products_of<V, false, true>(a, panel)
           : add_panel_products_of<V, false, false>(a, panel);
}

void sampled_product(const SampledProduct &a) {
  for (int panel = 0; panel < a.next.panels.count; ++panel)
    [&] { LIF_FOR_VECTORS(a.next.panels.vectors, add_panel_products, a, panel) }();
  if (!a.membranes)
    return;
  constexpr int block = 8 * L;
  int64_t last = a.start[static_cast<int64_t>(a.last) * a.steps];
  for (int64_t i = a.start[static_cast<int64_t>(a.first) * a.steps]; i < last; i += block) {
    // The thresholds are collected first: the rest then runs in whole vectors.
    float d[block];
    int count = last - i < block ? static_cast<int>(last - i) : block;
    for (int k = 0; k < count; ++k)
      d[k] = a.membranes[i + k] - a.threshold[a.ids[i + k]];
    for (int k = 0; k < count; ++k) {
      d[k] = a.slope * __builtin_fabsf(d[k]) + 1;
      a.product[i + k] *= 1 / (d[k] * d[k]);
    }
  }
}

} // namespace

#endif
