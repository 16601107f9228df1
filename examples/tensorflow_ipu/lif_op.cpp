// A custom op for TensorFlow: one time step of leaky integrate-and-fire neurons.
// Inputs: membrane and current, [batch, neurons]. Outputs: next membrane and spikes.
// The attribute is the decay of the membrane.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poputil/TileMapping.hpp>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" // TensorFlow's interface
#endif

using namespace poplar;
using namespace poplar::program;

namespace {

/// Gives every tile the vertex for its share of the neurons.
Program onTiles(Graph &graph, const std::string &vertex, const std::string &decay,
                const std::vector<std::pair<std::string, Tensor>> &fields) {
  const ComputeSet step = graph.addComputeSet(vertex);
  const auto mapping = graph.getTileMapping(fields.back().second.flatten());
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const Interval &interval : mapping[tile]) {
      const VertexRef made = graph.addVertex(step, vertex);
      for (const auto &field : fields)
        graph.connect(made[field.first], field.second.flatten().slice(interval));
      graph.setInitialValue(made["decay"], std::stof(decay));
      graph.setTileMapping(made, tile);
    }
  return Execute(step);
}

Tensor spread(Graph &graph, const Tensor &like, const std::string &name) {
  const Tensor made = graph.addVariable(FLOAT, like.shape(), name);
  poputil::mapTensorLinearly(graph, made, 1, 1);
  return made;
}

} // namespace

extern "C" {

std::int32_t custom_op_api_level = 5;

void Build_metadata(std::vector<std::int64_t> &, std::vector<std::int64_t> &,
                    std::map<std::int64_t, std::int64_t> &, bool &elementwise, bool &stateless,
                    bool &hashable, std::uint32_t) {
  elementwise = false;
  stateless = hashable = true;
}

Program Build(Graph &graph, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs,
              const std::string &attributes, const std::string &) {
  outputs = {spread(graph, inputs[0], "nextMembrane"), spread(graph, inputs[0], "spikes")};
  return onTiles(graph, "LifStep", attributes,
                 {{"membrane", inputs[0]},
                  {"current", inputs[1]},
                  {"nextMembrane", outputs[0]},
                  {"spikes", outputs[1]}});
}

Program Build_grad(Graph &graph, std::int64_t, const std::vector<Tensor> &gradients,
                   const std::vector<Tensor> &inputs, const std::vector<Tensor> &,
                   std::vector<Tensor> &outputs, const std::string &attributes,
                   const std::string &) {
  outputs = {spread(graph, inputs[0], "byMembrane"), spread(graph, inputs[1], "byCurrent")};
  return onTiles(graph, "LifStepGradient", attributes,
                 {{"membrane", inputs[0]},
                  {"current", inputs[1]},
                  {"byNextMembrane", gradients[0]},
                  {"bySpikes", gradients[1]},
                  {"byMembrane", outputs[0]},
                  {"byCurrent", outputs[1]}});
}

} // extern "C"
