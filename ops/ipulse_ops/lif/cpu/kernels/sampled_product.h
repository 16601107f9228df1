// dL/ds where a neuron has a slot.
//
// Every kernel yields the same bits, as each sums in sixteen lanes. Neuron n of the next layer
// belongs to lane n mod 16. In a chunk of that layer a lane is a chain of fused multiply-adds,
// ascending, that begins with a product. The lanes are folded, lane i with lane i + 8, and so on by
// halves. The chunks' sums are added ascending.
#ifndef IPULSE_OPS_LIF_CPU_SAMPLED_PRODUCT_H
#define IPULSE_OPS_LIF_CPU_SAMPLED_PRODUCT_H

#include "vectors.h"

namespace {

// Products that are reduced together. They may belong to several rows, so that rows of few neurons
// fill all lanes.
constexpr int TOGETHER_SUMS = 64;

// product[k] += the sum of the lanes of sums[k], `count` of them; WRITES: =. What lies behind them,
// up to a multiple of eight, is read and left.
template <bool WRITES> inline void add_up_lanes(const float *sums, int64_t count, float *product) {
  for (int64_t k = 0; k < count; k += 8) {
    float eight[8];
    Vec::fold_eight(sums + k * SUM_LANES, eight);
    for (int64_t g = 0; g < 8 && k + g < count; ++g)
      product[k + g] = WRITES ? eight[g] : product[k + g] + eight[g];
  }
}

// sums[k] = lambda times weights[ids[k]], lane by lane; BEGINS: of the chunk's first panel, else it
// continues.
template <int V, bool NARROW, bool BEGINS>
inline void multiply_rows(const float *grad_current, const float *weights, const int32_t *ids,
                          int64_t count, float *sums) {
  constexpr int VECTORS = SUM_LANES / L;
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::load(grad_current + j * L);
  for (int64_t k = 0; k < count; ++k, sums += SUM_LANES) {
    F sum[VECTORS];
    LIF_UNROLL for (int i = 0; i < VECTORS; ++i) sum[i] =
        BEGINS ? Vec::zero() : Vec::load(sums + i * L);
    for_weights<V, NARROW>(
        weights + ids[k] * static_cast<int64_t>(ROW<V, NARROW>), [&](int j, F w) {
          F &lanes = sum[j % VECTORS];
          lanes = BEGINS && j < VECTORS ? Vec::mul(lambda[j], w) : Vec::fma(lambda[j], w, lanes);
        });
    LIF_UNROLL for (int i = 0; i < VECTORS; ++i) Vec::store(sums + i * L, sum[i]);
  }
}

// One chunk of the next layer, from `panel` on; WRITES: the first one.
template <int V, bool NARROW, bool WRITES>
inline void add_chunk_products_of(const SampledProduct &a, int panel) {
  int64_t panel_weights = static_cast<int64_t>(a.neurons) * ROW<V, NARROW>;
  int64_t panel_rows = a.next.rows * (V * L);
  const float *weights = a.weights + panel * panel_weights;
  const float *grad_current = a.next.grad_current + panel * panel_rows;
  alignas(64) float sums[TOGETHER_SUMS * SUM_LANES];
  for (int b = a.first; b < a.last; ++b) {
    int64_t row = static_cast<int64_t>(b) * a.steps, end = row + a.steps;
    int64_t added = a.start[row], multiplied = added; // of the sample's slots
    for (; row + a.delay < end; ++row)
      while (multiplied < a.start[row + 1]) {
        int64_t most = added + TOGETHER_SUMS;
        int64_t stop = a.start[row + 1] < most ? a.start[row + 1] : most;
        const float *lambda = grad_current + (row + a.delay) * (V * L);
        const int32_t *ids = a.ids + multiplied;
        float *to = sums + (multiplied - added) * SUM_LANES;
        multiply_rows<V, NARROW, true>(lambda, weights, ids, stop - multiplied, to);
        for (int p = 1; p < a.next.panels.chunk; ++p)
          multiply_rows<V, NARROW, false>(lambda + p * panel_rows, weights + p * panel_weights, ids,
                                          stop - multiplied, to);
        multiplied = stop;
        if (multiplied == most) {
          add_up_lanes<WRITES>(sums, TOGETHER_SUMS, a.product + added);
          added = multiplied;
        }
      }
    add_up_lanes<WRITES>(sums, multiplied - added, a.product + added);
    if (WRITES) // nothing reaches the last steps
      memset(a.product + multiplied, 0, (a.start[end] - multiplied) * sizeof(float));
  }
}

template <int V> void add_chunk_products(const SampledProduct &a, int panel) {
  bool writes = a.writes && !panel;
  if (a.storage == LIF_WEIGHTS_BFLOAT16)
    writes ? add_chunk_products_of<V, true, true>(a, panel)
           : add_chunk_products_of<V, true, false>(a, panel);
  else
    writes ? add_chunk_products_of<V, false, true>(a, panel)
           : add_chunk_products_of<V, false, false>(a, panel);
}

void sampled_product(const SampledProduct &a) {
  for (int panel = 0; panel < a.next.panels.count; panel += a.next.panels.chunk)
    [&] { LIF_FOR_VECTORS(a.next.panels.vectors, add_chunk_products, a, panel) }();
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
