// Sums of blocks of matrices.
#ifndef IPULSE_OPS_LIF_CPU_BLOCKS_H
#define IPULSE_OPS_LIF_CPU_BLOCKS_H

#include "seven_products.h"
#include "vectors.h"

namespace {

inline F add_signed(int sign, F sum, F term) {
  return sign > 0 ? Vec::add(sum, term) : sign < 0 ? Vec::sub(sum, term) : sum;
}

template <const SevenProducts &SIGN> inline void add_blocks_of(const BlockSums a) {
  for (int64_t i = 0; i < a.count; i += L) {
    F block[4];
    LIF_UNROLL for (int k = 0; k < 4; ++k) block[k] = Vec::load(a.from[k] + i);
    LIF_UNROLL for (int s = 0; s < 7; ++s) {
      F sum = Vec::zero();
      LIF_UNROLL for (int k = 0; k < 4; ++k) sum = add_signed(SIGN[s][k], sum, block[k]);
      Vec::store(a.to + s * a.stride + i, sum);
    }
  }
}

void add_blocks(const BlockSums &a) {
  return a.right ? add_blocks_of<RIGHT>(a) : add_blocks_of<LEFT>(a);
}

void spread_products(const ProductSpread &spread) {
  const ProductSpread a = spread; // a stored vector may alias anything behind a reference
  for (int64_t i = 0; i < a.count; i += L) {
    F product[7];
    LIF_UNROLL for (int s = 0; s < 7; ++s) product[s] = Vec::load(a.from + s * a.stride + i);
    LIF_UNROLL for (int k = 0; k < 4; ++k) {
      F sum = Vec::zero();
      LIF_UNROLL for (int s = 0; s < 7; ++s) sum = add_signed(RESULT[s][k], sum, product[s]);
      Vec::store(a.to[k] + i, sum);
    }
  }
}

} // namespace

#endif
