// A custom op for TensorFlow: a layer of leaky integrate-and-fire neurons over a whole sample.
// Input: currents, [steps, batch, neurons]. Outputs: spikes and membranes of that shape.
// The attribute is the decay of the membrane.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" // TensorFlow's interface
#endif

using namespace poplar;
using namespace poplar::program;

namespace {

using Fields = std::vector<std::pair<std::string, Tensor>>;

/// Calls a function with each tile and its share of the columns of [steps, columns].
template <typename Function>
void forEachTile(const Graph &graph, unsigned columns, Function function) {
  const unsigned tiles = graph.getTarget().getNumTiles();
  const unsigned share = (columns + tiles - 1) / tiles;
  for (unsigned tile = 0; tile * share < columns; ++tile)
    function(tile, tile * share, std::min(columns, (tile + 1) * share));
}

Tensor byTime(const Tensor &tensor) {
  return tensor.reshape({tensor.dim(0), tensor.numElements() / tensor.dim(0)});
}

/// All steps of a neuron are on one tile, so that nothing is exchanged between two steps.
Tensor spread(Graph &graph, const std::vector<std::size_t> &shape, const std::string &name) {
  const Tensor made = graph.addVariable(FLOAT, shape, name);
  const Tensor flat = byTime(made);
  forEachTile(graph, flat.dim(1), [&](unsigned tile, unsigned begin, unsigned end) {
    graph.setTileMapping(flat.slice(begin, end, 1), tile);
  });
  return made;
}

Program onTiles(Graph &graph, const std::string &vertex, const std::string &decay,
                const Fields &fields) {
  const ComputeSet set = graph.addComputeSet(vertex);
  const Tensor first = byTime(fields.front().second);
  forEachTile(graph, first.dim(1), [&](unsigned tile, unsigned begin, unsigned end) {
    const VertexRef made = graph.addVertex(set, vertex);
    for (const auto &field : fields)
      graph.connect(made[field.first], byTime(field.second).slice(begin, end, 1).flatten());
    graph.setInitialValue(made["steps"], static_cast<unsigned>(first.dim(0)));
    graph.setInitialValue(made["decay"], std::stof(decay));
    graph.setTileMapping(made, tile);
  });
  return Execute(set);
}

} // namespace

extern "C" {

std::int32_t custom_op_api_level = 5;

void Build_metadata(std::vector<std::int64_t> &allocating, std::vector<std::int64_t> &,
                    std::map<std::int64_t, std::int64_t> &, bool &elementwise, bool &stateless,
                    bool &hashable, std::uint32_t) {
  allocating = {0};
  elementwise = false;
  stateless = hashable = true;
}

Tensor Build_allocator(Graph &graph, std::uint32_t, const std::vector<std::size_t> &shape, Type,
                       const std::string &, const std::string &) {
  return spread(graph, shape, "currents");
}

Program Build(Graph &graph, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs,
              const std::string &attributes, const std::string &) {
  const auto shape = inputs[0].shape();
  outputs = {spread(graph, shape, "spikes"), spread(graph, shape, "membranes")};
  return onTiles(graph, "LifSequence", attributes,
                 {{"currents", inputs[0]}, {"spikes", outputs[0]}, {"membranes", outputs[1]}});
}

Program Build_grad(Graph &graph, std::int64_t, const std::vector<Tensor> &gradients,
                   const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputsOfForward,
                   std::vector<Tensor> &outputs, const std::string &attributes,
                   const std::string &) {
  outputs = {spread(graph, inputs[0].shape(), "byCurrents")};
  return onTiles(
      graph, "LifSequenceGradient", attributes,
      {{"membranes", outputsOfForward[1]}, {"bySpikes", gradients[0]}, {"byCurrents", outputs[0]}});
}

} // extern "C"
