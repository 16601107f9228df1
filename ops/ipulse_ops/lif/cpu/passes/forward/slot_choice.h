// Chooses the neurons that fill the slots of a row, by a policy of reference/select_spikes.py.
#ifndef IPULSE_OPS_LIF_CPU_SLOT_CHOICE_H
#define IPULSE_OPS_LIF_CPU_SLOT_CHOICE_H

#include <cstdint>
#include <vector>

namespace lif {

struct SlotChoice {
  int slots, policy;
  int offset;     // of the policy cyclic
  const float *u; // [neurons], of the policy top
  int64_t row_bytes;
  const uint8_t *above, *gate;
  uint8_t *emitted; // written: the spikes in slots
  uint8_t *kept;    // written: the neurons in slots
};

// scratch: kept from row to row, so that it is allocated once.
void choose_slots(const SlotChoice &choice, std::vector<int32_t> &scratch);

} // namespace lif

#endif
