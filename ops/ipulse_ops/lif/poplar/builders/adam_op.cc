// `op_name="Adam"`: one update of all that the LIF op of the same attributes has gradients by, in
// place. attributes: "ipulse-adam/1 beta_1=... beta_2=... epsilon=... weight_decay=..." and, behind
// it, those of the LIF op. Inputs: the weights, their means, their squares, the gradients, in the
// order of the LIF op's; rate float [1], update int [1]. Outputs: weights, means, squares.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "backward/adam.h"
#include "exported_op.h"
#include "forward/forward.h"
#include "words.h"

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;
using poplar::program::Sequence;

namespace {

struct AdamAttributes {
  explicit AdamAttributes(const std::string &text) {
    const std::size_t at = text.find("ipulse-lif/");
    const std::string own = text.substr(0, at);
    const lif::Words words(own, "ipulse-adam/1", {"beta_1", "beta_2", "epsilon", "weight_decay"});
    constants = {words.real("beta_1"), words.real("beta_2"), words.real("epsilon"),
                 words.real("weight_decay")};
    for (const double beta : {constants.beta1, constants.beta2})
      if (!(beta > 0 && beta < 1))
        throw poputil::poplibs_error("Adam: beta_1 and beta_2 must be above 0 and below 1; got '" +
                                     own + "'");
    network = lif::parseNetwork(at == std::string::npos ? "" : text.substr(at));
    for (const lif::Operand &operand : lif::operandsWithGradients(network))
      if (operand.role != lif::Role::Ids)
        operands.push_back(operand);
  }
  lif::AdamConstants constants;
  lif::Network network;
  std::vector<lif::Operand> operands;
};

std::vector<std::size_t> shapeOf(const lif::Network &network, const lif::Operand &operand) {
  const std::size_t neurons = network.layers[operand.layer].neurons;
  if (operand.role == lif::Role::Weights)
    return {network.senders(operand.layer), neurons};
  if (operand.role == lif::Role::Recurrent)
    return {neurons, neurons};
  return {neurons};
}

} // namespace

extern "C" {

void Adam_metadata(IPULSE_METADATA_PARAMETERS) {
  IPULSE_DESCRIBE;
  for (std::int64_t i = 0; i + 2 < num_inputs; ++i) {
    allocating_indices.push_back(i);
    if (i < (num_inputs - 2) / 4 * 3)
      input_to_output_tensor_aliasing[i] = i;
  }
}

Tensor Adam_allocator(Graph &graph, std::uint32_t operand, const std::vector<std::size_t> &shape,
                      poplar::Type type, const std::string &attributes,
                      const std::string &debug_prefix) {
  const AdamAttributes given(attributes);
  const lif::Operand wanted = given.operands[operand % given.operands.size()];
  if (type != poplar::FLOAT || shape != shapeOf(given.network, wanted)) {
    // Adam says what is wrong with it.
    const Tensor t = graph.addVariable(type, shape, debug_prefix);
    poputil::mapTensorLinearly(graph, t);
    return t;
  }
  const lif::TilePlan plan = lif::planFor(graph, given.network, 1);
  const std::size_t rows = shape.size() == 2 ? shape[0] : 1;
  lif::IpuGraphs graphs(graph, plan);
  const lif::NeuronTensor t(graphs, rows, plan.layers[wanted.layer], debug_prefix);
  return t.dense().reshape(shape);
}

Program Adam(Graph &graph, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs,
             const std::string &attributes, const std::string &) {
  const AdamAttributes given(attributes);
  const std::size_t n = given.operands.size();
  if (inputs.size() != 4 * n + 2)
    throw poputil::poplibs_error("Adam: " + std::to_string(n) +
                                 " weights, means, squares and gradients, rate and update are " +
                                 std::to_string(4 * n + 2) + " inputs; got " +
                                 std::to_string(inputs.size()));
  const lif::TilePlan plan = lif::planFor(graph, given.network, 1);
  lif::IpuGraphs graphs(graph, plan);
  lif::Arrivals changed(graphs), read(graphs);
  const auto bring = [&](std::size_t kind, std::size_t i, lif::Arrivals &arrivals) {
    static const char *const kinds[] = {"weights ", "means ", "squares ", "gradients "};
    const Tensor &t = inputs[kind * n + i];
    const std::string name = kinds[kind] + lif::nameOf(given.operands[i]);
    lif::checkShape(name, t, shapeOf(given.network, given.operands[i]));
    if (t.elementType() != poplar::FLOAT)
      throw poputil::poplibs_error("Adam: " + name + " must be float; got " +
                                   t.elementType().toString());
    const unsigned l = given.operands[i].layer;
    return arrivals.neurons(t, plan.layers[l], plan.names[l] + "/" + name);
  };
  std::vector<lif::AdamMatrix> matrices;
  for (std::size_t i = 0; i < n; ++i)
    matrices.push_back(
        {bring(0, i, changed), bring(1, i, changed), bring(2, i, changed), bring(3, i, read)});
  lif::checkShape("rate", inputs[4 * n], {1});
  lif::checkShape("update", inputs[4 * n + 1], {1});
  Sequence program;
  changed.addTo(program);
  read.addTo(program);
  program.add(lif::adamUpdate(graphs, given.constants, matrices, inputs[4 * n], inputs[4 * n + 1]));
  changed.addReturnTo(program);
  outputs.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(3 * n));
  return std::move(program);
}

} // extern "C"
