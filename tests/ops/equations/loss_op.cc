// An op of a loss with equations alone. attributes: right (0 label, 1 target, 2 step_target),
// classes, rows of classes, rows of steps, numbers in rows of neurons, and then for each that is
// read of a layer "membrane" or "spikes", and its neurons. Inputs: right, mask, membranes, or ids
// and counts, of each. Outputs: losses, penalties, the gradients by membranes and ids.
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "backward/loss.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" // TensorFlow's interface
#endif

extern "C" {
std::int32_t custom_op_api_level = 5;
}

extern "C" void Build_metadata(std::vector<std::int64_t> &allocating,
                               std::vector<std::int64_t> &identical,
                               std::map<std::int64_t, std::int64_t> &aliasing, bool &elementwise,
                               bool &stateless, bool &hashable, std::uint32_t) {
  allocating.clear();
  identical.clear();
  aliasing.clear();
  elementwise = false;
  stateless = hashable = true;
}

extern "C" poplar::program::Program Build(poplar::Graph &graph, std::vector<poplar::Tensor> &inputs,
                                          std::vector<poplar::Tensor> &outputs,
                                          const std::string &attributes, const std::string &) {
  std::istringstream in(attributes);
  unsigned right = 0, classes = 0, classRows = 1, stepRows = 1, neuronValues = 1;
  in >> right >> classes >> classRows >> stepRows >> neuronValues;
  std::vector<lif::LayerValues> read;
  std::size_t next = 2, neurons = 0;
  for (std::string what; in >> what >> neurons;) {
    read.push_back({inputs.at(next++), poplar::Tensor(), neurons});
    if (what == "spikes")
      read.back().counts = inputs.at(next++);
  }
  poplar::program::Sequence program;
  const lif::OwnLoss loss{static_cast<lif::Right>(right), classes, classRows, stepRows,
                          neuronValues};
  const lif::OwnLossResult found =
      lif::addOwnLoss(graph, loss, read, inputs[0], inputs[1], program);
  outputs = {found.bySample, found.penalty};
  outputs.insert(outputs.end(), found.gradients.begin(), found.gradients.end());
  return std::move(program);
}
