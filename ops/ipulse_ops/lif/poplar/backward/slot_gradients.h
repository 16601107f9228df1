// dL/ds at the slots of a source, from the tiles that its spikes go to (codelets/
// slot_gradients.cpp): part sums on each of them, added up over tiles, added up per sample.
#ifndef IPULSE_LIF_POPLAR_SLOT_GRADIENTS_H
#define IPULSE_LIF_POPLAR_SLOT_GRADIENTS_H

#include <vector>

#include <poplar/Graph.hpp>

#include "layout/neurons.h"

namespace lif {

/// Sums [groups, batch, stride] of one matrix's part sums; a group's lies on the IPU of its
/// receivers, and is all that crosses to the sender's.
class SlotSums {
public:
  SlotSums(IpuGraphs &graph, const TilePlan &plan, const Neurons &receivers, std::size_t matrix,
           const SpikeSource &source);
  /// Vertices of each receiver's part sums. gradCurrent [batch, neurons]: dL/dI.
  void partials(IpuGraphs &graph, poplar::ComputeSet set, const NeuronTensor &gradCurrent) const;
  /// Vertices that add them up.
  void sum(IpuGraphs &graph, poplar::ComputeSet set) const;
  const poplar::Tensor &sums() const { return groups; }

private:
  const Neurons *receivers;
  std::size_t matrix;
  const SpikeSource *source;
  poplar::Tensor rows;   // [tiles of receivers, batch * stride]
  poplar::Tensor groups; // [groups, batch, stride]
  struct Piece {
    Place place;
    unsigned firstRow, lastRow, group;
    std::size_t begin, end;
  };
  std::vector<Piece> pieces;
};

/// The sums [groups, stride] of a sample, over all the matrices that a source's spikes go through.
poplar::Tensor sumsOfSample(const std::vector<const SlotSums *> &all, std::size_t sample);

} // namespace lif

#endif
