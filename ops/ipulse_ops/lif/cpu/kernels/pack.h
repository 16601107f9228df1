// Weights as panels, and transposed as panels.
#ifndef IPULSE_OPS_LIF_CPU_PACK_H
#define IPULSE_OPS_LIF_CPU_PACK_H

#include "vectors.h"

namespace {

// To the nearest, ties to even: the sixteen bits.
inline uint32_t to_bfloat16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000;
  return (value == value ? rounded : nan) >> 16;
}

// The first `used` of a row's weights; zeros follow.
inline void pack_narrow_row(const float *weights, int64_t used, int width, float *row) {
  uint32_t rounded[MAX_WIDTH + L]; // one vector has no other to share its words with
  for (int64_t j = 0; j < used; ++j)
    rounded[j] = to_bfloat16(weights[j]);
  for (int64_t j = used; j < width + L; ++j)
    rounded[j] = 0;
  for (int j = 0; j < width; j += 2 * L) {
    uint32_t words[L];
    for (int i = 0; i < L; ++i)
      words[i] = rounded[j + i] | rounded[j + L + i] << 16;
    memcpy(row + j / 2, words, sizeof words);
  }
}

inline void round_to_bfloat16(float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = to_bfloat16(values[i]) << 16;
    memcpy(values + i, &bits, sizeof bits);
  }
}

void pack(const float *weights, int64_t rows, int64_t columns, int first, int width, int storage,
          float *panel) {
  int64_t used = columns - first < width ? columns - first : width;
  used = used > 0 ? used : 0;  // a panel may be all padding
  constexpr int64_t ahead = 8; // rows to fetch: they lie too far apart for the machine to guess
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; i + ahead < rows && j < used; j += LINE)
      __builtin_prefetch(weights + (i + ahead) * columns + first + j);
    const float *row = weights + i * columns + first;
    if (storage == LIF_WEIGHTS_BFLOAT16) {
      pack_narrow_row(row, used, width, panel);
      panel += width > L ? width / 2 : L;
      continue;
    }
    memcpy(panel, row, used * sizeof(float));
    for (int64_t j = used; j < width; ++j)
      panel[j] = 0;
    panel += width;
  }
}

// L rows of L floats as columns.
inline void transpose_tile(const float *from, int64_t stride, float *to, int64_t to_stride) {
  F rows[L], mixed[L];
  LIF_UNROLL for (int i = 0; i < L; ++i) rows[i] = Vec::load(from + i * stride);
  // Each round halves the distance at which neighbours of a column lie.
  LIF_UNROLL for (int distance = 1; distance < L; distance *= 2) {
    LIF_UNROLL for (int i = 0; i < L / 2; ++i) {
      mixed[2 * i] = rows[i];
      mixed[2 * i + 1] = rows[i + L / 2];
      Vec::interleave(mixed[2 * i], mixed[2 * i + 1]);
    }
    LIF_UNROLL for (int i = 0; i < L; ++i) rows[i] = mixed[i];
  }
  LIF_UNROLL for (int i = 0; i < L; ++i) Vec::store(to + i * to_stride, rows[i]);
}

// The first `used` of a strip's neurons, rows of `columns` weights that lie `stride` apart, as its
// columns, [columns][strip]; zeros follow.
void transpose(const float *weights, int64_t stride, int64_t used, int64_t columns, int strip,
               int storage, float *to) {
  // Few rows at a time: where they lie a power of two apart, more fetched ahead would drive each
  // other out of the caches.
  for (int64_t i0 = 0; i0 < used; i0 += LINE) {
    int64_t i1 = i0 + LINE < used ? i0 + LINE : used;
    for (int64_t j0 = 0; j0 < columns; j0 += LINE) {
      int64_t j1 = j0 + LINE < columns ? j0 + LINE : columns;
      for (int64_t i = i0; i < i1; ++i) {
        const float *row = weights + i * stride;
        // The next rows and, after the last row, the next columns of the first rows.
        __builtin_prefetch(i + LINE < used ? row + LINE * stride + j0
                                           : row - (used - LINE) * stride + columns + j0);
        if (i1 - i0 == LINE && j1 - j0 == LINE) {
          if ((i - i0) % L == 0)
            for (int64_t j = j0; j < j1; j += L)
              transpose_tile(row + j, stride, to + j * strip + i, strip);
        } else {
          for (int64_t j = j0; j < j1; ++j)
            to[j * strip + i] = row[j];
        }
      }
    }
  }
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = used > 0 ? used : 0; i < strip; ++i)
      to[j * strip + i] = 0;
  if (storage == LIF_WEIGHTS_BFLOAT16)
    round_to_bfloat16(to, columns * strip);
}

// In strips, see dense_product.h.
void pack_transposed(const float *weights, int64_t rows, int64_t columns, int first, int width,
                     int storage, float *panel) {
  int strip = Vec::product_vectors * L < width ? Vec::product_vectors * L : width;
  constexpr int64_t block = 4 * LINE;
  for (int c = 0; c < width; c += strip) {
    int64_t used = rows - first - c < strip ? rows - first - c : strip;
    for (int64_t j = 0; j < columns; j += block)
      transpose(weights + (first + c) * columns + j, columns, used,
                columns - j < block ? columns - j : block, strip, storage,
                panel + (c * columns + j * strip));
  }
}

} // namespace

#endif
