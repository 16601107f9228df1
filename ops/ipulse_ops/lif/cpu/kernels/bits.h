// Rows of bits, word by word.
#ifndef IPULSE_OPS_LIF_CPU_BITS_H
#define IPULSE_OPS_LIF_CPU_BITS_H

#include "vectors.h"
#include "word.h"

namespace {

inline unsigned load_mask(const uint8_t *bits) {
  uint16_t mask = 0;
  memcpy(&mask, bits, L / 8);
  return mask;
}

inline void store_mask(uint8_t *bits, unsigned mask) {
  uint16_t narrow = static_cast<uint16_t>(mask);
  memcpy(bits, &narrow, L / 8);
}

// The mask of the other lanes.
inline Vec::M mask_but(unsigned bits) { return Vec::mask(~bits & ((1u << L) - 1)); }

inline int64_t count_range(const uint8_t *bits, int64_t bytes) {
  int64_t count = 0;
  for (; bytes >= 8; bytes -= 8, bits += 8)
    count += __builtin_popcountll(load_word(bits));
  for (; bytes > 0; --bytes, ++bits)
    count += __builtin_popcount(*bits);
  return count;
}

} // namespace

#endif
