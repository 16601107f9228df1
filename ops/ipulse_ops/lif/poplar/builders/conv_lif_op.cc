// `op_name="ConvLIF"`, LIF neurons behind a convolution of spikes, and its gradients.
// docs/reference/poplar_op.md lists inputs, outputs, attributes.
#include <string>
#include <vector>

#include <poplar/Graph.hpp>

#include "api_level.h"
#include "conv/conv_neurons.h"
#include "exported_op.h"

using lif::ConvNeurons;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;
using poplar::program::Sequence;

extern "C" {

IPULSE_METADATA(ConvLIF)
IPULSE_METADATA(ConvLIF_grad)

IPULSE_BUILD(ConvLIF) {
  const ConvNeurons neurons(attributes, inputs);
  const std::size_t steps = neurons.operands.steps, batch = neurons.operands.batch;
  Tensor membranes, ids, counts;
  Sequence program;
  program.add(lif::convMembranes(graph, neurons, membranes));
  program.add(lif::convNeuronSlots(graph, neurons, membranes, ids, counts));
  outputs = {ids.reshape({steps, batch, ids.dim(1)}), counts.reshape({steps, batch, 2})};
  return std::move(program);
}

// The membranes are computed again: the forward pass returns the slots alone.
IPULSE_GRADIENT(ConvLIF) {
  lif::needFloat("ConvLIF", inputs[1]);
  const ConvNeurons neurons(attributes, inputs);
  const lif::ConvOperands &operands = neurons.operands;
  const lif::SlotRows listed(results[0], results[1]);
  Tensor membranes, bySpikes, byMembranes;
  Sequence program;
  program.add(lif::convMembranes(graph, neurons, membranes));
  program.add(lif::scatter(graph, listed, gradients[0].flatten(0, 2), nullptr,
                           operands.conv.neurons(), bySpikes));
  program.add(lif::convAdjoint(graph, neurons, membranes, bySpikes, byMembranes));
  program.add(lif::convGradients(graph, operands, byMembranes, outputs));
  return std::move(program);
}

} // extern "C"
