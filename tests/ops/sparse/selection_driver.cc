// Slots, offsets and ties at their edges, on arrays without a float to spare; for sanitizers.
#include "philox.h"
#include "sparse/kernels/selection.h"
#include "surrogate.h"

#include <cstdio>
#include <limits>
#include <memory>
#include <set>

namespace {

using ipulse::Policy;

std::unique_ptr<float[]> floats(int64_t count) {
  return std::unique_ptr<float[]>(new float[static_cast<size_t>(count)]);
}

// Returns true if the selection obeys the rules. A second threshold of -1 gates, NULL does not.
bool right(int32_t neurons, int32_t slots, Policy policy, bool gated, uint64_t seed) {
  auto u = floats(neurons), threshold = floats(neurons), second = floats(neurons),
       ids = floats(slots);
  int32_t above = 0, candidates = 0;
  for (int32_t n = 0; n < neurons; ++n) {
    auto words = ipulse::philox4x32({static_cast<uint32_t>(n), 0, 0, 0}, seed);
    // Quarters, so that membranes meet thresholds and each other, and now and then no number.
    u[n] = words[1] % 16 ? static_cast<float>(ipulse::below(words[0], 17) - 8) / 4
                         : std::numeric_limits<float>::quiet_NaN();
    threshold[n] = 1;
    second[n] = -1;
    above += u[n] > 1;
    candidates += u[n] > 1 || !gated || u[n] > -1;
  }
  int32_t offset = policy == Policy::CYCLIC ? ipulse::cyclic_offset(seed, 1, 2, 3, neurons) : 0;
  ipulse::Selection select(neurons, slots, policy);
  for (int call = 0; call < 2; ++call) { // it is used again
    auto got = select(u.get(), threshold.get(), gated ? second.get() : nullptr, offset, ids.get());
    if (got.spikes != std::min(above, slots) || got.dropped != above - got.spikes ||
        got.filled != std::min(candidates, slots))
      return false;
    std::set<int32_t> seen;
    for (int32_t k = 0; k < slots; ++k) {
      auto id = static_cast<int32_t>(ids[k]);
      if (k >= got.filled ? id != 0 : id < 0 || id >= neurons || !seen.insert(id).second)
        return false;
      if (k < got.filled && (u[id] > 1) != (k < got.spikes))
        return false;
      if (k && k != got.spikes && k < got.filled && ids[k] <= ids[k - 1])
        return false;
    }
    for (int32_t n = 0; policy == Policy::TOP && n < neurons && got.spikes; ++n)
      for (int32_t k = 0; k < got.spikes; ++k)
        if (u[n] > u[static_cast<int32_t>(ids[k])] && !seen.count(n))
          return false;
  }
  return true;
}

bool surrogates_are_numbers() {
  auto values = floats(2);
  values[0] = 0.25f;
  values[1] = 1;
  for (float x : {0.0f, 1.0f, -1.0f, 1e-45f, 1e38f, -1e38f, std::numeric_limits<float>::infinity()})
    for (float y : {superspike_at(20, x), arctan_at(20, x), boxcar_at(0.5f, x),
                    exponential_at(20, x), table_at(values.get(), 2, 1, x)})
      if (!(y >= 0 && y <= 1))
        return false;
  return table_at(values.get(), 2, 1, -1) == 0.25f && table_at(values.get(), 2, 1, 1) == 1;
}

} // namespace

int main() {
  int tried = 0;
  for (int32_t neurons : {1, 2, 7, 64, 129})
    for (int32_t slots : {1, 2, 7, 64, 200})
      for (Policy policy : {Policy::INDEX, Policy::CYCLIC, Policy::TOP})
        for (bool gated : {false, true})
          for (uint64_t seed = 0; seed < 8; ++seed, ++tried)
            if (!right(neurons, slots, policy, gated, seed)) {
              std::printf("wrong: %d neurons, %d slots, policy %d, %d, seed %d\n", neurons, slots,
                          static_cast<int>(policy), gated, static_cast<int>(seed));
              return 1;
            }
  std::printf("%d\n", tried);
  return surrogates_are_numbers() ? 0 : 2;
}
