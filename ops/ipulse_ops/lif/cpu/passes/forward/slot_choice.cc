#include "slot_choice.h"

#include <algorithm>
#include <cstring>

#include "interface/lif.h"
#include "kernels/word.h"

namespace lif {
namespace {

// Moves those who get one of `slots` to the front of ids, which ascend; returns how many.
int64_t choose(const SlotChoice &c, int64_t slots, std::vector<int32_t> &ids) {
  auto count = static_cast<int64_t>(ids.size());
  if (count <= slots)
    return count;
  if (c.policy == LIF_POLICY_CYCLIC)
    std::rotate(ids.begin(), std::lower_bound(ids.begin(), ids.end(), c.offset), ids.end());
  if (c.policy == LIF_POLICY_TOP)
    std::nth_element(ids.begin(), ids.begin() + slots, ids.end(), [&](int32_t a, int32_t b) {
      return c.u[a] > c.u[b] || (c.u[a] == c.u[b] && a < b);
    });
  return slots;
}

void set(uint8_t *bits, int32_t id) {
  bits[id / 8] = static_cast<uint8_t>(bits[id / 8] | 1 << (id % 8));
}

} // namespace

void choose_slots(const SlotChoice &c, std::vector<int32_t> &ids) {
  memset(c.emitted, 0, c.row_bytes);
  memset(c.kept, 0, c.row_bytes);
  int64_t free = c.slots;
  for (bool spiking : {true, false}) {
    ids.clear();
    for (int64_t byte = 0; byte < c.row_bytes; byte += 8) {
      uint64_t above = load_word(c.above + byte);
      for (uint64_t word = spiking ? above : load_word(c.gate + byte) & ~above; word;
           word &= word - 1)
        ids.push_back(static_cast<int32_t>(8 * byte + __builtin_ctzll(word)));
    }
    int64_t count = choose(c, free, ids);
    free -= count;
    for (int64_t k = 0; k < count; ++k) {
      set(c.kept, ids[k]);
      if (spiking)
        set(c.emitted, ids[k]);
    }
  }
}

} // namespace lif
