// dL/dW, channel by channel.
#ifndef IPULSE_OPS_LIF_CPU_WEIGHT_GRADIENT_H
#define IPULSE_OPS_LIF_CPU_WEIGHT_GRADIENT_H

#include "bits.h"

namespace {

template <int V> void weight_gradient_of(const WeightGradient &a) {
  constexpr int W = V * L;
  int channels = a.last - a.first;
  for (int g = a.begin; g < a.end; ++g) {
    bool last = g + 1 == a.groups;
    const float *grad_current = a.grad_current + (g - a.begin) * a.group_rows * W;
    const int64_t *start = a.start + static_cast<int64_t>(g) * (a.inputs + 1) + a.first;
    // The next group's rows are fetched meanwhile, evenly: they are read in no order.
    const float *ahead = grad_current + a.group_rows * W;
    int64_t lines = g + 1 == a.end ? 0 : (a.group_rows * W / LINE + channels - 1) / channels;
    for (int i = 0; i < channels; ++i) {
      for (int64_t line = 0; line < lines; ++line, ahead += LINE)
        __builtin_prefetch(ahead, 0, 2);
      const uint16_t *row = a.rows + start[i], *end = a.rows + start[i + 1];
      if (row == end && g && !last)
        continue;
      int64_t place = static_cast<int64_t>(i) * W;
      float *grad = a.grad + i * a.grad_stride, padded[W];
      const float *from = g ? a.sum + place : nullptr;
      if (!g && a.continues) {
        memcpy(padded, grad, a.columns * sizeof(float));
        memset(padded + a.columns, 0, (W - a.columns) * sizeof(float));
        from = padded;
      }
      F total[V];
      LIF_UNROLL for (int j = 0; j < V; ++j) total[j] =
          from ? Vec::load(from + j * L) : Vec::zero();
      for (; row < end; ++row) {
        const float *add = grad_current + static_cast<int64_t>(*row) * W;
        LIF_UNROLL for (int j = 0; j < V; ++j) total[j] =
            Vec::add(total[j], Vec::load(add + j * L));
      }
      float *to = !last ? a.sum + place : a.columns == W ? grad : padded;
      LIF_UNROLL for (int j = 0; j < V; ++j) Vec::store(to + j * L, total[j]);
      if (to == padded)
        memcpy(grad, padded, a.columns * sizeof(float));
    }
  }
}

void weight_gradient(const WeightGradient &a) { LIF_FOR_VECTORS(a.vectors, weight_gradient_of, a) }

} // namespace

#endif
