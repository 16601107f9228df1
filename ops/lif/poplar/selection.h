// Slots for a layer's spikes (codelets/select.cpp).
#ifndef IPULSE_LIF_POPLAR_SELECTION_H
#define IPULSE_LIF_POPLAR_SELECTION_H

#include <vector>

#include <poplar/Graph.hpp>

#include "layout.h"
#include "spike_source.h"

namespace lif {

/// What the slots of a layer were at every step, [batch, time, slots] each.
struct SlotHistory {
  poplar::Tensor ids;
  poplar::Tensor counts;              // [batch, time, 2]
  poplar::Tensor dropped;             // [batch, time, 1]
  std::vector<poplar::Tensor> values; // surrogates, and membranes if those are recorded
};

class Selection {
public:
  /// thresholds [neurons]; secondThreshold may be invalid, for none. values: 1 for surrogates, 2
  /// for membranes, too.
  Selection(poplar::Graph &graph, const Surrogate &surrogate, const std::vector<Chunk> &chunks,
            const poplar::Tensor &threshold, const poplar::Tensor &secondThreshold, unsigned slots,
            unsigned values, Arrivals &arrivals);
  /// Vertices that list the candidates among membranes u [batch, neurons].
  void list(poplar::Graph &graph, poplar::ComputeSet set, const poplar::Tensor &u) const;
  /// Vertices that make them a source's slots, and row `step` of the history.
  void join(poplar::Graph &graph, poplar::ComputeSet set, const TilePlan &plan,
            const SpikeSource &source, const SlotHistory &history,
            const poplar::Tensor &step) const;

private:
  /// The lists of one chunk, [samples, ...].
  struct Lists {
    poplar::Tensor threshold, secondThreshold, table, ids, counts;
    std::vector<poplar::Tensor> values;
  };
  Surrogate surrogate;
  std::vector<Chunk> chunks;
  std::vector<Lists> lists;
  unsigned listSlots, stride;
};

} // namespace lif

#endif
