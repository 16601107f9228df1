// `op_name="SpikeMatmul"`, a dense matrix times spikes, and its gradients.
// docs/reference/poplar_op.md lists inputs, outputs, attributes.
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poputil/exceptions.hpp>

#include "api_level.h"
#include "backward/backward.h"
#include "exported_op.h"
#include "forward/forward.h"
#include "layout/slot_rows.h"
#include "words.h"

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

namespace {

using Tensors = std::vector<Tensor>;

/// A leaky layer that forgets at once and takes its current as it is: a product.
lif::Network productOf(const std::string &attributes, const Tensors &inputs, bool inputGradients) {
  lif::Words(attributes, "ipulse-spike-matmul/1", {});
  lif::checkNumber("SpikeMatmul", inputs, 3, "weights, ids, counts");
  if (inputs[0].rank() != 2 || inputs[1].rank() != 3)
    throw poputil::poplibs_error("SpikeMatmul: weights must be [senders, neurons] and ids [time, "
                                 "batch, slots]; got " +
                                 inputs[0].shapeToString() + " and " + inputs[1].shapeToString());
  lif::Network network;
  network.inputs = static_cast<unsigned>(inputs[0].dim(0));
  network.inputSlots = static_cast<unsigned>(inputs[1].dim(2));
  network.inputGradients = inputGradients;
  network.countsIgnored = false;
  lif::Layer layer;
  layer.spiking = false;
  layer.membrane = true;
  layer.neurons = static_cast<unsigned>(inputs[0].dim(1));
  network.layers.push_back(layer);
  return network;
}

lif::Operands productOperands(Graph &graph, const lif::Network &network, const Tensors &inputs) {
  const auto constant = [&](float value) {
    const Tensor t = graph.addConstant<float>(FLOAT, {network.layers[0].neurons}, value);
    graph.setTileMapping(t, 0);
    return t;
  };
  return lif::Operands(network, {inputs[1], inputs[2], inputs[0], constant(0), constant(1)});
}

} // namespace

extern "C" {

IPULSE_METADATA(SpikeMatmul)
IPULSE_METADATA(SpikeMatmul_grad)

IPULSE_BUILD(SpikeMatmul) {
  const lif::Network network = productOf(attributes, inputs, false);
  return lif::buildForward(graph, network, productOperands(graph, network, inputs), outputs);
}

IPULSE_GRADIENT(SpikeMatmul) {
  lif::needFloat("SpikeMatmul", inputs[1]);
  const lif::Network network = productOf(attributes, inputs, true);
  Tensors found;
  Program program = lif::buildBackward(graph, network, productOperands(graph, network, inputs),
                                       gradients, results, found);
  outputs = {found[1], found[0]}; // by the weights, by the slots
  return program;
}

} // extern "C"
