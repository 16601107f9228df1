#include "backward.h"

#include <poputil/exceptions.hpp>

#include "backward_pass.h"

namespace lif {

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

Program buildBackward(Graph &graph, const Network &network, const Operands &operands,
                      const std::vector<Tensor> &gradients, const std::vector<Tensor> &results,
                      std::vector<Tensor> &found) {
  const std::vector<Outcome> outcomes = outcomesOf(network);
  if (gradients.size() != outcomes.size() || results.size() != outcomes.size())
    throw poputil::poplibs_error("LIF op: the attributes ask for " +
                                 std::to_string(outcomes.size()) + " outputs; got " +
                                 std::to_string(results.size()) + " and " +
                                 std::to_string(gradients.size()) + " gradients by them");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto shape = shapeOf(network, outcomes[i], operands.steps, operands.batch);
    checkShape("output " + std::to_string(i), results[i], shape);
    if (gradients[i].valid())
      checkShape("gradient by output " + std::to_string(i), gradients[i], shape);
  }
  if (network.inputGradients && operands.get(Role::Ids).elementType() != FLOAT)
    throw poputil::poplibs_error("LIF op: gradients=weights+inputs needs ids that are float, since "
                                 "a gradient has the type of its input");
  BackwardPass pass(graph, network, operands, gradients, results);
  Program program = pass.build();
  found = pass.outputs();
  return program;
}

} // namespace lif
