// What TensorFlow for the IPU looks up in the library by name, for `op_name="Build"`.
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "backward/backward.h"
#include "exported_op.h"
#include "forward/forward.h"
#include "layout/layout.h"

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

namespace {

/// Copies the words that a function makes to `report`; those of its exception, and 1, if it throws.
template <typename Function> int answer(char *report, std::size_t size, const Function &make) {
  std::string words;
  int failed = 0;
  try {
    words = make();
  } catch (const std::exception &error) {
    words = error.what();
    failed = 1;
  }
  std::strncpy(report, words.c_str(), size - 1);
  report[size - 1] = 0;
  return failed;
}

} // namespace

extern "C" {

Program Build(Graph &graph, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs,
              const std::string &attributes, const std::string &) {
  const lif::Network network = lif::parseNetwork(attributes);
  const lif::Operands operands(network, inputs);
  return lif::buildForward(graph, network, operands, outputs);
}

Program Build_grad(Graph &graph, std::int64_t input_grad_index,
                   const std::vector<Tensor> &gradients, const std::vector<Tensor> &fwd_inputs,
                   const std::vector<Tensor> &fwd_outputs, std::vector<Tensor> &outputs,
                   const std::string &attributes, const std::string &) {
  if (input_grad_index != 0)
    throw poputil::poplibs_error("LIF op: all gradients are made at once; set "
                                 "separate_gradients=False");
  const lif::Network network = lif::parseNetwork(attributes);
  const lif::Operands operands(network, fwd_inputs);
  if (operands.get(lif::Role::Weights).elementType() != poplar::FLOAT)
    throw poputil::poplibs_error("LIF op: a gradient has the type of its input, so that weights of "
                                 "half are trained by op_name=Train");
  return lif::buildBackward(graph, network, operands, gradients, fwd_outputs, outputs);
}

void Build_metadata(IPULSE_METADATA_PARAMETERS) {
  IPULSE_DESCRIBE;
  // The matrices: ids and counts come off the host, and are copied once a run if need be.
  for (std::int64_t i = 2; i < num_inputs; ++i)
    allocating_indices.push_back(i);
}

IPULSE_METADATA(Build_grad)

Tensor Build_allocator(Graph &graph, std::uint32_t operand, const std::vector<std::size_t> &shape,
                       poplar::Type type, const std::string &attributes,
                       const std::string &debug_prefix) {
  const lif::Network network = lif::parseNetwork(attributes);
  const std::vector<lif::Operand> operands = lif::operandsOf(network);
  // Build reports operands that are neither matrices nor constants, or do not fit the network.
  const bool known = operand < operands.size() && operands[operand].role >= lif::Role::Weights;
  const lif::Operand wanted = known ? operands[operand] : operands[0];
  const bool matrix = wanted.role == lif::Role::Weights || wanted.role == lif::Role::Recurrent;
  if (!known || (type != poplar::FLOAT && !(matrix && type == poplar::HALF)) || shape.size() < 1 ||
      shape.size() > 2 || shape.back() != network.layers[wanted.layer].neurons) {
    const Tensor t = graph.addVariable(type, shape, debug_prefix);
    poputil::mapTensorLinearly(graph, t);
    return t;
  }
  const lif::TilePlan plan = lif::planFor(graph, network, 1);
  const std::size_t rows = shape.size() == 2 ? shape[0] : 1;
  lif::IpuGraphs graphs(graph, plan);
  const lif::NeuronTensor t(graphs, rows, plan.layers[wanted.layer], debug_prefix, type);
  return t.dense().reshape(shape);
}

/// The tile plan and its load balance as JSON, into `report` of `size` bytes, for a machine of
/// that many tiles an IPU; what is wrong with the attributes, and 1, if something is.
int ipulse_lif_plan(const char *attributes, unsigned batch, unsigned tiles_per_ipu, char *report,
                    std::size_t size) {
  return answer(report, size, [&] {
    return lif::TilePlan(lif::parseNetwork(attributes), batch, tiles_per_ipu).report();
  });
}

/// The name and the layer of each output, "spike_ids 0" a line, in the same way.
int ipulse_lif_outputs(const char *attributes, char *report, std::size_t size) {
  return answer(report, size, [&] {
    std::string lines;
    for (const lif::Outcome &outcome : lif::outcomesOf(lif::parseNetwork(attributes)))
      lines += lif::nameOf(outcome.result) + " " + std::to_string(outcome.layer) + "\n";
    return lines;
  });
}

} // extern "C"
