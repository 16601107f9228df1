// Rows of floats as pairs, for codelets.
#ifndef IPULSE_EXAMPLES_PAIRS_H
#define IPULSE_EXAMPLES_PAIRS_H

#include <ipudef.h>

inline const float2 *pairs(const float *row) { return reinterpret_cast<const float2 *>(row); }
inline float2 *pairs(float *row) { return reinterpret_cast<float2 *>(row); }

#endif
