#include <poplin/MatMul.hpp>
#include <popsparse/FullyConnected.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "dense_weights.h"
#include "poplibs/popops/elementwise/array_vertices.h"
#include "sparse_layout.h"

namespace popsparse {
namespace dynamic {

using poplar::ComputeSet;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::program::Execute;
using poplar::program::Sequence;

namespace {

unsigned blockSize(const FullyConnectedParams &params) {
  const auto &block = params.getSparsityParams().blockDimensions;
  return static_cast<unsigned>(block[0] * block[1]);
}
std::size_t metaWords(const FullyConnectedParams &params) {
  return kHeaderWords + 2 * (params.getNumNonZeroValues() / blockSize(params));
}
Tensor createValues(Graph &graph, const poplar::Type &type, const FullyConnectedParams &params,
                    const DebugContext &dc) {
  const Tensor values = graph.addVariable(type, {params.getNumNonZeroValues()}, dc);
  poputil::mapTensorLinearly(graph, values, blockSize(params), blockSize(params));
  return values;
}

void checkMeta(const Tensor &meta, const FullyConnectedParams &params) {
  if (meta.rank() != 1 || meta.dim(0) != metaWords(params) ||
      meta.elementType() != poplar::UNSIGNED_SHORT)
    throw poputil::poplibs_error("the metainformation of these weights is unsigned short {" +
                                 std::to_string(metaWords(params)) + "}, not " +
                                 meta.getDebugStr());
}
/// [batch, groups * channels] as [groups, batch, channels]
Tensor byGroup(const Tensor &t, std::size_t channels, const FullyConnectedParams &params) {
  if (t.rank() != 2 || t.dim(0) != params.getBatchSize() || t.dim(1) != channels)
    throw poputil::poplibs_error(
        "a fully connected layer with {" + std::to_string(params.getBatchSize()) + "," +
        std::to_string(channels) + "} and a tensor of shape " + t.shapeToString());
  return t.reshapePartial(1, 2, {params.getNumGroups(), channels / params.getNumGroups()})
      .dimRoll(1);
}
Tensor together(const Tensor &t) { return t.dimRoll(0, 1).flatten(1, 3); }

} // namespace

Tensor denseWeights(Graph &graph, const SparseTensor &weights, const FullyConnectedParams &params,
                    Sequence &prog, const DebugContext &dc) {
  const Tensor &meta = weights.getMetaInfoTensor(), &values = weights.getNzValuesTensor();
  checkMeta(meta, params);
  const std::size_t rows = params.getOutputChannels();
  const Tensor all = graph.addVariable(values.elementType(),
                                       {rows, params.getInputChannelsPerGroup()}, {dc, "dense"});
  const std::size_t each = poplar::emulator::ceilDivide(rows, graph.getTarget().getNumTiles());
  const ComputeSet cs = graph.addComputeSet({dc, "dense"});
  for (std::size_t begin = 0, tile = 0; begin < rows; begin += each, ++tile) {
    std::vector<Tensor> here;
    for (std::size_t r = begin; r < std::min(rows, begin + each); ++r)
      here.push_back(all[r]);
    const VertexRef v = graph.addVertex(cs, poplar::emulator::kSparseToDense);
    graph.connect(v["rows"], std::vector<Tensor>{meta.slice(0, kHeaderWords),
                                                 meta.slice(kHeaderWords, meta.dim(0)), values});
    graph.connect(v["out"], here);
    graph.setInitialValue(v["type"], static_cast<unsigned>(values.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(begin));
    graph.setTileMapping(v, static_cast<unsigned>(tile));
    for (const Tensor &row : here)
      graph.setTileMapping(row, static_cast<unsigned>(tile));
  }
  prog.add(Execute(cs, dc));
  return all.reshapePartial(0, 1, {params.getNumGroups(), params.getOutputChannelsPerGroup()});
}

SparseTensor createFullyConnectedWeights(Graph &graph, const poplar::Type &inputType,
                                         const FullyConnectedParams &params,
                                         const DebugContext &debugContext, const OptionFlags &,
                                         PlanningCache *) {
  const Tensor meta =
      graph.addVariable(poplar::UNSIGNED_SHORT, {metaWords(params)}, {debugContext, "metaInfo"});
  poputil::mapTensorLinearly(graph, meta);
  return {meta, createValues(graph, inputType, params, {debugContext, "nzValues"})};
}

Tensor createFullyConnectedInput(Graph &graph, const poplar::Type &inputType,
                                 const FullyConnectedParams &params,
                                 const DebugContext &debugContext, const OptionFlags &,
                                 PlanningCache *) {
  const Tensor t = graph.addVariable(inputType, {params.getBatchSize(), params.getInputChannels()},
                                     debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

Tensor fullyConnectedFwd(Graph &graph, const SparseTensor &weights, const Tensor &activations,
                         const FullyConnectedParams &fcParams, Sequence &prog,
                         const DebugContext &debugContext, const OptionFlags &, PlanningCache *) {
  const DebugContext dc{debugContext, "fullyConnectedFwd"};
  const Tensor in = byGroup(activations, fcParams.getInputChannels(), fcParams);
  const Tensor w = denseWeights(graph, weights, fcParams, prog, dc);
  return together(poplin::matMulGrouped(graph, in, w.dimShuffle({0, 2, 1}), prog,
                                        activations.elementType(), dc));
}

Tensor fullyConnectedGradA(Graph &graph, const SparseTensor &weights, const Tensor &gradients,
                           const FullyConnectedParams &fcParams, Sequence &prog,
                           const DebugContext &debugContext, const OptionFlags &, PlanningCache *) {
  const DebugContext dc{debugContext, "fullyConnectedGradA"};
  const Tensor out = byGroup(gradients, fcParams.getOutputChannels(), fcParams);
  const Tensor w = denseWeights(graph, weights, fcParams, prog, dc);
  return together(poplin::matMulGrouped(graph, out, w, prog, gradients.elementType(), dc));
}

Tensor fullyConnectedSparseGradW(Graph &graph, const Tensor &sparsityMetaInfo, const Tensor &gradA,
                                 const Tensor &activations, const FullyConnectedParams &fcParams,
                                 Sequence &prog, const DebugContext &debugContext,
                                 const OptionFlags &, PlanningCache *) {
  const DebugContext dc{debugContext, "fullyConnectedSparseGradW"};
  checkMeta(sparsityMetaInfo, fcParams);
  byGroup(gradA, fcParams.getOutputChannels(), fcParams);
  byGroup(activations, fcParams.getInputChannels(), fcParams);
  const Tensor values = createValues(graph, activations.elementType(), fcParams, dc);
  const Tensor header = sparsityMetaInfo.slice(0, kHeaderWords),
               places = sparsityMetaInfo.slice(kHeaderWords, sparsityMetaInfo.dim(0));
  const unsigned block = blockSize(fcParams);
  const auto mapping = graph.getTileMapping(values);
  const ComputeSet cs = graph.addComputeSet(dc);
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const poplar::Interval &part : mapping[tile]) {
      std::vector<Tensor> rows{header,
                               places.slice(2 * part.begin() / block, 2 * part.end() / block)};
      for (const Tensor &t : {gradA, activations})
        for (std::size_t b = 0; b < t.dim(0); ++b)
          rows.push_back(t[b]);
      const VertexRef v = graph.addVertex(cs, poplar::emulator::kSparseGradient);
      graph.connect(v["rows"], rows);
      graph.connect(v["out"], values.slice(part));
      graph.setInitialValue(v["type"], static_cast<unsigned>(values.elementType().identity()));
      graph.setInitialValue(v["choice"], static_cast<unsigned>(part.begin() / block));
      graph.setTileMapping(v, tile);
    }
  prog.add(Execute(cs, dc));
  return values;
}

std::tuple<unsigned, unsigned, unsigned>
fullyConnectedDenseGradWSerialSplits(const Graph &, const poplar::Type &,
                                     const FullyConnectedParams &, const OptionFlags &,
                                     PlanningCache *) {
  return {1, 1, 1};
}

} // namespace dynamic
} // namespace popsparse
