// An op of a loss with equations alone. attributes: right (0 label, 1 target, 2 step_target), rows
// of classes, rows of steps. Inputs: membrane, right, mask. Outputs: losses, the membrane's
// gradient.
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
  unsigned right = 0, classRows = 1, stepRows = 1;
  in >> right >> classRows >> stepRows;
  poplar::program::Sequence program;
  const lif::OwnLoss loss{static_cast<lif::Right>(right), classRows, stepRows};
  const lif::LossResult found =
      lif::addOwnLoss(graph, loss, inputs[0], inputs[1], inputs[2], program);
  outputs = {found.bySample, found.gradient};
  return std::move(program);
}
