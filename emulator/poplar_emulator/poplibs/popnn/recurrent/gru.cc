#include <popnn/Gru.hpp>
#include <poputil/exceptions.hpp>

#include "recurrent_cell.h"

namespace popnn {
namespace gru {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using Cache = poplin::PlanningCache;

namespace {

constexpr std::size_t kGruUnits = unitsOf<GruParams>();

} // namespace

const std::vector<BasicGruCellUnit> getDefaultBasicGruCellOrder() {
  return {BasicGruCellUnit::RESET_GATE, BasicGruCellUnit::UPDATE_GATE, BasicGruCellUnit::CANDIDATE};
}

Tensor createInput(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                   const OptionFlags &options, Cache *cache) {
  return cellOf(graph, params, debugContext, options, cache).input();
}
Tensor createInitialState(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                          const OptionFlags &options, Cache *cache) {
  return cellOf(graph, params, debugContext, options, cache).state("initialOutput");
}
std::pair<Tensor, Tensor> createWeightsKernel(Graph &graph, const GruParams &params,
                                              const DebugContext &debugContext,
                                              const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, debugContext, options, cache);
  return {cell.weights(cell.in, "weightsIn"), cell.weights(cell.out, "weightsOut")};
}
Tensor createWeightsBiases(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                           const OptionFlags &options, Cache *cache) {
  const RecurrentCell cell = cellOf(graph, params, debugContext, options, cache);
  return params.resetAfter ? cell.biases({kGruUnits, 2, cell.out})
                           : cell.biases({kGruUnits, cell.out});
}
GruWeights createWeights(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                         const OptionFlags &options, Cache *cache) {
  const auto kernel = createWeightsKernel(graph, params, debugContext, options, cache);
  return {kernel.first, kernel.second,
          createWeightsBiases(graph, params, debugContext, options, cache)};
}

std::uint64_t getBasicGruCellFwdFlops(const GruParams &params) {
  return forwardFlops(params.rnn, kGruUnits);
}
std::uint64_t getBasicGruCellBwdFlops(const GruParams &params) {
  return backwardFlops(params.rnn, kGruUnits, params.calcInputGradients);
}
std::uint64_t getBasicGruCellWuFlops(const GruParams &params) {
  return weightFlops(params.rnn, kGruUnits);
}
Tensor createAttention(Graph &graph, const GruParams &params, const DebugContext &debugContext,
                       const OptionFlags &options) {
  const RecurrentCell cell = cellOf(graph, params, debugContext, options, nullptr);
  return graph
      .addVariable(params.rnn.dataType, {cell.steps, cell.batch},
                   poplar::VariableMappingMethod::LINEAR, {debugContext, "attention"})
      .transpose();
}

} // namespace gru
} // namespace popnn
