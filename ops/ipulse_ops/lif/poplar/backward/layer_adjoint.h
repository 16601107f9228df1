// A layer on the way back: its adjoint state, its gradients, and the vertices that work on them.
#ifndef IPULSE_LIF_POPLAR_LAYER_ADJOINT_H
#define IPULSE_LIF_POPLAR_LAYER_ADJOINT_H

#include <vector>

#include <poplar/Graph.hpp>

#include "layout/neurons.h"
#include "slot_gradients.h"

namespace lif {

/// Outputs of the forward pass and gradients of the loss of a layer, [batch, time, ...]; empty if
/// it has none.
struct LayerRecord {
  poplar::Tensor ids, counts;
  std::vector<poplar::Tensor> phi, membranes, gradSlots; // by the IPUs that it is on
  NeuronTensor resets;                                   // [time * words, neurons]
  NeuronTensor direct; // [time * batch, neurons], the loss's derivative by the membrane
  NeuronTensor carried, current, raised; // [time * batch, neurons], with gradients by constants
  NeuronTensor before;                   // i before the first step, [batch, neurons]; empty: zeros
};

class LayerAdjoint {
public:
  LayerAdjoint(IpuGraphs &graph, const Network &network, const TilePlan &plan,
               const Operands &operands, unsigned layer, LayerRecord record, Arrivals &arrivals);

  Neurons neurons;
  LayerRecord record;
  NeuronTensor gradCurrent;              // dL/dI of the step after, then of this one
  std::vector<NeuronTensor> gradWeights; // of the input and, if recurrent, of the layer itself
  NeuronTensor gradBias;                 // without a bias, not there
  // Gradients of decay, scale, threshold, synapse decay and, if the layer adapts, strength and
  // decay of the adaptation per sample, [batch, neurons], and their sums; empty if none are
  // computed.
  std::vector<NeuronTensor> byConstants, gradConstants;

  /// Adds to the gradients by weight matrix `matrix`, what `source` has and gradCurrent. starts:
  /// of the workers' shares of its spikes (locateSpikes), invalid if their ids may not ascend.
  void addWeightGradients(IpuGraphs &graph, poplar::ComputeSet set, std::size_t matrix,
                          const SpikeSource &source, const SentTensor &starts) const;
  void addBiasGradients(IpuGraphs &graph, poplar::ComputeSet set) const;
  /// Makes the slots' gradients from the sums of everyone that the layer's spikes go to.
  /// On every IPU that has neurons of the layer, where those of the others get 0.
  void slotGradients(IpuGraphs &graph, poplar::ComputeSet set, const SpikeSource &own,
                     const std::vector<const SlotSums *> &sums, const StepNumber &step) const;
  /// Takes the state a step back. own: the layer's spikes; of a leaky readout null.
  void stepBack(IpuGraphs &graph, poplar::ComputeSet set, const SpikeSource *own,
                const StepNumber &step) const;
  /// Vertices that sum the constants' gradients over samples, after the last step.
  void sumConstants(IpuGraphs &graph, poplar::ComputeSet set) const;

private:
  const Network *network;
  unsigned steps, batch;
  NeuronTensor kappa, gradSynapse;
  NeuronTensor gradRise, gradThreshold; // mu and tau of this step, if the layer adapts
  std::vector<poplar::Tensor> gradients, coefficients; // [batch, stride], by IPU as in the record
};

} // namespace lif

#endif
