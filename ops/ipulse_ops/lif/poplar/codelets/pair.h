// Two floats that a tile loads, adds and stores in one instruction: rows of neurons are padded to
// an even number and begin at multiples of 8 bytes.
#ifndef IPULSE_LIF_POPLAR_PAIR_H
#define IPULSE_LIF_POPLAR_PAIR_H

#include <ipudef.h>
#include <poplar/HalfFloat.hpp>

inline const float2 *pairs(const float *row) { return reinterpret_cast<const float2 *>(row); }
inline float2 *pairs(float *row) { return reinterpret_cast<float2 *>(row); }

/// Pair `at` of a row of weights, which are float or half.
inline float2 pairOf(const float *row, unsigned at) { return pairs(row)[at]; }
inline float2 pairOf(const half *row, unsigned at) {
  return float2{static_cast<float>(row[2 * at]), static_cast<float>(row[2 * at + 1])};
}

#endif
