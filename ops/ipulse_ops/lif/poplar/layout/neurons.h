// The neurons of a layer on their tiles: constants, weights, state.
#ifndef IPULSE_LIF_POPLAR_NEURONS_H
#define IPULSE_LIF_POPLAR_NEURONS_H

#include <vector>

#include <poplar/Graph.hpp>

#include "builders/operands.h"
#include "layout.h"
#include "seed_copies.h"
#include "spike_source.h"

namespace lif {

/// The constants of a layer for both passes. The threshold of a leaky readout is the largest float.
struct Neurons {
  Neurons(IpuGraphs &graph, const Network &network, const TilePlan &plan, const Operands &operands,
          unsigned layer, Arrivals &arrivals);
  const Layer *layer;
  unsigned number;
  const TilePlan *plan;
  const std::vector<TilePart> *parts;
  std::vector<NeuronTensor> weights; // of the input and, if recurrent, of the layer itself
  NeuronTensor decay, scale, threshold;
  NeuronTensor synapseDecay;                        // without a synapse, not there
  NeuronTensor adaptationStrength, adaptationDecay; // the same if it does not adapt
};

/// The sources of a layer's weights, in their order. sources: the input, then by layer.
std::vector<const SpikeSource *> sourcesOf(const Neurons &neurons,
                                           const std::vector<SpikeSource> &sources);

/// A value for every neuron, as constants on the layer's tiles.
NeuronTensor constantNeurons(IpuGraphs &graph, const std::vector<TilePart> &parts, float value);

/// The state of a layer. bias [1, neurons]; u and i [batch, neurons], i only with a synapse;
/// carried and current [time * batch, neurons], v and i of every step, if they are recorded. If the
/// layer adapts, rise [batch, neurons] is b, shifted is u less what the threshold rose by, and
/// raised is b of every step, if it is recorded.
struct NeuronState {
  NeuronTensor bias, u, i, carried, current, rise, shifted, raised;

  /// What is compared with the thresholds.
  const NeuronTensor &compared() const { return shifted.empty() ? u : shifted; }
};

/// Vertices of one step of a layer (codelets/neurons/). step: of those that are recorded;
/// drawn: of the whole sequence, which random bits depend on.
void integrate(IpuGraphs &graph, poplar::ComputeSet set, const Network &network,
               const Neurons &neurons, const std::vector<SpikeSource> &sources, unsigned batch,
               const NeuronState &state, const StepNumber &step, const StepNumber &drawn,
               const SeedCopies &seed);

} // namespace lif

#endif
