#include <poplin/MeshGrid.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/SpatialSoftMax.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {

using poplar::Tensor;

std::pair<Tensor, Tensor> spatialSoftMax2D(poplar::Graph &graph, poplar::program::Sequence &prog,
                                           const Tensor &fields, float temperature,
                                           bool disableSoftmax,
                                           const poplar::DebugContext &debugContext) {
  using popops::Operation;
  const poplar::DebugContext dc{debugContext, "spatialSoftMax2D"};
  if (fields.rank() != 3)
    throw poputil::poplibs_error("a spatial softmax of a tensor " + fields.shapeToString() +
                                 ", which is not [fields, rows, columns]");
  const Tensor scale = graph.addVariable(fields.elementType(), {}, {dc, "temperature"});
  graph.setTileMapping(scale, 0);
  graph.setInitialValue(scale, temperature);
  Tensor weights = fields;
  if (!disableSoftmax) {
    const Tensor scaled = popops::div(graph, fields.flatten(1, 3), scale, prog, dc);
    logSoftmaxInPlace(graph, scaled, prog, dc);
    popops::expInPlace(graph, scaled, prog, dc);
    weights = scaled.reshape(fields.shape());
  }
  const auto mean = [&](std::size_t along, std::size_t other) {
    const Tensor sums = popops::reduce(graph, weights, {other}, Operation::ADD, prog, dc);
    const Tensor places =
        poplin::linspace(graph, fields.elementType(), -1, 1, fields.dim(along), dc);
    const Tensor weighted = popops::mul(graph, sums, places.expand({0}), prog, dc);
    return popops::reduce(graph, weighted, {1}, Operation::ADD, prog, dc).expand({1});
  };
  return {concat(mean(1, 2), mean(2, 1), 1), scale};
}

} // namespace popnn
