// A layer on the way forward: its state, who gets its slots, and what is kept of every step.
#ifndef IPULSE_LIF_POPLAR_LAYER_RUN_H
#define IPULSE_LIF_POPLAR_LAYER_RUN_H

#include <vector>

#include <poplar/Graph.hpp>

#include "layout/neurons.h"
#include "split_selection.h"

namespace lif {

/// A layer's state, and what the whole run leaves of it.
struct LayerRun {
  Neurons neurons;
  NeuronState state;
  // Selections of a spiking layer by range of neurons, and the offsets of the policy "cyclic".
  std::vector<Selection> selection;
  std::vector<poplar::Tensor> offsets;
  std::vector<SlotHistory> slots;    // ids and counts in the first one's alone
  std::vector<SplitSelection> split; // of all of them, if there are several
  NeuronTensor membranes, resets;    // [steps * batch, neurons], [steps * words, neurons]
};

/// The values that a run stores at every step, besides ids and counts.
struct Stored {
  bool membranes;   // those that are outputs
  bool forBackward; // all that the backward pass reads
};

LayerRun newRun(IpuGraphs &graph, const Network &network, const TilePlan &plan,
                const Operands &operands, Neurons neurons, Stored stored, Arrivals &arrivals);

/// Vertices that copy or pack what the layer's tiles have into their histories.
void record(IpuGraphs &graph, poplar::ComputeSet set, const LayerRun &run, unsigned batch,
            const StepNumber &step);

} // namespace lif

#endif
