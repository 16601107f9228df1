// dL/ds of every neuron.
#ifndef IPULSE_OPS_LIF_CPU_DENSE_PRODUCT_H
#define IPULSE_OPS_LIF_CPU_DENSE_PRODUCT_H

#include "vectors.h"

namespace {

// dL/ds of R consecutive rows and C vectors of neurons.
template <int V, int C, int R>
inline void dense_product(const PanelBackward &a, int64_t row, int c, float *grad_spikes) {
  F sum[R][C];
  LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j) sum[r][j] =
      Vec::zero();
  int width = a.next.panels.width;
  for (int p = 0; p < a.next.panels.count; ++p) {
    const float *lambda = a.next.grad_current + (p * a.next.rows + row) * width;
    const float *weights = a.weights + static_cast<int64_t>(p) * width * (V * L) + c * L;
    int columns = a.next.panels.columns(p);
    for (int i = 0; i < columns; ++i, weights += V * L) {
      F w[C];
      LIF_UNROLL for (int j = 0; j < C; ++j) w[j] = Vec::load(weights + j * L);
      LIF_UNROLL for (int r = 0; r < R; ++r) {
        F one = Vec::all(lambda[r * width + i]);
        LIF_UNROLL for (int j = 0; j < C; ++j) sum[r][j] = Vec::fma(one, w[j], sum[r][j]);
      }
    }
  }
  LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j)
      Vec::store(grad_spikes + r * (V * L) + (c + j) * L, sum[r][j]);
}

template <int V, int R>
inline void dense_rows(const PanelBackward &a, int64_t row, float *grad_spikes) {
  constexpr int C = V < Vec::product_vectors ? V : Vec::product_vectors;
  for (int c = 0; c < V; c += C)
    dense_product<V, C, R>(a, row, c, grad_spikes);
}

} // namespace

#endif
