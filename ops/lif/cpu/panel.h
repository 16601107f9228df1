// The inner loops, once, over a vector type `Vec` that the including file defines in an unnamed
// namespace. No part of the standard library with code of its own is used here: the linker might
// keep the copy that was compiled for more features than the machine has.
#ifndef IPULSE_OPS_LIF_CPU_PANEL_H
#define IPULSE_OPS_LIF_CPU_PANEL_H

#include <cstring>

#include "kernel.h"

#if defined(__clang__)
#define LIF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LIF_UNROLL _Pragma("GCC unroll 8")
#endif

namespace {

using namespace lif;
using F = Vec::F;
constexpr int L = Vec::lanes;
static_assert(L % 8 == 0 && 8 * L <= MAX_WIDTH, "a vector's bits are whole bytes");

// Calls step<V>(...) for the panel's number of vectors.
#define LIF_FOR_VECTORS(vectors, step, ...)                                                        \
  switch (vectors) {                                                                               \
  case 1:                                                                                          \
    return step<1>(__VA_ARGS__);                                                                   \
  case 2:                                                                                          \
    return step<2>(__VA_ARGS__);                                                                   \
  case 4:                                                                                          \
    return step<4>(__VA_ARGS__);                                                                   \
  default:                                                                                         \
    return step<8>(__VA_ARGS__);                                                                   \
  }

inline uint64_t load_word(const uint8_t *bits) {
  uint64_t word;
  memcpy(&word, bits, sizeof word);
  return word;
}

inline unsigned load_mask(const uint8_t *bits) {
  uint16_t mask = 0;
  memcpy(&mask, bits, L / 8);
  return mask;
}

inline void store_mask(uint8_t *bits, unsigned mask) {
  uint16_t narrow = static_cast<uint16_t>(mask);
  memcpy(bits, &narrow, L / 8);
}

inline int64_t count_range(const uint8_t *bits, int bytes) {
  int64_t count = 0;
  for (; bytes >= 8; bytes -= 8, bits += 8)
    count += __builtin_popcountll(load_word(bits));
  for (; bytes > 0; --bytes, ++bits)
    count += __builtin_popcount(*bits);
  return count;
}

void pack(const float *weights, int64_t rows, int64_t columns, int first, int width, float *panel) {
  int64_t used = columns - first < width ? columns - first : width;
  for (int64_t i = 0; i < rows; ++i) {
    memcpy(panel + i * width, weights + i * columns + first, used * sizeof(float));
    for (int64_t j = used; j < width; ++j)
      panel[i * width + j] = 0;
  }
}

void pack_transposed(const float *weights, int64_t rows, int64_t columns, int first, int width,
                     float *panel) {
  int64_t used = rows - first < width ? rows - first : width;
  // Blocks of a cache line, so that each line that is read is used whole.
  constexpr int64_t block = 16;
  for (int64_t j0 = 0; j0 < columns; j0 += block) {
    int64_t j1 = j0 + block < columns ? j0 + block : columns;
    for (int64_t i = 0; i < used; ++i) {
      const float *row = weights + (first + i) * columns;
      for (int64_t j = j0; j < j1; ++j)
        panel[j * width + i] = row[j];
    }
    for (int64_t j = j0; j < j1; ++j)
      for (int64_t i = used; i < width; ++i)
        panel[j * width + i] = 0;
  }
}

template <int V> inline void gather_current(const PanelForward &a, int t, F (&current)[V]) {
  LIF_UNROLL for (int j = 0; j < V; ++j) current[j] = Vec::zero();
  if (t < a.delay)
    return;
  const int32_t *id = a.ids + a.begin[t - a.delay];
  const int32_t *end = a.ids + a.end[t - a.delay];
  for (; id < end; ++id) {
    const float *row = a.weights + static_cast<int64_t>(*id) * (V * L);
    LIF_UNROLL for (int j = 0; j < V; ++j) current[j] =
        Vec::add(current[j], Vec::load(row + j * L));
  }
}

template <int V> void lif_forward_of(const PanelForward &a) {
  F v[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) v[j] = Vec::zero();
  float *membranes = a.membranes;
  uint8_t *above = a.above, *gate = a.gate;
  for (int t = 0; t < a.steps; ++t, above += a.row_bytes) {
    F current[V];
    gather_current<V>(a, t, current);
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

void lif_forward(const PanelForward &a) { LIF_FOR_VECTORS(a.vectors, lif_forward_of, a) }

template <int V> void leaky_forward_of(const PanelForward &a) {
  F u[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) u[j] = Vec::zero();
  float row[V * L];
  for (int t = 0; t < a.steps; ++t) {
    F current[V];
    gather_current<V>(a, t, current);
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      u[j] = Vec::add(Vec::mul(Vec::load(a.constants.decay + j * L), u[j]),
                      Vec::mul(Vec::load(a.constants.scale + j * L), current[j]));
      Vec::store(row + j * L, u[j]);
    }
    memcpy(a.readout + t * a.readout_stride, row, a.columns * sizeof(float));
  }
}

void leaky_forward(const PanelForward &a) { LIF_FOR_VECTORS(a.vectors, leaky_forward_of, a) }

// Writes the set bits' positions and returns how many.
inline int64_t list_row(const uint8_t *bits, int64_t row_bytes, int32_t *ids) {
  int64_t count = 0;
  for (int64_t byte = 0; byte < row_bytes; byte += 8)
    for (uint64_t word = load_word(bits + byte); word; word &= word - 1)
      ids[count++] = static_cast<int32_t>(8 * byte + __builtin_ctzll(word));
  return count;
}

// Copies the first `slots` set bits of `from`, less those of `except`, to `to` by OR.
inline int64_t keep_first(const uint8_t *from, const uint8_t *except, int64_t row_bytes,
                          int64_t slots, uint8_t *to) {
  int64_t count = 0;
  for (int64_t byte = 0; byte < row_bytes && count < slots; byte += 8) {
    uint64_t word = load_word(from + byte);
    if (except)
      word &= ~load_word(except + byte);
    uint64_t chosen = load_word(to + byte);
    for (; word && count < slots; word &= word - 1, ++count)
      chosen |= word & (~word + 1);
    memcpy(to + byte, &chosen, sizeof chosen);
  }
  return count;
}

void select_slots(const SlotSelection &a) {
  int32_t *ids = a.ids;
  for (int t = 0; t < a.steps; ++t) {
    const uint8_t *above = a.above + t * a.row_bytes;
    const uint8_t *gate = a.sparse ? a.gate + t * a.row_bytes : nullptr;
    int64_t reset = count_range(above, static_cast<int>(a.row_bytes));
    int64_t spikes = reset, gradient;
    const uint8_t *spiking = above;
    if (a.slots < a.neurons) {
      uint8_t *emitted = a.emitted + t * a.row_bytes, *kept = a.kept + t * a.row_bytes;
      memset(emitted, 0, a.row_bytes);
      spikes = keep_first(above, nullptr, a.row_bytes, a.slots, emitted);
      memcpy(kept, emitted, a.row_bytes);
      gradient = spikes + keep_first(gate, above, a.row_bytes, a.slots - spikes, kept);
      spiking = emitted;
    } else {
      gradient = a.sparse ? count_range(gate, static_cast<int>(a.row_bytes)) : a.neurons;
    }
    list_row(spiking, a.row_bytes, ids);
    a.begin[t] = a.first + (ids - a.ids);
    ids += spikes;
    a.end[t] = a.first + (ids - a.ids);
    if (a.sparse)
      a.kept_counts[t] = gradient;
    a.counts[2 * t * a.batch] = static_cast<float>(spikes);
    a.counts[2 * t * a.batch + 1] = static_cast<float>(gradient);
    a.dropped[t * a.batch] = static_cast<float>(reset - spikes);
  }
}

void gather(const MembraneGather &a) {
  int bytes = a.panels.width / 8;
  for (int p = 0; p < a.panels.count; ++p)
    a.position[p] = p * a.raw_stride;
  float *out = a.membranes;
  for (int t = 0; t < a.steps; ++t) {
    for (int p = 0; p < a.panels.count; ++p) {
      const uint8_t *gate = a.gate + t * a.row_bytes + p * bytes;
      const uint8_t *kept = a.kept + t * a.row_bytes + p * bytes;
      const float *raw = a.raw + a.position[p];
      int64_t count = count_range(gate, bytes);
      a.position[p] += count;
      if (memcmp(gate, kept, bytes) == 0) {
        memcpy(out, raw, count * sizeof(float));
        out += count;
        continue;
      }
      for (int byte = 0; byte < bytes; ++byte)
        for (unsigned rest = gate[byte]; rest; rest &= rest - 1, ++raw)
          if (kept[byte] & rest & (~rest + 1))
            *out++ = *raw;
    }
  }
}

void count_bits(const uint8_t *bits, int64_t rows, int64_t row_bytes, int64_t *counts) {
  for (int64_t row = 0; row < rows; ++row)
    counts[row] = count_range(bits + row * row_bytes, static_cast<int>(row_bytes));
}

void list_bits(const uint8_t *bits, int64_t rows, int64_t row_bytes, int32_t *ids) {
  for (int64_t row = 0; row < rows; ++row)
    ids += list_row(bits + row * row_bytes, row_bytes, ids);
}

template <int V> void leaky_backward_of(const LeakyBackward &a) {
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::zero();
  float row[V * L] = {};
  for (int t = a.steps - 1; t >= 0; --t) {
    memcpy(row, a.grad + t * a.grad_stride, a.columns * sizeof(float));
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      lambda[j] = Vec::add(Vec::load(row + j * L),
                           Vec::mul(Vec::load(a.constants.decay + j * L), lambda[j]));
      Vec::store(a.grad_current + t * (V * L) + j * L,
                 Vec::mul(Vec::load(a.constants.scale + j * L), lambda[j]));
    }
  }
}

void leaky_backward(const LeakyBackward &a) { LIF_FOR_VECTORS(a.vectors, leaky_backward_of, a) }

// product[k] += grad_current . weights[ids[k]]
template <int V>
inline void add_products(const float *grad_current, const float *weights, const int32_t *ids,
                         int64_t count, float *product) {
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::load(grad_current + j * L);
  for (int64_t k = 0; k < count; k += 8) {
    int64_t used = count - k < 8 ? count - k : 8;
    F sum[8];
    LIF_UNROLL for (int g = 0; g < 8; ++g) {
      // A last group that is not full sums its last row again and throws it away.
      int64_t id = ids[k + (g < used ? g : used - 1)];
      const float *row = weights + id * (V * L);
      sum[g] = Vec::mul(lambda[0], Vec::load(row));
      LIF_UNROLL for (int j = 1; j < V; ++j) sum[g] =
          Vec::fma(lambda[j], Vec::load(row + j * L), sum[g]);
    }
    float sums[8];
    Vec::sum_each(sum, sums);
    if (used == 8) {
      for (int g = 0; g < 8; ++g)
        product[k + g] += sums[g];
    } else {
      for (int64_t g = 0; g < used; ++g)
        product[k + g] += sums[g];
    }
  }
}

template <int V> void add_panel_products(const SampledProduct &a, int panel) {
  const float *weights = a.weights + static_cast<int64_t>(panel) * a.neurons * (V * L);
  const float *grad_current = a.next.grad_current + panel * a.next.rows * (V * L);
  for (int b = a.first; b < a.last; ++b)
    for (int t = 0; t + a.delay < a.steps; ++t) {
      int64_t row = static_cast<int64_t>(b) * a.steps + t, start = a.start[row];
      add_products<V>(grad_current + (row + a.delay) * (V * L), weights, a.ids + start,
                      a.start[row + 1] - start, a.product + start);
    }
}

void sampled_product(const SampledProduct &a) {
  for (int panel = 0; panel < a.next.panels.count; ++panel)
    [&] { LIF_FOR_VECTORS(a.next.panels.vectors, add_panel_products, a, panel) }();
  int64_t last = a.start[static_cast<int64_t>(a.last) * a.steps];
  for (int64_t i = a.start[static_cast<int64_t>(a.first) * a.steps]; i < last; ++i) {
    float d = a.slope * __builtin_fabsf(a.membranes[i] - a.threshold[a.ids[i]]) + 1;
    a.product[i] *= 1 / (d * d);
  }
}

// lambda <- direct + kappa lambda, and dL/dI of one row.
template <int V>
inline void step_back(const PanelBackward &a, const uint8_t *above, int j, F direct, F (&lambda)[V],
                      float *grad_current) {
  F kappa = Vec::load(a.constants.decay + j * L);
  if (!a.term)
    kappa = Vec::zero_where(Vec::mask(load_mask(above + j * L / 8)), kappa);
  lambda[j] = Vec::add(direct, Vec::mul(kappa, lambda[j]));
  Vec::store(grad_current + j * L, Vec::mul(Vec::load(a.constants.scale + j * L), lambda[j]));
}

template <int V> void sparse_backward_of(const PanelBackward &a) {
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::zero();
  int first_byte = a.first_neuron / 8;
  for (int t = a.steps - 1; t >= 0; --t) {
    const uint8_t *kept = a.kept + t * a.row_bytes;
    const uint8_t *above = a.above + t * a.row_bytes + first_byte;
    const float *product = a.product + a.start[t] + count_range(kept, first_byte);
    kept += first_byte;
    LIF_UNROLL for (int j = 0; j < V; ++j) {
      unsigned gradient = load_mask(kept + j * L / 8);
      F direct = Vec::load_expanded(product, gradient);
      product += __builtin_popcount(gradient);
      step_back<V>(a, above, j, direct, lambda, a.grad_current + t * (V * L));
    }
  }
}

void sparse_backward(const PanelBackward &a) { LIF_FOR_VECTORS(a.vectors, sparse_backward_of, a) }

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

// Adds the loss's own derivative by the spikes, which comes in slot order: spikes, then the rest.
inline void add_direct(const PanelBackward &a, int t, float *grad_spikes) {
  const uint8_t *above = a.above + t * a.row_bytes;
  const float *direct = a.grad_spikes + t * a.grad_spikes_stride;
  int64_t spikes = count_range(above, static_cast<int>(a.row_bytes));
  int64_t rank = count_range(above, a.first_neuron / 8);
  for (int n = a.first_neuron; n < a.first_neuron + a.columns; ++n) {
    bool spiking = above[n / 8] >> (n % 8) & 1;
    grad_spikes[n - a.first_neuron] += direct[spiking ? rank : spikes + n - rank];
    rank += spiking;
  }
}

template <int V> void dense_backward_of(const PanelBackward &a) {
  constexpr int W = V * L, ROWS = 6;
  F lambda[V];
  LIF_UNROLL for (int j = 0; j < V; ++j) lambda[j] = Vec::zero();
  F slope = Vec::all(a.slope), one = Vec::all(1);
  float grad_spikes[ROWS * W];
  int first_byte = a.first_neuron / 8;
  for (int t = a.steps - 1; t >= 0;) {
    int rows = t + 1 < ROWS ? t + 1 : ROWS;
    if (t + a.delay >= a.steps) {
      rows = 1;
      memset(grad_spikes, 0, W * sizeof(float));
    } else if (rows == ROWS) {
      dense_rows<V, ROWS>(a, a.first_row + t - rows + 1 + a.delay, grad_spikes);
    } else {
      for (int r = 0; r < rows; ++r)
        dense_rows<V, 1>(a, a.first_row + t - rows + 1 + r + a.delay, grad_spikes + r * W);
    }
    for (int r = rows - 1; r >= 0; --r, --t) {
      float *row = grad_spikes + r * W;
      if (a.grad_spikes)
        add_direct(a, t, row);
      const uint8_t *above = a.above + t * a.row_bytes + first_byte;
      LIF_UNROLL for (int j = 0; j < V; ++j) {
        F u = Vec::load(a.membranes + static_cast<int64_t>(t) * W + j * L);
        F distance = Vec::abs(Vec::sub(u, Vec::load(a.constants.threshold + j * L)));
        F d = Vec::add(Vec::mul(slope, distance), one);
        F phi = Vec::div(one, Vec::mul(d, d));
        F direct = Vec::mul(phi, Vec::load(row + j * L));
        step_back<V>(a, above, j, direct, lambda, a.grad_current + static_cast<int64_t>(t) * W);
      }
    }
  }
}

void dense_backward(const PanelBackward &a) { LIF_FOR_VECTORS(a.vectors, dense_backward_of, a) }

template <int V> void weight_gradient_of(const WeightGradient &a) {
  constexpr int W = V * L;
  int channels = a.last - a.first;
  memset(a.sum, 0, static_cast<size_t>(channels) * W * sizeof(float));
  for (int g = 0; g < a.groups; ++g) {
    const float *grad_current = a.grad_current + g * a.group_rows * W;
    const int64_t *start = a.start + static_cast<int64_t>(g) * (a.inputs + 1) + a.first;
    for (int i = 0; i < channels; ++i) {
      const uint32_t *row = a.rows + start[i], *end = a.rows + start[i + 1];
      if (row == end)
        continue;
      float *sum = a.sum + static_cast<int64_t>(i) * W;
      F total[V];
      LIF_UNROLL for (int j = 0; j < V; ++j) total[j] = Vec::load(sum + j * L);
      for (; row < end; ++row) {
        const float *add = grad_current + static_cast<int64_t>(*row) * W;
        LIF_UNROLL for (int j = 0; j < V; ++j) total[j] =
            Vec::add(total[j], Vec::load(add + j * L));
      }
      LIF_UNROLL for (int j = 0; j < V; ++j) Vec::store(sum + j * L, total[j]);
    }
  }
  for (int i = 0; i < channels; ++i)
    memcpy(a.grad + i * a.grad_stride, a.sum + static_cast<int64_t>(i) * W,
           a.columns * sizeof(float));
}

void weight_gradient(const WeightGradient &a) { LIF_FOR_VECTORS(a.vectors, weight_gradient_of, a) }

// The table that the including file exports.
constexpr Kernel make_kernel(const char *name) {
  return {name,
          L,
          pack,
          pack_transposed,
          lif_forward,
          leaky_forward,
          select_slots,
          gather,
          count_bits,
          list_bits,
          leaky_backward,
          sampled_product,
          sparse_backward,
          dense_backward,
          weight_gradient};
}

} // namespace

#endif
