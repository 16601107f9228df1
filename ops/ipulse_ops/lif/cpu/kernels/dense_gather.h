// The gradient of every input of a convolution: products of all channels at several places at once.
#ifndef IPULSE_OPS_LIF_CPU_CONV_DENSE_GATHER_H
#define IPULSE_OPS_LIF_CPU_CONV_DENSE_GATHER_H

#include "kernels/arguments/conv.h"
#include "vectors.h"

namespace {

// Sixteen channels at each of PLACES places, summed over the outputs in their order.
template <int PLACES>
inline void gather_tile(const ConvPlaces &group, int32_t from, const float *weights, int64_t width,
                        const float *plane, float *out) {
  constexpr int VECTORS = CONV_LANES / L;
  F sum[PLACES][VECTORS];
  const float *first[PLACES];
  LIF_UNROLL for (int p = 0; p < PLACES; ++p) {
    first[p] = plane + group.first[from + p];
    LIF_UNROLL for (int j = 0; j < VECTORS; ++j) sum[p][j] = Vec::zero();
  }
  for (int32_t s = 0; s < group.segments; ++s) {
    const ConvSegment &segment = group.segment[s];
    const float *row = weights + segment.row * width;
    for (int32_t i = segment.target; i < segment.target + segment.floats; ++i, row += width) {
      F w[VECTORS];
      LIF_UNROLL for (int j = 0; j < VECTORS; ++j) w[j] = Vec::load(row + j * L);
      LIF_UNROLL for (int p = 0; p < PLACES; ++p) {
        const F at = Vec::all(first[p][i]);
        LIF_UNROLL for (int j = 0; j < VECTORS; ++j) sum[p][j] =
            Vec::add(sum[p][j], Vec::mul(at, w[j]));
      }
    }
  }
  LIF_UNROLL for (int p = 0; p < PLACES; ++p) LIF_UNROLL for (int j = 0; j < VECTORS; ++j)
      Vec::store(out + group.place[from + p] * width + j * L, sum[p][j]);
}

void conv_gather_places(const ConvPlaces &group, const float *weights, int64_t width,
                        const float *plane, float *out) {
  constexpr int MOST = L >= CONV_LANES ? 12 : 4; // sums that fit into the registers
  for (int64_t channel = 0; channel < width; channel += CONV_LANES) {
    int32_t p = 0;
    for (; p + MOST <= group.places; p += MOST)
      gather_tile<MOST>(group, p, weights + channel, width, plane, out + channel);
    if constexpr (MOST > 4)
      for (; p + 4 <= group.places; p += 4)
        gather_tile<4>(group, p, weights + channel, width, plane, out + channel);
    for (; p + 2 <= group.places; p += 2)
      gather_tile<2>(group, p, weights + channel, width, plane, out + channel);
    if (p < group.places)
      gather_tile<1>(group, p, weights + channel, width, plane, out + channel);
  }
}

} // namespace

#endif
