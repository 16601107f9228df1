// The backward pass: what it keeps, and the vertices of its steps.
#ifndef IPULSE_LIF_POPLAR_BACKWARD_PASS_H
#define IPULSE_LIF_POPLAR_BACKWARD_PASS_H

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "builders/operands.h"
#include "layer_adjoint.h"
#include "segments.h"

namespace lif {

/// The pass and its parts. With a delay, a spike of step t meets dL/dI of step t + 1: all layers
/// are taken back at once, and the input's spikes wait for theirs, one step behind, so that the
/// loop goes one step further. Without, layers follow each other from last to first.
class BackwardPass {
public:
  /// gradients, results: as of buildBackward. All must outlive it.
  BackwardPass(poplar::Graph &whole, const Network &network, const Operands &operands,
               const std::vector<poplar::Tensor> &gradients,
               const std::vector<poplar::Tensor> &results);
  poplar::program::Program build();
  /// The gradients by operandsWithGradients.
  std::vector<poplar::Tensor> outputs() const;

private:
  const Network &network;
  const Operands &operands;
  const Operands span; // of a segment, or of all steps
  const TilePlan plan;
  IpuGraphs graph;
  Arrivals arrivals;
  CheckedInput input;
  Counters counters;
  poplar::Tensor gradIds;
  std::vector<SpikeSource> sources;
  // The first spike of each worker, by source; invalid if the ids need not ascend.
  std::vector<SentTensor> starts;
  std::deque<LayerAdjoint> layers; // referred to by the sums
  std::vector<std::unique_ptr<SlotSums>> inputSums, ownSums;
  std::unique_ptr<Segments> segments; // if the network recomputes
  InputSpikes spikes;                 // of the steps of the span
  poplar::Tensor given, gradOfGiven;  // ids of the input as they came in, and their gradients

  LayerRecord recordOf(unsigned layer, const std::vector<poplar::Tensor> &gradients,
                       const std::vector<poplar::Tensor> &results);
  std::unique_ptr<SlotSums> newSums(unsigned layer, std::size_t matrix);
  void addSource(unsigned number, unsigned slots);
  poplar::Tensor gradientBy(const Operand &operand) const;

  // Vertices, and steps of the time loop that execute them.
  poplar::ComputeSet newSet(const std::string &name) {
    return graph.addComputeSet("backward/" + name);
  }
  /// The layer's own spikes; of a leaky readout null.
  const SpikeSource *own(unsigned layer) const {
    return network.layers[layer].spiking ? &sources[layer + 1] : nullptr;
  }
  void takeAll(poplar::ComputeSet set);
  /// Adds the gradient of a matrix, and of the senders' slots, from a layer's dL/dI.
  void spread(poplar::ComputeSet set, unsigned layer, std::size_t matrix);
  void slotGradients(poplar::ComputeSet set, unsigned layer);
  void recordInputGradients(poplar::ComputeSet set);
  /// Adds the loop over segments. step: one step back.
  void addSegments(poplar::program::Sequence &program, const poplar::program::Program &step);
  /// Copies the input's gradients from row `first` of a segment's on to step `begin` of all.
  void addInputGradients(poplar::program::Sequence &program, unsigned begin, unsigned first,
                         unsigned rows) const;
  void addStepOfAll(poplar::program::Sequence &step);
  void addStepOfEach(poplar::program::Sequence &step);
};

} // namespace lif

#endif
