// Sums of blocks of matrices.
#ifndef IPULSE_OPS_LIF_CPU_BLOCKS_H
#define IPULSE_OPS_LIF_CPU_BLOCKS_H

#include "vectors.h"

namespace {

template <int TERMS> inline void add_blocks_of(const BlockSum &a) {
  F sign[TERMS];
  LIF_UNROLL for (int k = 0; k < TERMS; ++k) sign[k] = Vec::all(a.sign[k]);
  for (int64_t i = 0; i < a.count; i += L) {
    F sum = Vec::mul(sign[0], Vec::load(a.from[0] + i));
    LIF_UNROLL for (int k = 1; k < TERMS; ++k) sum =
        Vec::fma(sign[k], Vec::load(a.from[k] + i), sum);
    Vec::store(a.to + i, sum);
  }
}

void add_blocks(const BlockSum &a) {
  switch (a.terms) {
  case 1:
    return add_blocks_of<1>(a);
  case 2:
    return add_blocks_of<2>(a);
  default:
    return add_blocks_of<4>(a);
  }
}

template <int TERMS> inline void spread_block_of(const BlockSpread &a) {
  F sign[TERMS];
  LIF_UNROLL for (int k = 0; k < TERMS; ++k) sign[k] = Vec::all(a.sign[k]);
  for (int64_t i = 0; i < a.count; i += L) {
    F one = Vec::load(a.from + i);
    LIF_UNROLL for (int k = 0; k < TERMS; ++k)
        Vec::store(a.to[k] + i, Vec::fma(sign[k], one, Vec::load(a.to[k] + i)));
  }
}

void spread_block(const BlockSpread &a) {
  switch (a.terms) {
  case 1:
    return spread_block_of<1>(a);
  case 2:
    return spread_block_of<2>(a);
  default:
    return spread_block_of<4>(a);
  }
}

} // namespace

#endif
