#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popsparse/Embedding.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "dense_weights.h"
#include "poplibs/popops/elementwise/array_vertices.h"
#include "sparse_layout.h"

namespace popsparse {
namespace dynamic {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

Tensor spread(Graph &graph, const poplar::Type &type, const std::vector<std::size_t> &shape,
              const DebugContext &dc) {
  const Tensor t = graph.addVariable(type, shape, dc);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

void check(const Tensor &indices, const FullyConnectedParams &params) {
  if (params.getNumGroups() != 1)
    throw poputil::poplibs_error("sparse embeddings have one group, not " +
                                 std::to_string(params.getNumGroups()));
  if (indices.rank() != 1 || indices.elementType() != poplar::UNSIGNED_INT)
    throw poputil::poplibs_error("sparse embeddings need indices [n] of unsigned int, not " +
                                 indices.elementType().toString() + indices.shapeToString());
}

} // namespace

Tensor createIndicesTensor(Graph &graph, const FullyConnectedParams &, std::size_t numIndices,
                           const OptionFlags &, const DebugContext &debugContext) {
  return spread(graph, poplar::UNSIGNED_INT, {numIndices}, debugContext);
}

Tensor createSliceTensor(Graph &graph, const poplar::Type &dataType,
                         const FullyConnectedParams &params, std::size_t numIndices,
                         const DebugContext &debugContext, const OptionFlags &, PlanningCache *) {
  return spread(graph, dataType, {numIndices, params.getInputChannels()}, debugContext);
}

Tensor embeddingSlice(Graph &graph, const SparseTensor &t, const Tensor &indices, Sequence &prog,
                      const FullyConnectedParams &params, const DebugContext &debugContext,
                      const OptionFlags &, PlanningCache *) {
  const DebugContext dc{debugContext, "embeddingSlice"};
  check(indices, params);
  const Tensor dense = denseWeights(graph, t, params, prog, dc)[0];
  return popops::multiSlice(graph, dense, indices.expand({1}), {0}, {1}, prog, {}, {}, dc)
      .squeeze({1});
}

void embeddingUpdateAdd(Graph &graph, const SparseTensor &t, const Tensor &slices,
                        const Tensor &indices, const Tensor &scale, Sequence &prog,
                        const FullyConnectedParams &params, const DebugContext &debugContext,
                        const OptionFlags &, PlanningCache *) {
  const DebugContext dc{debugContext, "embeddingUpdateAdd"};
  check(indices, params);
  const Tensor &meta = t.getMetaInfoTensor(), &values = t.getNzValuesTensor();
  const auto &dimensions = params.getSparsityParams().blockDimensions;
  const std::size_t block = dimensions[0] * dimensions[1];
  if (slices.shape() != std::vector<std::size_t>{indices.dim(0), params.getInputChannels()} ||
      slices.elementType() != values.elementType() || scale.numElements() != 1)
    throw poputil::poplibs_error("embeddingUpdateAdd needs slices [indices, inputs] of the "
                                 "weights' type and one factor, not " +
                                 slices.elementType().toString() + slices.shapeToString() +
                                 " and " + scale.shapeToString());
  const Tensor factor = popops::cast(graph, scale.flatten(), poplar::FLOAT, prog, dc);
  const auto mapping = graph.getTileMapping(values);
  const poplar::ComputeSet cs = graph.addComputeSet(dc);
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const poplar::Interval &part : mapping[tile]) {
      std::vector<Tensor> rows{meta.slice(0, kHeaderWords),
                               meta.slice(kHeaderWords + 2 * (part.begin() / block),
                                          kHeaderWords + 2 * (part.end() / block)),
                               factor};
      for (std::size_t i = 0; i < slices.dim(0); ++i)
        rows.push_back(slices[i]);
      const poplar::VertexRef v = graph.addVertex(cs, poplar::emulator::kSparseRowUpdate);
      graph.connect(v["rows"], rows);
      graph.connect(v["indices"], indices);
      graph.connect(v["inout"], values.slice(part));
      graph.setInitialValue(v["type"], static_cast<unsigned>(values.elementType().identity()));
      graph.setInitialValue(v["choice"], static_cast<unsigned>(part.begin() / block));
      graph.setTileMapping(v, tile);
    }
  prog.add(poplar::program::Execute(cs, dc));
}

} // namespace dynamic
} // namespace popsparse
