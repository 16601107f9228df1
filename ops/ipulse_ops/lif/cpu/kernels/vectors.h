// Helpers of all inner loops: the vector type `Vec`, which the including file defines in an unnamed
// namespace, and the widths of panels as template arguments.
#ifndef IPULSE_OPS_LIF_CPU_VECTORS_H
#define IPULSE_OPS_LIF_CPU_VECTORS_H

#include <cstring>

#include "kernel.h"

#if defined(__clang__)
#define LIF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LIF_UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

using namespace lif;
using F = Vec::F;
constexpr int L = Vec::lanes;
constexpr int LINE = 16; // floats of a cache line
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

// Words of 32 bits in a row of a packed panel; see kernel.h.
template <int V, bool NARROW> constexpr int ROW = NARROW ? (V + 1) / 2 * L : V * L;

// Calls use(j, weights) for every vector of a packed row.
template <int V, bool NARROW, class Use> inline void for_weights(const float *row, Use use) {
  if constexpr (NARROW) {
    LIF_UNROLL for (int j = 0; j < V; j += 2) {
      F first, second;
      Vec::load_pair(row + j / 2 * L, first, second);
      use(j, first);
      if (j + 1 < V)
        use(j + 1, second);
    }
  } else {
    LIF_UNROLL for (int j = 0; j < V; ++j) use(j, Vec::load(row + j * L));
  }
}

// Vector j of a row of `columns` floats, without what is behind them: zeros are read there.
inline F load_columns(const float *row, int columns, int j) {
  int rest = columns - j * L;
  return rest >= L  ? Vec::load(row + j * L)
         : rest > 0 ? Vec::load_first(row + j * L, rest)
                    : Vec::zero();
}

inline void store_columns(float *row, int columns, int j, F a) {
  int rest = columns - j * L;
  if (rest >= L)
    Vec::store(row + j * L, a);
  else if (rest > 0)
    Vec::store_first(row + j * L, rest, a);
}

} // namespace

#endif
