// Segments of the sequence that the backward pass runs forward again, from checkpoints.
#ifndef IPULSE_LIF_POPLAR_SEGMENTS_H
#define IPULSE_LIF_POPLAR_SEGMENTS_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "builders/operands.h"
#include "forward/forward_run.h"
#include "layer_adjoint.h"

namespace lif {

/// The stored values of one segment, for the backward pass. All segments have the same number of
/// steps. The last segment may extend beyond the sequence: its steps there have no spikes, and
/// their gradients are 0.
class Segments {
public:
  /// operands: of all steps. neurons: by layer, of the backward pass. gradients, results: as of
  /// buildBackward. All must outlive it.
  Segments(IpuGraphs &graph, const Network &network, const TilePlan &plan, const Operands &operands,
           const std::vector<Neurons> &neurons, const CheckedInput &input,
           const std::vector<poplar::Tensor> &gradients, const std::vector<poplar::Tensor> &results,
           Arrivals &arrivals);

  unsigned count() const { return network.segments(operands.steps); }
  /// The segment's input: with a delay one step more, which is the next segment's first.
  const InputSpikes &input() const { return spikes; }
  /// The ids as they came in, [batch, time, slots], with gradients by them.
  const poplar::Tensor &given() const { return givenIds; }
  LayerRecord record(unsigned layer) const;
  /// Copies what segment `number` begins with, and what of the sequence belongs to it.
  void addArrival(poplar::program::Sequence &program, unsigned number) const;
  /// Runs the steps of the segment that has arrived.
  void addRun(poplar::program::Sequence &program);

private:
  struct Copies;
  void addStart(Copies &copies, unsigned number) const;
  void addGradients(Copies &copies, unsigned begin, unsigned end) const;
  void addInput(Copies &copies, unsigned begin, unsigned end) const;
  const poplar::Tensor &result(Result of, unsigned layer) const {
    return results[placeOf(network, of, layer)];
  }
  const poplar::Tensor &gradient(Result of, unsigned layer) const {
    return gradients[placeOf(network, of, layer)];
  }

  /// The gradients of a layer's outputs, and its spikes before the segment.
  struct OfLayer {
    NeuronTensor direct;                   // [time * batch, neurons]
    NeuronTensor before;                   // i before the segment, [batch, neurons]
    std::vector<poplar::Tensor> gradSlots; // [batch, time, slots], by range
    poplar::Tensor ids, counts;            // [batch, 1, slots], [batch, 1, 2]
  };

  IpuGraphs &graph;
  const Network &network;
  const TilePlan &plan;
  const Operands &operands;
  const Operands span; // of the steps of a segment
  const CheckedInput &whole;
  const std::vector<poplar::Tensor> &gradients, &results;
  ForwardRun forward;
  Counters counters, drawn;
  InputSpikes spikes;
  poplar::Tensor givenIds;
  std::vector<OfLayer> layers;
};

} // namespace lif

#endif
