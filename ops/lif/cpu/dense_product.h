// dL/ds of every neuron.
#ifndef IPULSE_OPS_LIF_CPU_DENSE_PRODUCT_H
#define IPULSE_OPS_LIF_CPU_DENSE_PRODUCT_H

#include "vectors.h"

namespace {

// Neurons of a strip: a panel's transposed weights lie in strips, [strips][next neurons][strip].
template <int V> constexpr int STRIP_VECTORS = V < Vec::product_vectors ? V : Vec::product_vectors;

// Adds a column of R rows of dL/dI, [R][K], times a row of a strip of C vectors.
template <int C, int R, int K>
inline void add_column(const float *grad_current, const float *strip, F (&sum)[R][C]) {
  F w[C];
  LIF_UNROLL for (int j = 0; j < C; ++j) w[j] = Vec::load(strip + j * L);
  LIF_UNROLL for (int r = 0; r < R; ++r) {
    F one = Vec::all(grad_current[r * K]);
    LIF_UNROLL for (int j = 0; j < C; ++j) sum[r][j] = Vec::fma(one, w[j], sum[r][j]);
  }
}

// What is read after a tile, and fetched meanwhile: else each of its lines is waited for.
struct Ahead {
  const float *rows;  // of dL/dI
  const float *block; // of weights
  int lines;          // of the block, for each LINE columns: evenly, as few can be on their way
};

// Adds R rows of dL/dI, [R][K], times `columns` rows of a strip of C vectors.
template <int C, int R, int K>
inline void add_strip(const float *grad_current, Ahead ahead, int columns, const float *strip,
                      bool first, float *grad_spikes, int width) {
  // Columns at a time. Where no instruction set is asked for, compilers make little of more than
  // one.
  constexpr int STEP = C == 1 ? 1 : LINE;
  F sum[R][C];
  LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j) sum[r][j] =
      first ? Vec::zero() : Vec::load(grad_spikes + r * width + j * L);
  int i = 0;
  for (; i + STEP <= columns; i += STEP) {
    if (i % LINE == 0) {
      LIF_UNROLL for (int r = 0; r < R; ++r) __builtin_prefetch(ahead.rows + r * K + i);
      for (int line = 0; line < ahead.lines; ++line, ahead.block += LINE)
        __builtin_prefetch(ahead.block, 0, 2);
    }
    if (i == LINE)
      LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C * L; j += LINE)
          __builtin_prefetch(grad_spikes + (R + r) * width + j);
    LIF_UNROLL for (int k = 0; k < STEP; ++k, strip += C * L)
        add_column<C, R, K>(grad_current + i + k, strip, sum);
  }
  for (; i < columns; ++i, strip += C * L)
    add_column<C, R, K>(grad_current + i, strip, sum);
  LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j)
      Vec::store(grad_spikes + r * width + j * L, sum[r][j]);
}

// Columns of dL/dI at a time, at most: a strip's block of as many rows takes half of an L1 cache
// and stays there while all rows of dL/dI pass by.
constexpr int BLOCK_COLUMNS = 64;

template <int V, int N> void dense_product_of(const DenseProduct &a) {
  constexpr int C = STRIP_VECTORS<V>, R = Vec::product_rows, W = V * L, K = N * L;
  constexpr int B = K < BLOCK_COLUMNS ? K : BLOCK_COLUMNS, GROUPS = (B + LINE - 1) / LINE;
  const Panels &next = a.next.panels;
  for (int k = 0; k < next.neurons; k += B) {
    auto columns_from = [&](int column) {
      return a.next.grad_current + (column / K * a.next.rows + a.first_row) * K + column % K;
    };
    const float *grad_current = columns_from(k);
    int columns = next.neurons - k < B ? next.neurons - k : B;
    for (int c = 0; c < V; c += C) {
      const float *strip = a.weights + (static_cast<int64_t>(c) * next.neurons + k * C) * L;
      float *out = a.grad_spikes + c * L;
      // What follows: the next strip's block, and after the last tile the next block's columns.
      bool last = c + C == V;
      const float *block = last ? a.weights + static_cast<int64_t>(k + B) * C * L
                                : strip + static_cast<int64_t>(next.neurons) * C * L;
      if (last && k + B >= next.neurons)
        block = strip + static_cast<int64_t>(columns) * C * L;
      const float *rows_after = last ? columns_from(k + B) : grad_current;
      int64_t tiles = a.rows / R, groups = tiles * GROUPS, row = 0;
      int lines = tiles ? static_cast<int>((B * C * L / LINE + groups - 1) / groups) : 0;
      for (int64_t tile = 1; tile <= tiles; ++tile, row += R, block += lines * GROUPS * LINE) {
        const float *rows = tile < tiles ? grad_current + (row + R) * K : rows_after;
        add_strip<C, R, K>(grad_current + row * K, {rows, block, lines}, columns, strip, k == 0,
                           out + row * W, W);
      }
      for (; row < a.rows; ++row)
        add_strip<C, 1, K>(grad_current + row * K, {grad_current + (row + 1) * K, block, 0},
                           columns, strip, k == 0, out + row * W, W);
    }
  }
}

template <int V> void dense_product_for(const DenseProduct &a) {
  switch (a.next.panels.vectors) {
  case 1:
    return dense_product_of<V, 1>(a);
  case 2:
    return dense_product_of<V, 2>(a);
  case 4:
    return dense_product_of<V, 4>(a);
  default:
    return dense_product_of<V, 8>(a);
  }
}

void dense_product(const DenseProduct &a) { LIF_FOR_VECTORS(a.vectors, dense_product_for, a) }

} // namespace

#endif
