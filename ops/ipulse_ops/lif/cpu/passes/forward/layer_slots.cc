#include "layer_slots.h"

#include <algorithm>

#include "philox.h"
#include "slot_choice.h"
#include "support/pool.h"

namespace lif {

int64_t LayerSlots::spikes_of(int64_t b) const {
  const uint8_t *above = bits_.above + b * n_.steps * bits_.row_bytes;
  if (!is_truncated(layer_))
    return kernel_.count_bits(above, n_.steps * bits_.row_bytes);
  int64_t count = 0;
  for (int t = 0; t < n_.steps; ++t, above += bits_.row_bytes)
    count += std::min<int64_t>(kernel_.count_bits(above, bits_.row_bytes), layer_.slots);
  return count;
}

void LayerSlots::choose(int b, int t, const float *u, std::vector<int32_t> &ids) const {
  int64_t place = (int64_t(b) * n_.steps + t) * bits_.row_bytes;
  SlotChoice c{};
  c.slots = layer_.slots;
  c.policy = layer_.policy;
  if (c.policy == LIF_POLICY_CYCLIC)
    c.offset = ipulse::cyclic_offset(n_.seed, number_, t, b, layer_.neurons);
  c.u = u;
  c.row_bytes = bits_.row_bytes;
  c.above = bits_.above + place;
  c.gate = gate_ + place;
  c.emitted = bits_.emitted + place;
  c.kept = bits_.kept + place;
  choose_slots(c, ids);
}

std::unique_ptr<Spikes> LayerSlots::select(bool chosen, const LifForward &result,
                                           int64_t *kept) const {
  std::unique_ptr<Spikes> spikes(new Spikes(rows_));
  Buffer<int64_t> first(n_.batch + 1);
  int64_t row_bytes = bits_.row_bytes;
  parallel_for_runs(threads_, n_.batch, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b)
      first[b] = spikes_of(b);
  });
  spikes->lay_samples(first.get(), n_.batch, n_.steps);
  bool choosing = !chosen && is_truncated(layer_) && layer_.policy != LIF_POLICY_INDEX;
  auto select_sample = [&](int64_t b) {
    std::vector<int32_t> ids;
    for (int t = 0; choosing && t < n_.steps; ++t)
      choose(static_cast<int>(b), t, nullptr, ids);
    int64_t row = b * n_.steps, place = row * row_bytes;
    SlotSelection a;
    a.steps = n_.steps;
    a.neurons = layer_.neurons;
    a.slots = layer_.slots;
    a.sparse = is_sparse(layer_);
    a.chosen = chosen || choosing;
    a.row_bytes = row_bytes;
    a.above = bits_.above + place;
    a.gate = gate_ ? gate_ + place : nullptr;
    a.kept = bits_.kept ? bits_.kept + place : nullptr;
    a.emitted = bits_.emitted + place;
    a.ids = spikes->storage->get() + first[b];
    a.ids_end = spikes->storage->get() + first[b + 1];
    a.first = first[b];
    a.start = &spikes->start[row];
    a.kept_counts = kept + row;
    a.counts = result.counts[number_] + 2 * b;
    a.dropped = result.dropped[number_] + b;
    a.batch = n_.batch;
    kernel_.select(a);
  };
  parallel_for_runs(threads_, n_.batch, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b)
      select_sample(b);
  });
  if (is_sparse(layer_))
    lay_end_to_end(kept, rows_);
  return spikes;
}

} // namespace lif
