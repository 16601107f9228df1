// A custom op for TensorFlow: the product of a matrix and binary vectors that are lists of ids.
// Inputs: ids, int32 [batch, slots]; counts, int32 [batch, 1]; weights [rows, columns].
// Output: [batch, rows]. Of the inputs only the weights have a gradient.
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

/// Calls a function with each tile and its share of the rows.
template <typename Function>
void forEachTile(const Graph &graph, unsigned rows, Function function) {
  const unsigned tiles = graph.getTarget().getNumTiles();
  const unsigned share = (rows + tiles - 1) / tiles;
  for (unsigned tile = 0; tile * share < rows; ++tile)
    function(tile, tile * share, std::min(rows, (tile + 1) * share));
}

/// Each row is on one tile.
Tensor byRows(Graph &graph, const std::vector<std::size_t> &shape, const std::string &name) {
  const Tensor made = graph.addVariable(FLOAT, shape, name);
  forEachTile(graph, shape[0], [&](unsigned tile, unsigned begin, unsigned end) {
    graph.setTileMapping(made.slice(begin, end), tile);
  });
  return made;
}

/// `rowFields` are matrices with one row for each row of the weights.
Program onTiles(Graph &graph, const std::string &vertex, const std::vector<Tensor> &inputs,
                const std::vector<std::pair<std::string, Tensor>> &rowFields) {
  const ComputeSet set = graph.addComputeSet(vertex);
  const unsigned rows = rowFields.front().second.dim(0);
  forEachTile(graph, rows, [&](unsigned tile, unsigned begin, unsigned end) {
    const VertexRef made = graph.addVertex(set, vertex);
    graph.connect(made["ids"], inputs[0].flatten());
    graph.connect(made["counts"], inputs[1].flatten());
    for (const auto &field : rowFields)
      graph.connect(made[field.first], field.second.slice(begin, end).flatten());
    graph.setInitialValue(made["rows"], end - begin);
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
  allocating = {2};
  elementwise = false;
  stateless = hashable = true;
}

Tensor Build_allocator(Graph &graph, std::uint32_t, const std::vector<std::size_t> &shape, Type,
                       const std::string &, const std::string &) {
  return byRows(graph, shape, "weights");
}

Program Build(Graph &graph, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs,
              const std::string &, const std::string &) {
  const Tensor sums = byRows(graph, {inputs[2].dim(0), inputs[0].dim(0)}, "sums");
  outputs = {sums.transpose()};
  return onTiles(graph, "SparseProduct", inputs, {{"weights", inputs[2]}, {"sums", sums}});
}

Program Build_grad(Graph &graph, std::int64_t, const std::vector<Tensor> &gradients,
                   const std::vector<Tensor> &inputs, const std::vector<Tensor> &,
                   std::vector<Tensor> &outputs, const std::string &, const std::string &) {
  outputs = {byRows(graph, inputs[2].shape(), "byWeights")};
  return onTiles(graph, "SparseProductGradient", inputs,
                 {{"bySums", gradients[0].transpose()}, {"byWeights", outputs[0]}});
}

} // extern "C"
