#include <algorithm>

#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Gather.hpp>
#include <popops/Loop.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "index_vectors.h"

namespace popops {

using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;
using Sizes = std::vector<std::size_t>;

Tensor createGatherInput(Graph &graph, const poplar::Type &type, const Sizes &operandShape,
                         unsigned axis, GatherParams, const poplar::DebugContext &debugContext) {
  return createSliceableTensor(graph, type, operandShape, {axis}, {1}, 0, debugContext);
}

Tensor gather(Graph &graph, const Tensor &input, const Tensor &indices, unsigned axis,
              Sequence &prog, GatherParams, const poplar::DebugContext &debugContext,
              const OptionFlags &options) {
  if (axis >= input.rank())
    throw poputil::poplibs_error("gather: axis " + std::to_string(axis) + " of a tensor of shape " +
                                 input.shapeToString());
  if (indices.elementType() != poplar::UNSIGNED_INT && indices.elementType() != poplar::INT)
    throw poputil::poplibs_error("gather: indices of type " + indices.elementType().toString());
  const Tensor offsets = indices.flatten().expand({1}).reinterpret(poplar::UNSIGNED_INT);
  const Tensor slices =
      multiSlice(graph, input, offsets, {axis}, {1}, prog, SlicePlan(), options, debugContext)
          .squeeze({axis + 1})
          .dimRoll(0, axis);
  return slices.reshapePartial(axis, axis + 1, indices.shape());
}

Tensor createGatherInput(Graph &graph, const poplar::Type &type, const Sizes &inputShape,
                         const Sizes &sliceSizes, std::vector<unsigned> startIndexMap,
                         const poplar::DebugContext &debugContext) {
  const Sizes dims(startIndexMap.begin(), startIndexMap.end());
  Sizes sizes;
  for (const std::size_t dim : dims)
    sizes.push_back(sliceSizes.at(dim));
  return createSliceableTensor(graph, type, inputShape, dims, sizes, 0, debugContext);
}

Tensor gather(Graph &graph, const Tensor &operand, const Tensor &indices,
              std::size_t indexVectorDim, const Sizes &offsetDims, const Sizes &sliceSizes,
              const Sizes &collapsedSliceDims, const std::vector<unsigned> &startIndexMap,
              Sequence &prog, const poplar::DebugContext &debugContext, const OptionFlags &) {
  using namespace expr;
  const poplar::DebugContext dc{debugContext, "gather"};
  const IndexVectors at(operand, indices, indexVectorDim, startIndexMap, "gather");
  const auto collapsed = [&](std::size_t dim) {
    return std::count(collapsedSliceDims.begin(), collapsedSliceDims.end(), dim) != 0;
  };
  Sizes slice = at.shape; // the indices' dimensions, then those of a slice that stay
  for (unsigned d = 0; d < operand.rank(); ++d) {
    const bool indexed = std::count(at.dims.begin(), at.dims.end(), d) != 0;
    if (sliceSizes.size() != operand.rank() || sliceSizes[d] > operand.dim(d) ||
        (collapsed(d) && sliceSizes[d] != 1) || (!indexed && sliceSizes[d] != operand.dim(d)))
      throw poputil::poplibs_error("gather: slices with dimension " + std::to_string(d) +
                                   " of that size do not come of " + operand.shapeToString());
    if (!collapsed(d))
      slice.push_back(sliceSizes[d]);
  }
  if (slice.size() != at.shape.size() + offsetDims.size())
    throw poputil::poplibs_error("gather: " + std::to_string(offsetDims.size()) +
                                 " dimensions for slices of " +
                                 std::to_string(slice.size() - at.shape.size()));
  const Sizes sizes = at.along(sliceSizes);
  Sizes stored(sliceSizes);
  stored.insert(stored.begin(), at.vectors.dim(0));
  const Tensor result = graph.addVariable(operand.elementType(), stored, dc);
  for (std::size_t i = 0; i < result.dim(0); ++i)
    poputil::mapTensorLinearly(graph, result[i]);
  const Tensor last = at.last(graph, operand, sliceSizes);
  prog.add(countedLoop(
      graph, result.dim(0),
      [&](const Tensor &count) {
        Sequence step;
        Tensor first = at.at(graph, count, step, dc);
        if (indices.elementType() == poplar::INT)
          first = map(graph, Max(_1, Const(0)), {first.reinterpret(poplar::INT)}, step, dc)
                      .reinterpret(poplar::UNSIGNED_INT);
        const Tensor fitting = map(graph, Min(_1, _2), {first, last}, step, dc);
        const Tensor one = dynamicSlice(graph, operand, fitting, at.dims, sizes, step, dc);
        dynamicUpdate(graph, result, one.expand({0}), count, {0}, {1}, step, dc);
        return step;
      },
      dc));
  // Dimension i of the result is the next of the slice's if it is among offsetDims, else of the
  // indices'.
  std::vector<unsigned> order;
  unsigned ofIndices = 0, ofSlice = static_cast<unsigned>(at.shape.size());
  for (std::size_t i = 0; i < slice.size(); ++i)
    order.push_back(std::count(offsetDims.begin(), offsetDims.end(), i) ? ofSlice++ : ofIndices++);
  if (ofSlice != slice.size())
    throw poputil::poplibs_error("gather: offset dimensions that the result has not");
  return result.reshape(slice).dimShuffle(order);
}

} // namespace popops
