// The random words of philox.py, for whatever C++ asks for them.
#ifndef IPULSE_OPS_PHILOX_H
#define IPULSE_OPS_PHILOX_H

#include <array>
#include <cstdint>

namespace ipulse {

// The counter's last word, by use. Of philox.py's, C++ does not need DELAYS, which is 3.
constexpr uint32_t CYCLIC_OFFSET = 0, RANDOM_SPIKES = 1, DROPOUT = 2;

inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, uint64_t seed) {
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// Random from 0 to limit - 1.
inline int64_t below(uint32_t word, int64_t limit) {
  return static_cast<int64_t>((uint64_t{word} * static_cast<uint64_t>(limit)) >> 32);
}

// Where the policy cyclic begins, 0 to neurons - 1; step, layer and sample by their low words.
inline int32_t cyclic_offset(uint64_t seed, int64_t layer, int64_t step, int64_t sample,
                             int64_t neurons) {
  auto word = [](int64_t number) { return static_cast<uint32_t>(number); };
  auto words = philox4x32({word(step), word(layer), word(sample), CYCLIC_OFFSET}, seed);
  return static_cast<int32_t>(below(words[0], neurons));
}

} // namespace ipulse

#endif
