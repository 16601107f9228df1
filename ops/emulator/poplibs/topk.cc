#include <popops/TopK.hpp>
#include <poputil/exceptions.hpp>

#include "array_vertices.h"

namespace popops {

using poplar::Graph;
using poplar::Tensor;

namespace {

/// One row a vertex, and a tile after the other: the network of PopLibs is not reproduced.
Tensor select(Graph &graph, const Tensor &t, const TopKParams &params, bool indices,
              poplar::ComputeSet cs, const poplar::DebugContext &debugContext) {
  if (t.rank() == 0 || params.k > t.dim(t.rank() - 1))
    throw poputil::poplibs_error("topK: k is " + std::to_string(params.k) +
                                 " and the tensor has shape " + t.shapeToString());
  const std::size_t n = t.dim(t.rank() - 1), rows = n ? t.numElements() / n : 0;
  const poplar::Type type = indices ? poplar::UNSIGNED_INT : t.elementType();
  std::vector<std::size_t> shape = t.shape();
  shape.back() = params.k;
  const Tensor out = graph.addVariable(type, shape, debugContext);
  const Tensor from = t.reshape({rows, n}), to = out.reshape({rows, params.k});
  const unsigned choice = (params.largest ? 1u : 0u) |
                          static_cast<unsigned>(params.sortOrder) << 1 | (indices ? 8u : 0u);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto tile = static_cast<unsigned>(row % graph.getTarget().getNumTiles());
    const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kTopK);
    graph.connect(v["rows"], std::vector<Tensor>{from[row]});
    graph.connect(v["out"], to[row]);
    graph.setInitialValue(v["type"], static_cast<unsigned>(t.elementType().identity()));
    graph.setInitialValue(v["outType"], static_cast<unsigned>(type.identity()));
    graph.setInitialValue(v["choice"], choice);
    graph.setTileMapping(v, tile);
    graph.setTileMapping(to[row], tile);
  }
  return out;
}

} // namespace

Tensor topK(Graph &graph, poplar::program::Sequence &prog, const Tensor &t,
            const TopKParams &params, const poplar::DebugContext &debugContext) {
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "topK"});
  const Tensor values = select(graph, t, params, false, cs, debugContext);
  prog.add(poplar::program::Execute(cs, debugContext));
  return values;
}

std::pair<Tensor, Tensor> topKWithPermutation(Graph &graph, poplar::program::Sequence &prog,
                                              const Tensor &t, const TopKParams &params,
                                              const poplar::DebugContext &debugContext) {
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "topK"});
  const Tensor values = select(graph, t, params, false, cs, debugContext);
  const Tensor indices = select(graph, t, params, true, cs, debugContext);
  prog.add(poplar::program::Execute(cs, debugContext));
  return {values, indices};
}

} // namespace popops
