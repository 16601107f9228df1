// 64 bits of a set of neurons, which need not be aligned.
#ifndef IPULSE_OPS_LIF_CPU_WORD_H
#define IPULSE_OPS_LIF_CPU_WORD_H

#include <cstdint>
#include <cstring>

namespace { // each file's own: they are compiled for different instruction sets

inline uint64_t load_word(const uint8_t *bits) {
  uint64_t word;
  memcpy(&word, bits, sizeof word);
  return word;
}

} // namespace

#endif
