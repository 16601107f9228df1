#include <algorithm>

#include <popops/DynamicSlice.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

using poplar::ArrayRef;
using poplar::ComputeSet;
using poplar::Graph;
using poplar::Interval;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::program::Execute;
using poplar::program::Sequence;

namespace {

using Sizes = std::vector<std::size_t>;

void check(const Tensor &t, const Tensor &offset, const Sizes &dims, const Sizes &sizes) {
  if (dims.size() != sizes.size() || offset.numElements() != dims.size())
    throw poputil::poplibs_error("a dynamic slice needs as many sizes and offsets as dimensions");
  if (offset.elementType() != poplar::UNSIGNED_INT)
    throw poputil::poplibs_error("the offset of a dynamic slice is of type unsigned int, not " +
                                 offset.elementType().toString());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] >= t.rank() || sizes[i] > t.dim(static_cast<unsigned>(dims[i])))
      throw poputil::poplibs_error("a dynamic slice out of the range of " + t.shapeToString());
}

/// Moves along one dimension: `whole` and `part` differ in its extent. One vertex for each tile
/// of the first row of `whole`, with the elements of all rows below it.
void addMove(Graph &graph, const Tensor &whole, const Tensor &part, const Tensor &offset,
             unsigned dim, bool update, ComputeSet cs) {
  const Tensor w = whole.dimRoll(dim).flatten(1, whole.rank());
  const Tensor p = part.dimRoll(dim).flatten(1, part.rank());
  const auto mapping = graph.getTileMapping(w[0]);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const ArrayRef<Interval> regions(mapping[tile]);
    const auto rowsOf = [&](const Tensor &t) {
      std::vector<Tensor> rows;
      for (std::size_t i = 0; i < t.dim(0); ++i)
        rows.push_back(poplar::concat(t[i].slices(regions)));
      return rows;
    };
    const VertexRef v = graph.addVertex(cs, update ? poplar::emulator::kDynamicUpdate
                                                   : poplar::emulator::kDynamicSlice);
    graph.connect(v["rows"], rowsOf(update ? p : w));
    if (update)
      graph.connect(v["inout"], rowsOf(w));
    else
      graph.connect(v["out"], poplar::concat(rowsOf(p)));
    graph.connect(v["scalar"], offset.reshape({}));
    graph.setInitialValue(v["type"], static_cast<unsigned>(whole.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(p.dim(0)));
    graph.setTileMapping(v, tile);
  }
}

/// A tensor like the first `size` rows of `t`.
Tensor firstRows(Graph &graph, const Tensor &t, unsigned dim, std::size_t size,
                 const poplar::DebugContext &debugContext) {
  const Tensor row = t.slice(0, 1, dim);
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < size; ++i)
    rows.push_back(graph.clone(row, debugContext));
  return poplar::concat(rows, dim);
}

} // namespace

