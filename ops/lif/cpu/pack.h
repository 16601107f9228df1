// Weights as panels, and transposed as panels.
#ifndef IPULSE_OPS_LIF_CPU_PACK_H
#define IPULSE_OPS_LIF_CPU_PACK_H

#include "vectors.h"

namespace {

void pack(const float *weights, int64_t rows, int64_t columns, int first, int width, float *panel) {
  int64_t used = columns - first < width ? columns - first : width;
  constexpr int64_t ahead = 8; // rows to fetch: they lie too far apart for the machine to guess
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; i + ahead < rows && j < used; j += LINE)
      __builtin_prefetch(weights + (i + ahead) * columns + first + j);
    memcpy(panel + i * width, weights + i * columns + first, used * sizeof(float));
    for (int64_t j = used; j < width; ++j)
      panel[i * width + j] = 0;
  }
}

// In strips, see dense_product.h.
void pack_transposed(const float *weights, int64_t rows, int64_t columns, int first, int width,
                     float *panel) {
  int strip = Vec::product_vectors * L < width ? Vec::product_vectors * L : width;
  constexpr int64_t block = LINE;
  for (int c = 0; c < width; c += strip, panel += strip * columns) {
    int64_t used = rows - first - c < strip ? rows - first - c : strip;
    const float *corner = weights + (first + c) * columns;
    for (int64_t j0 = 0; j0 < columns; j0 += block) {
      int64_t j1 = j0 + block < columns ? j0 + block : columns;
      for (int64_t i = 0; i < used; ++i) {
        const float *row = corner + i * columns;
        __builtin_prefetch(row + j0 + 4 * block);
        for (int64_t j = j0; j < j1; ++j)
          panel[j * strip + i] = row[j];
      }
      for (int64_t j = j0; j < j1; ++j)
        for (int64_t i = used > 0 ? used : 0; i < strip; ++i)
          panel[j * strip + i] = 0;
    }
  }
}

} // namespace

#endif
