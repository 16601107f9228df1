#include <algorithm>

#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/Scatter.hpp>
#include <poputil/exceptions.hpp>

#include "index_vectors.h"

namespace popops {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;
using Sizes = std::vector<std::size_t>;

namespace {

bool has(const Sizes &all, std::size_t one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// [number of windows, ...window], with every dimension of the operand.
Tensor windowsOf(const Tensor &operand, const Tensor &updates, const IndexVectors &at,
                 const std::vector<unsigned> &windowDims, const Sizes &inserted) {
  std::vector<unsigned> order;
  for (unsigned d = 0; d < updates.rank(); ++d)
    if (std::find(windowDims.begin(), windowDims.end(), d) == windowDims.end())
      order.push_back(d);
  const auto outer = static_cast<unsigned>(order.size());
  order.insert(order.end(), windowDims.begin(), windowDims.end());
  if (order.size() != updates.rank() || outer != at.shape.size() ||
      windowDims.size() + inserted.size() != operand.rank())
    throw poputil::poplibs_error(
        "scatter: " + updates.shapeToString() + " with " + std::to_string(windowDims.size()) +
        " dimensions of a window does not update " + operand.shapeToString() + " with " +
        std::to_string(inserted.size()) + " inserted");
  Tensor t = updates.dimShuffle(order);
  for (unsigned d = 0; d < outer; ++d)
    if (t.dim(d) != at.shape[d])
      throw poputil::poplibs_error("scatter: updates " + updates.shapeToString() +
                                   " have not the shape of the indices");
  t = outer ? t.flatten(0, outer) : t.expand({0});
  Sizes shape{t.dim(0)};
  for (unsigned d = 0, from = 1; d < operand.rank(); ++d)
    shape.push_back(has(inserted, d) ? 1 : t.dim(from++));
  for (unsigned d = 0; d < operand.rank(); ++d)
    if (shape[d + 1] > operand.dim(d) || (shape[d + 1] != operand.dim(d) && !has(at.dims, d)))
      throw poputil::poplibs_error("scatter: windows of " + updates.shapeToString() +
                                   " do not fit into " + operand.shapeToString());
  return t.reshape(shape);
}

void scatterInto(Graph &graph, const Tensor &operand, const Tensor &indices, const Tensor &updates,
                 std::size_t indexVectorDim, const std::vector<unsigned> &windowDims,
                 const Sizes &inserted, const std::vector<unsigned> &operandDims,
                 const UpdateComputationFunc *compute, Sequence &prog,
                 const poplar::DebugContext &dc) {
  using namespace expr;
  if (operand.elementType() != updates.elementType())
    throw poputil::poplibs_error("scatter: updates of type " + updates.elementType().toString() +
                                 " for an operand of type " + operand.elementType().toString());
  const IndexVectors at(operand, indices, indexVectorDim, operandDims, "scatter");
  const Tensor windows = windowsOf(operand, updates, at, windowDims, inserted);
  const Sizes window(windows.shape().begin() + 1, windows.shape().end()), sizes = at.along(window);
  if (!compute && at.dims.size() == 1 && sizes[0] == 1) {
    multiUpdate(graph, operand, windows, at.vectors.reinterpret(poplar::UNSIGNED_INT), at.dims,
                sizes, prog, SlicePlan(), {}, dc);
    return;
  }
  const Tensor last = at.last(graph, operand, window);
  prog.add(countedLoop(
      graph, windows.dim(0),
      [&](const Tensor &count) {
        Sequence step;
        const Tensor first = at.at(graph, count, step, dc);
        // A negative index is a large one of no sign.
        const Tensor within = map(graph, _1 <= _2, {first, last}, step, dc);
        const Tensor fits = reduce(graph, within, {0}, Operation::LOGICAL_AND, step, dc);
        Tensor update = dynamicSlice(graph, windows, count, {0}, {1}, step, dc)[0];
        Tensor current = dynamicSlice(graph, operand, first, at.dims, sizes, step, dc);
        const Tensor made = compute ? (*compute)(graph, current, update, step) : update;
        if (made.shape() != current.shape() || made.elementType() != current.elementType())
          throw poputil::poplibs_error("scatter: the update computation made " +
                                       made.getDebugStr() + " of a window " +
                                       current.getDebugStr());
        const Tensor value = map(graph, Select(_1, _2, _3), {made, current, fits}, step, dc);
        dynamicUpdate(graph, operand, value, first, at.dims, sizes, step, dc);
        return step;
      },
      dc));
}

} // namespace

void scatter(Graph &graph, const Tensor &operand, const Tensor &indices, const Tensor &updates,
             std::size_t indexVectorDim, std::vector<unsigned> updateWindowDims,
             Sizes insertWindowDims, std::vector<unsigned> scatterDimsToOperandDims, Sequence &prog,
             const poplar::DebugContext &debugContext, const poplar::OptionFlags &) {
  scatterInto(graph, operand, indices, updates, indexVectorDim, updateWindowDims, insertWindowDims,
              scatterDimsToOperandDims, nullptr, prog, {debugContext, "scatter"});
}

void scatter(Graph &graph, const Tensor &operand, const Tensor &indices, const Tensor &updates,
             std::size_t indexVectorDim, std::vector<unsigned> updateWindowDims,
             Sizes insertWindowDims, std::vector<unsigned> scatterDimsToOperandDims,
             UpdateComputationFunc &updateComputation, Sequence &prog,
             const poplar::DebugContext &debugContext, const poplar::OptionFlags &) {
  scatterInto(graph, operand, indices, updates, indexVectorDim, updateWindowDims, insertWindowDims,
              scatterDimsToOperandDims, &updateComputation, prog, {debugContext, "scatter"});
}

} // namespace popops
