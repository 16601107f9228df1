// The state of the forward pass, and the program of one of its steps.
#ifndef IPULSE_LIF_POPLAR_FORWARD_RUN_H
#define IPULSE_LIF_POPLAR_FORWARD_RUN_H

#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "layer_run.h"

namespace lif {

/// The input's spikes of all steps of a run, unsigned short [batch, time, ...].
struct InputSpikes {
  poplar::Tensor ids, counts;
};

class ForwardRun {
public:
  /// operands: their steps are those that histories have. prefix: what the names of compute sets
  /// begin with.
  ForwardRun(IpuGraphs &graph, const Network &network, const TilePlan &plan,
             const Operands &operands, Stored stored, const std::string &prefix,
             Arrivals &arrivals);
  /// The same with the constants and weights of another pass, by layer.
  ForwardRun(IpuGraphs &graph, const Network &network, const TilePlan &plan,
             const Operands &operands, const std::vector<Neurons> &neurons, Stored stored,
             const std::string &prefix, Arrivals &arrivals);

  std::vector<SpikeSource> sources; // the input, then by layer
  std::vector<LayerRun> layers;

  /// Vertices that take the input's spikes of step `counters.next`.
  void takeInput(poplar::ComputeSet set, const InputSpikes &input, const Counters &counters) const;
  /// Before it, the input of the step must be taken. drawn: numbers of the steps in the whole
  /// sequence, for random bits; may be `counters`.
  poplar::program::Sequence step(const InputSpikes &input, const Counters &counters,
                                 const Counters &drawn);
  /// The states u, and i of layers with a synapse, without padding, by layer.
  std::vector<poplar::Tensor> states() const;

private:
  void addLayer(const Operands &operands, Neurons neurons, Stored stored, Arrivals &arrivals);
  void addStage(poplar::program::Sequence &step, const std::vector<unsigned> &stage, bool first,
                bool last, const InputSpikes &input, const Counters &counters,
                const Counters &drawn);

  IpuGraphs &graph;
  const Network &network;
  const TilePlan &plan;
  const unsigned batch;
  const std::string prefix;
  SeedCopies seed;
};

} // namespace lif

#endif
