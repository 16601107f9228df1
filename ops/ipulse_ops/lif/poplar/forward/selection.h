// Slots for a layer's spikes (codelets/select.cpp).
#ifndef IPULSE_LIF_POPLAR_SELECTION_H
#define IPULSE_LIF_POPLAR_SELECTION_H

#include <functional>
#include <vector>

#include <poplar/Graph.hpp>

#include "layout/layout.h"
#include "layout/seed_copies.h"
#include "layout/spike_source.h"

namespace lif {

/// The slots of a layer at every step, [batch, time, slots] each.
struct SlotHistory {
  poplar::Tensor ids;
  poplar::Tensor counts;              // [batch, time, 2]
  poplar::Tensor dropped;             // [batch, time, 1]
  std::vector<poplar::Tensor> values; // surrogates, and membranes if those are recorded
};

/// In cycles, of a vertex that puts candidates of so many lists into slots, not by policy "top".
double joinCost(std::size_t lists, unsigned listSlots, unsigned slots, bool cyclic);

/// A sample's candidates, of one chunk or of several, one after another.
struct Candidates {
  poplar::Tensor ids, counts; // [lists, stride], [lists, 2]: spiking, others listed
  std::vector<poplar::Tensor> values;
};

/// The selection among the neurons of a layer on one IPU.
class Selection {
public:
  /// thresholds [neurons] of the layer; secondThreshold may be invalid, for none. membranes:
  /// whether they are recorded, too. layer: its name in TilePlan::names.
  Selection(IpuGraphs &graph, const Surrogate &surrogate, Policy policy, const Range &range,
            const poplar::Tensor &threshold, const poplar::Tensor &secondThreshold, unsigned slots,
            bool membranes, Arrivals &arrivals, const std::string &layer);
  /// Where the policy "cyclic" begins, of every sample, unsigned int [batch]. May lie anywhere;
  /// without it, at neuron 0.
  void beginAt(const poplar::Tensor &given) { offsets = given; }
  /// Vertices that list the candidates among membranes u [batch, neurons] of the layer.
  void list(IpuGraphs &graph, poplar::ComputeSet set, const poplar::Tensor &u) const;
  /// Vertices that put the chunks' lists of a sample into one of `size` slots; `made(b)` is that
  /// of sample b, tiles[b] where it lies.
  void merge(IpuGraphs &graph, poplar::ComputeSet set, const SampleTiles &tiles, std::size_t batch,
             unsigned size, const std::function<Candidates(std::size_t)> &made) const;
  /// Vertices that make them a source's slots, and row `step` of the history; they must be all of
  /// the layer's.
  void join(IpuGraphs &graph, poplar::ComputeSet set, const TilePlan &plan,
            const SpikeSource &source, const SlotHistory &history, const StepNumber &step) const;

private:
  /// The lists of one chunk, [samples, ...].
  struct Lists {
    poplar::Tensor threshold, secondThreshold, table, ids, counts;
    std::vector<poplar::Tensor> values;
  };
  poplar::Tensor offsetsOf(IpuGraphs &graph, const Chunk &chunk) const;
  poplar::Tensor offsetOf(IpuGraphs &graph, std::size_t sample, Place place) const;
  Candidates ofSample(std::size_t sample) const;
  Surrogate surrogate;
  Policy policy;
  Range range;
  std::vector<Lists> lists; // of its chunks
  poplar::Tensor offsets;
  unsigned listSlots, stride;
};

/// Vertices that draw a layer's offsets [batch] of the step, each on its sample's tile.
void drawOffsets(IpuGraphs &graph, poplar::ComputeSet set, const SampleTiles &tiles,
                 unsigned neurons, const SeedCopies &seed, const StepNumber &step,
                 const poplar::Tensor &offsets);

} // namespace lif

#endif
