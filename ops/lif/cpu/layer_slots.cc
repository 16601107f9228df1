#include "layer_slots.h"

#include <algorithm>

#include "../../philox.h"
#include "pool.h"
#include "slot_choice.h"

namespace lif {

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
  Buffer<int64_t> above(rows_), first(n_.batch + 1);
  int64_t row_bytes = bits_.row_bytes;
  parallel_for_runs(threads_, n_.batch, [&](int64_t begin, int64_t end, int) {
    int64_t row = begin * n_.steps;
    kernel_.count_bits(bits_.above + row * row_bytes, (end - begin) * n_.steps, row_bytes,
                       &above[row]);
    for (int64_t b = begin; b < end; ++b) {
      first[b] = 0;
      for (row = b * n_.steps; row < (b + 1) * n_.steps; ++row)
        first[b] += std::min<int64_t>(above[row], layer_.slots);
    }
  });
  lay_end_to_end(first.get(), n_.batch);
  spikes->start[rows_] = first[n_.batch];
  spikes->storage.reset(new Buffer<int32_t>(first[n_.batch]));
  spikes->ids = spikes->storage->get();
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
