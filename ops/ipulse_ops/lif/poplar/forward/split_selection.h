// Slots of a layer that is split over IPUs: each IPU selects among its neurons and sends the ids of
// its candidates to the others, and each fills all slots from them (codelets/ranges.cpp).
#ifndef IPULSE_LIF_POPLAR_SPLIT_SELECTION_H
#define IPULSE_LIF_POPLAR_SPLIT_SELECTION_H

#include <vector>

#include <poplar/Graph.hpp>

#include "selection.h"

namespace lif {

class SplitSelection {
public:
  /// selections: of the layer's ranges, in their order. Policies "index" and "cyclic".
  SplitSelection(IpuGraphs &graph, const TilePlan &plan, unsigned layer, std::size_t batch,
                 unsigned slots, std::size_t values);
  /// Vertices that merge a range's lists on its IPU.
  void merge(IpuGraphs &graph, poplar::ComputeSet set, const std::vector<Selection> &selections,
             std::size_t batch) const;
  /// Adds the ids and counts that each IPU of the layer sends to the others.
  void addTo(Crossing &crossing) const;
  /// Vertices that make a source's slots on every IPU of the layer, and row `step` of the
  /// histories, of ranges: each has the values of its own neurons, and 0 in the other slots; ids
  /// and counts are in the first one's alone. offsets: by range, none for the policy "index".
  void join(IpuGraphs &graph, poplar::ComputeSet set, const SpikeSource &source,
            const std::vector<SlotHistory> &histories, const std::vector<poplar::Tensor> &offsets,
            const StepNumber &step) const;

private:
  /// The lists on one IPU: ids and counts of all ranges, [batch, ranges, ...], and the values of
  /// its own range, [batch, stride].
  struct Lists {
    poplar::Tensor ids, counts;
    std::vector<poplar::Tensor> values;
  };
  std::vector<Lists> lists;
  std::vector<SampleTiles> tiles;
  unsigned rangeNeurons, listSlots, stride;
};

} // namespace lif

#endif
