// Sums of blocks of matrices.
#ifndef IPULSE_OPS_LIF_CPU_BLOCKS_H
#define IPULSE_OPS_LIF_CPU_BLOCKS_H

#include "kernels/vectors.h"
#include "seven_products.h"

namespace {

inline F add_signed(int sign, F sum, F one) {
  return sign > 0 ? Vec::add(sum, one) : sign < 0 ? Vec::sub(sum, one) : sum;
}

template <int TERMS, const SevenProducts &SIGN> inline void add_blocks_of(const BlockSums a) {
  F sign[TERMS];
  LIF_UNROLL for (int t = 0; t < TERMS; ++t) sign[t] = Vec::all(a.sign[t]);
  for (int64_t i = 0; i < a.count; i += L) {
    F block[4];
    LIF_UNROLL for (int k = 0; k < 4; ++k) {
      block[k] = Vec::mul(sign[0], Vec::load(a.from[0][k] + i));
      LIF_UNROLL for (int t = 1; t < TERMS; ++t) block[k] =
          Vec::fma(sign[t], Vec::load(a.from[t][k] + i), block[k]);
    }
    LIF_UNROLL for (int s = 0; s < 7; ++s) {
      F sum = Vec::zero();
      LIF_UNROLL for (int k = 0; k < 4; ++k) sum = add_signed(SIGN[s][k], sum, block[k]);
      if (a.copies || !is_copy(SIGN[s]))
        Vec::store(a.to + s * a.stride + i, sum);
    }
  }
}

void add_blocks(const BlockSums &a) {
  if (a.right)
    return a.terms == 1 ? add_blocks_of<1, RIGHT>(a) : add_blocks_of<2, RIGHT>(a);
  return a.terms == 1 ? add_blocks_of<1, LEFT>(a) : add_blocks_of<2, LEFT>(a);
}

// ADDED: how many terms, the last ones, have been written before.
template <int TERMS, int ADDED> inline void spread_products_of(const ProductSpread a) {
  F sign[TERMS];
  LIF_UNROLL for (int t = 0; t < TERMS; ++t) sign[t] = Vec::all(a.sign[t]);
  for (int64_t i = 0; i < a.count; i += L) {
    F product[7], block[4];
    LIF_UNROLL for (int s = 0; s < 7; ++s) product[s] = Vec::load(a.from + s * a.stride + i);
    LIF_UNROLL for (int k = 0; k < 4; ++k) {
      block[k] = Vec::zero();
      LIF_UNROLL for (int s = 0; s < 7; ++s) block[k] =
          add_signed(RESULT[s][k], block[k], product[s]);
    }
    LIF_UNROLL for (int t = 0; t < TERMS; ++t) LIF_UNROLL for (int k = 0; k < 4; ++k) {
      float *to = a.to[t][k] + i;
      F old = t < TERMS - ADDED ? Vec::zero() : Vec::load(to);
      Vec::store(to, Vec::fma(sign[t], block[k], old));
    }
  }
}

void spread_products(const ProductSpread &a) {
  if (a.terms == 1)
    return a.adds[0] ? spread_products_of<1, 1>(a) : spread_products_of<1, 0>(a);
  if (a.adds[0])
    return spread_products_of<2, 2>(a);
  return a.adds[1] ? spread_products_of<2, 1>(a) : spread_products_of<2, 0>(a);
}

} // namespace

#endif
