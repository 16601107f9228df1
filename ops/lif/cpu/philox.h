// Philox4x32-10, the counter-based random numbers of ../../philox.py.
#ifndef IPULSE_OPS_LIF_CPU_PHILOX_H
#define IPULSE_OPS_LIF_CPU_PHILOX_H

#include <cstdint>

namespace lif {

// The counter's last word, of the policy cyclic; the others are step, layer and sample.
constexpr uint32_t PHILOX_CYCLIC_OFFSET = 0;

// The first of the four random words at a counter.
inline uint32_t philox_first_word(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                                  uint64_t seed) {
  auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{c0} * 0xD2511F53u, product1 = uint64_t{c2} * 0xCD9E8D57u;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(product1);
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(product0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c0;
}

// Where the policy cyclic begins, 0 to neurons - 1.
inline int cyclic_offset(uint64_t seed, int layer, int step, int sample, int neurons) {
  uint32_t word = philox_first_word(static_cast<uint32_t>(step), static_cast<uint32_t>(layer),
                                    static_cast<uint32_t>(sample), PHILOX_CYCLIC_OFFSET, seed);
  return static_cast<int>(uint64_t{word} * static_cast<uint32_t>(neurons) >> 32);
}

} // namespace lif

#endif
