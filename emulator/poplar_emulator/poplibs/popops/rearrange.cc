#include <popops/Cast.hpp>
#include <popops/Rearrange.hpp>
#include <poputil/exceptions.hpp>

namespace popops::rearrange {

using poplar::Graph;
using poplar::Tensor;

namespace {

constexpr unsigned kFastTranspose = 4; // rows and columns of a block

} // namespace

bool canUseFastTranspose(const poplar::Target &target, const poplar::Type &type, unsigned numRows,
                         unsigned numColumns, unsigned numTranspositions) {
  return numTranspositions > 0 && target.getTypeSize(type) == 2 && numRows % kFastTranspose == 0 &&
         numColumns % kFastTranspose == 0;
}

void addTransposeVertices(
    Graph &graph, const poplar::ComputeSet &cs, const poplar::Type &dType, unsigned rows,
    unsigned cols, const Graph::TileToTensorMapping &mapping,
    std::function<std::pair<const Tensor, const Tensor>(std::size_t)> getInOut,
    const poplar::DebugContext &) {
  for (unsigned tile = 0; tile < mapping.size(); ++tile)
    for (const poplar::Interval &indices : mapping[tile])
      for (std::size_t i = indices.begin(); i < indices.end(); ++i) {
        const auto inOut = getInOut(i);
        for (const Tensor &t : {inOut.first, inOut.second})
          if (t.elementType() != dType || t.numElements() != std::size_t{rows} * cols)
            throw poputil::poplibs_error("transposition " + std::to_string(i) + " is of " +
                                         t.shapeToString() + " " + t.elementType().toString() +
                                         ", not of " + std::to_string(rows) + " by " +
                                         std::to_string(cols) + " " + dType.toString());
        const Tensor in = inOut.first.flatten().reshape({rows, cols}).transpose();
        cast(graph, in, inOut.second.flatten().reshape({cols, rows}), cs);
      }
}

Tensor partialTranspose(Graph &graph, const Tensor &in, const poplar::ComputeSet &cs,
                        const poplar::DebugContext &debugContext) {
  if (in.rank() < 2)
    throw poputil::poplibs_error("a transposition of a tensor " + in.shapeToString() +
                                 ", which has not two dimensions");
  const Tensor turned = in.dimRoll(in.rank() - 1, in.rank() - 2);
  const Tensor out = graph.clone(turned, {debugContext, "partialTranspose"},
                                 poplar::TensorCloneMethod::CREATE_NEW_ORDER);
  graph.setTileMapping(out, graph.getTileMapping(turned));
  cast(graph, turned, out, cs);
  return out;
}

unsigned getMinimumRegroupGrainSize(const poplar::Type &type) {
  return type == poplar::HALF ? 4 : type == poplar::FLOAT ? 2 : 1;
}

Tensor regroupTensor(Graph &graph, const Tensor &t, poplar::program::Sequence &copies,
                     const poplar::ComputeSet &, const poputil::GroupingInfo &,
                     const poputil::GroupingInfo &to, const poplar::DebugContext &debugContext) {
  const auto [dimension, group] = to;
  if (dimension >= t.rank() || group == 0 || t.dim(dimension) % group != 0)
    throw poputil::poplibs_error("groups of " + std::to_string(group) + " along dimension " +
                                 std::to_string(dimension) + " of a tensor " + t.shapeToString());
  // [..., size / group, ..., group] in memory
  const Tensor grouped =
      t.reshapePartial(dimension, dimension + 1, {t.dim(dimension) / group, group})
          .dimRoll(dimension + 1, t.rank());
  const poplar::DebugContext dc{debugContext, "regroup"};
  const Tensor stored = graph.addVariable(t.elementType(), grouped.shape(), dc);
  graph.setTileMapping(stored, graph.getTileMapping(grouped));
  copies.add(poplar::program::Copy(grouped, stored, false, dc));
  return stored.dimRoll(t.rank(), dimension + 1).reshape(t.shape());
}

Tensor regroupIfPossible(Graph &graph, const Tensor &t, poplar::program::Sequence &prog,
                         const poputil::GroupingInfo &to,
                         const poplar::DebugContext &debugContext) {
  if (to.first >= t.rank() || to.second == 0 || t.dim(to.first) % to.second != 0)
    return t;
  return regroupTensor(graph, t, prog, graph.addComputeSet(debugContext), {0, 1}, to, debugContext);
}

Tensor regroupIfBeneficial(Graph &, const Tensor &in, const Tensor &, poplar::program::Sequence &,
                           const poplar::DebugContext &) {
  return in;
}

Tensor regroupIfBeneficial(Graph &, const Tensor &in, std::size_t, poplar::program::Sequence &,
                           const poplar::DebugContext &) {
  return in;
}

} // namespace popops::rearrange
