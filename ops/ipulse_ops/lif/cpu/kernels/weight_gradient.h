// dL/dW, channel by channel.
#ifndef IPULSE_OPS_LIF_CPU_WEIGHT_GRADIENT_H
#define IPULSE_OPS_LIF_CPU_WEIGHT_GRADIENT_H

#include "support/bits.h"

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
      F total[V];
      LIF_UNROLL for (int j = 0; j < V; ++j) total[j] =
          g ? Vec::load(a.sum + place + j * L) : Vec::zero();
      for (; row < end; ++row) {
        const float *add = grad_current + static_cast<int64_t>(*row) * W;
        LIF_UNROLL for (int j = 0; j < V; ++j) total[j] =
            Vec::add(total[j], Vec::load(add + j * L));
      }
      float *grad = a.grad + i * a.grad_stride, padded[W];
      float *to = !last ? a.sum + place : a.columns == W ? grad : padded;
      LIF_UNROLL for (int j = 0; j < V; ++j) Vec::store(to + j * L, total[j]);
      if (to == padded)
        memcpy(grad, padded, a.columns * sizeof(float));
    }
  }
}

void sum_multiples(const MultipleSums &a) {
  constexpr int V = 8;
  static_assert(MAX_WIDTH % (V * L) == 0, "a row of bits is whole runs of vectors");
  for (int64_t first = 0; first < 8 * a.row_bytes; first += V * L) {
    const uint8_t *bits = a.bits + first / 8;
    F sum[V];
    LIF_UNROLL for (int j = 0; j < V; ++j) sum[j] = Vec::zero();
    for (int t = 0; t < a.steps; ++t, bits += a.row_bytes) {
      F multiple = Vec::all(a.multiples[t]);
      LIF_UNROLL for (int j = 0; j < V; ++j) sum[j] =
          Vec::add(sum[j], Vec::zero_where(mask_but(load_mask(bits + j * L / 8)), multiple));
    }
    LIF_UNROLL for (int j = 0; j < V; ++j) Vec::store(a.sums + first + j * L, sum[j]);
  }
}

void weight_gradient(const WeightGradient &a) { LIF_FOR_VECTORS(a.vectors, weight_gradient_of, a) }

} // namespace

#endif
