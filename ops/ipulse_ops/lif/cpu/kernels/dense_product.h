// dL/ds of every neuron.
//
// Every kernel yields the same bits. An element is one chain of fused multiply-adds over the
// columns, ascending, from zero: a block of columns continues from the stored sum, so that no
// block's length matters. In blocks, as Strassen's products are added up, each BLOCK_DEPTH columns
// are a chain from zero, and the chains are added ascending.
#ifndef IPULSE_OPS_LIF_CPU_DENSE_PRODUCT_H
#define IPULSE_OPS_LIF_CPU_DENSE_PRODUCT_H

#include "vectors.h"

namespace {

// Vectors of a strip. A panel's transposed weights are [strips][next neurons][strip].
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

// The data of the next tile, which is prefetched while a tile is computed.
struct Ahead {
  const float *rows;  // of dL/dI
  const float *block; // of weights
  int lines;          // of the block, for each LINE columns: evenly, as few can be on their way
};

// The sums that a tile of R rows continues from; `more`: its columns are not the first.
template <int C, int R, int W>
inline void load_tile(const DenseProduct &a, bool more, int64_t place, F (&sum)[R][C]) {
  const float *from = a.grad_spikes[0] + place;
  if (more && !a.in_blocks)
    LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j) sum[r][j] =
        Vec::load(from + r * W + j * L);
  else
    LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j) sum[r][j] =
        Vec::zero();
}

// Writes a tile or, of a product in blocks, adds it.
template <int C, int R, int W>
inline void store_tile(const DenseProduct &a, bool more, int64_t place, const F (&sum)[R][C]) {
  for (int t = 0; t < 2 && a.grad_spikes[t]; ++t) {
    float *to = a.grad_spikes[t] + place;
    auto put = [=, &sum](auto value) {
      LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j)
          Vec::store(to + r * W + j * L, value(Vec::load(to + r * W + j * L), sum[r][j]));
    };
    if (a.subtracts[t])
      put([](F old, F one) { return Vec::sub(old, one); });
    else if (a.in_blocks && (more || a.adds[t]))
      put([](F old, F one) { return Vec::add(old, one); });
    else
      LIF_UNROLL for (int r = 0; r < R; ++r) LIF_UNROLL for (int j = 0; j < C; ++j)
          Vec::store(to + r * W + j * L, sum[r][j]);
  }
}

// R rows of dL/dI, [R][K] in each panel of the next layer, times `columns` rows of a strip of C
// vectors. panel: floats from one panel to the next.
template <int C, int R, int W, int K>
inline void add_strip(const DenseProduct &a, const float *grad_current, int64_t panel, Ahead ahead,
                      int columns, const float *strip, bool more, int64_t place) {
  // Columns at a time. Where no instruction set is asked for, compilers make little of more than
  // one.
  constexpr int STEP = C == 1 ? 1 : LINE;
  F sum[R][C];
  load_tile<C, R, W>(a, more, place, sum);
  for (; columns > 0; columns -= K, grad_current += panel, ahead.rows += panel) {
    int here = columns < K ? columns : K, i = 0;
    for (; i + STEP <= here; i += STEP) {
      if (i % LINE == 0) {
        LIF_UNROLL for (int r = 0; r < R; ++r) __builtin_prefetch(ahead.rows + r * K + i);
        for (int line = 0; line < ahead.lines; ++line, ahead.block += LINE)
          __builtin_prefetch(ahead.block, 0, 0);
      }
      LIF_UNROLL for (int k = 0; k < STEP; ++k, strip += C * L)
          add_column<C, R, K>(grad_current + i + k, strip, sum);
    }
    for (; i < here; ++i, strip += C * L)
      add_column<C, R, K>(grad_current + i, strip, sum);
  }
  store_tile<C, R, W>(a, more, place, sum);
}

template <int R> struct Rows {
  static constexpr int value = R;
};

// Weights of a strip at a time, at most: they take half of an L1 cache and stay there while all
// rows of dL/dI pass by.
constexpr int BLOCK_WEIGHTS = 4096;

template <int V, int N> void dense_product_of(const DenseProduct &a) {
  constexpr int C = STRIP_VECTORS<V>, R = Vec::product_rows, W = V * L, K = N * L;
  constexpr int MOST = BLOCK_WEIGHTS / (C * L);
  static_assert(MOST >= BLOCK_DEPTH && MOST % K == 0 && BLOCK_DEPTH % K == 0, "whole panels");
  const int depth = a.in_blocks ? BLOCK_DEPTH : MOST, line_groups = depth / LINE;
  const Panels &next = a.next.panels;
  int64_t panel = a.next.rows * K;
  for (int k = 0; k < next.neurons; k += depth) {
    auto columns_from = [&](int column) {
      return a.next.grad_current + column / K * panel + a.first_row * K + column % K;
    };
    const float *grad_current = columns_from(k);
    int columns = next.neurons - k < depth ? next.neurons - k : depth;
    for (int c = 0; c < V; c += C) {
      const float *strip = a.weights + (static_cast<int64_t>(c) * next.neurons + k * C) * L;
      // Next are the block of the next strip and, after the last tile, the next block's columns.
      bool last = c + C == V;
      const float *block = last ? a.weights + static_cast<int64_t>(k + depth) * C * L
                                : strip + static_cast<int64_t>(next.neurons) * C * L;
      if (last && k + depth >= next.neurons)
        block = strip + static_cast<int64_t>(columns) * C * L;
      const float *rows_after = last ? columns_from(k + depth) : grad_current;
      int64_t tiles = a.rows / R, groups = tiles * line_groups, row = 0;
      int lines = tiles ? static_cast<int>((depth * C * L / LINE + groups - 1) / groups) : 0;
      for (int64_t tile = 1; tile <= tiles; ++tile, row += R, block += lines * line_groups * LINE) {
        const float *rows = tile < tiles ? grad_current + (row + R) * K : rows_after;
        add_strip<C, R, W, K>(a, grad_current + row * K, panel, {rows, block, lines}, columns,
                              strip, k > 0, row * W + c * L);
      }
      auto add_rest = [&](auto rows) {
        constexpr int REST = decltype(rows)::value;
        for (; row + REST <= a.rows; row += REST)
          add_strip<C, REST, W, K>(a, grad_current + row * K, panel,
                                   {grad_current + (row + REST) * K, block, 0}, columns, strip,
                                   k > 0, row * W + c * L);
      };
      add_rest(Rows<R / 2>());
      add_rest(Rows<1>());
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
