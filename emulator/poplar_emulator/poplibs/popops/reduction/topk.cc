#include <popops/TopK.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

using poplar::Graph;
using poplar::Tensor;

namespace {

enum class Result : unsigned { Keys = 0, Indices = 8, Values = 16 };

/// One row a vertex, and a tile after the other: the network of PopLibs is not reproduced. `value`
/// is what goes with the keys.
Tensor select(Graph &graph, const Tensor &key, const Tensor &value, const TopKParams &params,
              Result result, poplar::ComputeSet cs, const poplar::DebugContext &debugContext) {
  if (key.rank() == 0 || params.k > key.dim(key.rank() - 1))
    throw poputil::poplibs_error("topK: k is " + std::to_string(params.k) +
                                 " and the tensor has shape " + key.shapeToString());
  if (value.shape() != key.shape())
    throw poputil::poplibs_error("topK: keys of shape " + key.shapeToString() +
                                 " and values of shape " + value.shapeToString());
  const std::size_t n = key.dim(key.rank() - 1), rows = n ? key.numElements() / n : 0;
  const poplar::Type type = result == Result::Indices ? poplar::UNSIGNED_INT
                            : result == Result::Keys  ? key.elementType()
                                                      : value.elementType();
  std::vector<std::size_t> shape = key.shape();
  shape.back() = params.k;
  const Tensor out = graph.addVariable(type, shape, debugContext);
  const Tensor keys = key.reshape({rows, n}), values = value.reshape({rows, n});
  const Tensor to = out.reshape({rows, params.k});
  const unsigned choice = (params.largest ? 1u : 0u) |
                          static_cast<unsigned>(params.sortOrder) << 1 |
                          static_cast<unsigned>(result);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto tile = static_cast<unsigned>(row % graph.getTarget().getNumTiles());
    const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kTopK);
    graph.connect(v["rows"], result == Result::Values ? std::vector<Tensor>{keys[row], values[row]}
                                                      : std::vector<Tensor>{keys[row]});
    graph.connect(v["out"], to[row]);
    graph.setInitialValue(v["type"], static_cast<unsigned>(key.elementType().identity()));
    graph.setInitialValue(v["outType"], static_cast<unsigned>(type.identity()));
    graph.setInitialValue(v["choice"], choice);
    graph.setTileMapping(v, tile);
    graph.setTileMapping(to[row], tile);
  }
  return out;
}

std::pair<Tensor, Tensor> both(Graph &graph, poplar::program::Sequence &prog, const Tensor &key,
                               const Tensor &value, const TopKParams &params, Result second,
                               const poplar::DebugContext &debugContext) {
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "topK"});
  const Tensor keys = select(graph, key, value, params, Result::Keys, cs, debugContext);
  const Tensor others = select(graph, key, value, params, second, cs, debugContext);
  prog.add(poplar::program::Execute(cs, debugContext));
  return {keys, others};
}

} // namespace

Tensor topK(Graph &graph, poplar::program::Sequence &prog, const Tensor &t,
            const TopKParams &params, const poplar::DebugContext &debugContext) {
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "topK"});
  const Tensor keys = select(graph, t, t, params, Result::Keys, cs, debugContext);
  prog.add(poplar::program::Execute(cs, debugContext));
  return keys;
}

std::pair<Tensor, Tensor> topKWithPermutation(Graph &graph, poplar::program::Sequence &prog,
                                              const Tensor &t, const TopKParams &params,
                                              const poplar::DebugContext &debugContext) {
  return both(graph, prog, t, t, params, Result::Indices, debugContext);
}

std::pair<Tensor, Tensor> topKKeyValue(Graph &graph, poplar::program::Sequence &prog,
                                       const Tensor &key, const Tensor &value,
                                       const TopKParams &params,
                                       const poplar::DebugContext &debugContext) {
  return both(graph, prog, key, value, params, Result::Values, debugContext);
}

Tensor createTopKInput(Graph &graph, const poplar::Type &type,
                       const std::vector<std::size_t> &shape, const TopKParams &,
                       const poplar::DebugContext &debugContext) {
  const Tensor t = graph.addVariable(type, shape, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

} // namespace popops
