// Two floats that a tile loads, adds and stores in one instruction: rows of neurons are padded to
// an even number and begin at multiples of 8 bytes.
#ifndef IPULSE_LIF_POPLAR_PAIR_H
#define IPULSE_LIF_POPLAR_PAIR_H

#include <ipudef.h>

inline const float2 *pairs(const float *row) { return reinterpret_cast<const float2 *>(row); }
inline float2 *pairs(float *row) { return reinterpret_cast<float2 *>(row); }

#endif