Tensor createSliceableTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                             const Sizes &dims, const Sizes &sizes, std::size_t minGrainSize,
                             const poplar::DebugContext &debugContext) {
  if (dims.size() != sizes.size())
    throw poputil::poplibs_error("createSliceableTensor needs a size for each dimension");
  // The sliced dimensions come last in memory, so that a tile holds all of an element's slices.
  std::vector<unsigned> order, inverse(shape.size());
  for (unsigned d = 0; d < shape.size(); ++d)
    if (std::find(dims.begin(), dims.end(), d) != dims.end())
      order.push_back(d);
  const std::size_t sliced = order.size();
  for (unsigned d = 0; d < shape.size(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end())
      order.push_back(d);
  Sizes stored;
  for (unsigned i = 0; i < order.size(); ++i) {
    stored.push_back(shape[order[i]]);
    inverse[order[i]] = i;
  }
  const Tensor t = graph.addVariable(type, stored, debugContext);
  const Tensor rows = t.flatten(0, static_cast<unsigned>(sliced))
                          .flatten(1, t.rank() - static_cast<unsigned>(sliced) + 1);
  const auto grain = static_cast<unsigned>(
      std::max<std::size_t>(minGrainSize, graph.getTarget().getVectorWidth(type)));
  for (std::size_t i = 0; i < rows.dim(0); ++i)
    poputil::mapTensorLinearly(graph, rows[i], grain, grain);
  return t.dimShuffle(inverse);
}

Tensor createSliceTensor(Graph &graph, const Tensor &t, const Sizes &dims, const Sizes &sizes,
                         std::size_t numIndices, const poplar::DebugContext &debugContext) {
  Tensor part = t;
  for (std::size_t i = 0; i < dims.size(); ++i)
    part = part.slice(0, sizes[i], static_cast<unsigned>(dims[i]));
  std::vector<Tensor> slices;
  for (std::size_t i = 0; i < numIndices; ++i)
    slices.push_back(graph.clone(part, debugContext).expand({0}));
  return poplar::concat(slices);
}

Tensor createDynamicSliceOutput(Graph &graph, const Tensor &t, const Sizes &dims,
                                const Sizes &sizes, const poplar::DebugContext &debugContext) {
  if (dims.size() != sizes.size())
    throw poputil::poplibs_error("createDynamicSliceOutput needs a size for each dimension");
  Tensor output = t;
  for (const std::size_t dim : dims)
    output = output.slice(0, 1, static_cast<unsigned>(dim));
  for (std::size_t i = 0; i < dims.size(); ++i)
    output = firstRows(graph, output, static_cast<unsigned>(dims[i]), sizes[i], debugContext);
  return output;
}

void dynamicSliceWithOutput(Graph &graph, const Tensor &output, const Tensor &t,
                            const Tensor &offset, const Sizes &dims, const Sizes &sizes,
                            Sequence &prog, const poplar::DebugContext &debugContext,
                            const OptionFlags &) {
  check(t, offset, dims, sizes);
  const Tensor offsets = offset.flatten();
  Tensor from = t;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto dim = static_cast<unsigned>(dims[i]);
    const Tensor to =
        i + 1 == dims.size() ? output : firstRows(graph, from, dim, sizes[i], debugContext);
    const ComputeSet cs = graph.addComputeSet({debugContext, "dynamicSlice"});
    addMove(graph, from, to, offsets[i], dim, false, cs);
    prog.add(Execute(cs, debugContext));
    from = to;
  }
}

Tensor dynamicSlice(Graph &graph, const Tensor &t, const Tensor &offset, const Sizes &dims,
                    const Sizes &sizes, Sequence &prog, const poplar::DebugContext &debugContext,
                    const OptionFlags &options) {
  check(t, offset, dims, sizes);
  if (dims.empty())
    return t;
  const Tensor output = createDynamicSliceOutput(graph, t, dims, sizes, debugContext);
  dynamicSliceWithOutput(graph, output, t, offset, dims, sizes, prog, debugContext, options);
  return output;
}

void dynamicUpdate(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offset,
                   const Sizes &dims, const Sizes &sizes, Sequence &prog,
                   const poplar::DebugContext &debugContext, const OptionFlags &options) {
  check(t, offset, dims, sizes);
  if (dims.empty())
    return;
  const auto dim = static_cast<unsigned>(dims[0]);
  const Tensor first = offset.flatten().slice(0, 1);
  Tensor rows = s;
  if (dims.size() > 1) { // the rows of the first dimension, with the rest updated in them
    rows = dynamicSlice(graph, t, first, {dims[0]}, {sizes[0]}, prog, debugContext, options);
    dynamicUpdate(graph, rows, s, offset.flatten().slice(1, dims.size()),
                  {dims.begin() + 1, dims.end()}, {sizes.begin() + 1, sizes.end()}, prog,
                  debugContext, options);
  }
  const ComputeSet cs = graph.addComputeSet({debugContext, "dynamicUpdate"});
  addMove(graph, t, rows, first[0], dim, true, cs);
  prog.add(Execute(cs, debugContext));
}

} // namespace popops
