#include <popops/DynamicSlice.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "array_vertices.h"

namespace popops {

using poplar::ArrayRef;
using poplar::Graph;
using poplar::Interval;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::program::Sequence;

namespace {

using Sizes = std::vector<std::size_t>;

unsigned checked(const Tensor &t, const Tensor &offsets, const Sizes &dims, const Sizes &sizes) {
  if (dims.size() != 1 || sizes.size() != 1)
    throw poputil::poplibs_error("a multiSlice or multiUpdate of more than one dimension is not "
                                 "emulated");
  if (dims[0] >= t.rank() || sizes[0] > t.dim(static_cast<unsigned>(dims[0])))
    throw poputil::poplibs_error("a multiSlice out of the range of " + t.shapeToString());
  if (offsets.rank() != 2 || offsets.dim(1) != 1 || offsets.elementType() != poplar::UNSIGNED_INT)
    throw poputil::poplibs_error("the offsets of a multiSlice are of type unsigned int and shape "
                                 "{n,1}, not " +
                                 offsets.getDebugStr());
  return static_cast<unsigned>(dims[0]);
}

/// [rows along dim, elements of a row]
Tensor rowsOf(const Tensor &t, unsigned dim) { return t.dimRoll(dim).flatten(1, t.rank()); }

/// The elements of each row that `regions` has.
std::vector<Tensor> partsOf(const Tensor &rows, const std::vector<Interval> &regions) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < rows.dim(0); ++i)
    parts.push_back(poplar::concat(rows[i].slices(ArrayRef<Interval>(regions))));
  return parts;
}

void update(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
            const Tensor &scale, poplar::emulator::MultiUpdate kind, const Sizes &dims,
            const Sizes &sizes, Sequence &prog, const poplar::DebugContext &debugContext) {
  const unsigned dim = checked(t, offsets, dims, sizes);
  if (s.rank() != t.rank() + 1 || s.dim(0) != offsets.dim(0) || s.dim(dim + 1) != sizes[0])
    throw poputil::poplibs_error("multiUpdate of " + t.shapeToString() + " with slices " +
                                 s.shapeToString());
  const Tensor to = rowsOf(t, dim);
  const Tensor from = s.dimRoll(dim + 1, 1).flatten(2, s.rank()).flatten(0, 2);
  const auto mapping = graph.getTileMapping(to[0]);
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "multiUpdate"});
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const VertexRef v = graph.addVertex(cs, poplar::emulator::kMultiUpdate);
    graph.connect(v["rows"], partsOf(from, mapping[tile]));
    graph.connect(v["inout"], partsOf(to, mapping[tile]));
    graph.connect(v["indices"], offsets.flatten());
    graph.connect(v["scalar"], scale.reshape({}));
    graph.setInitialValue(v["type"], static_cast<unsigned>(t.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(kind));
    graph.setTileMapping(v, tile);
  }
  prog.add(poplar::program::Execute(cs, debugContext));
}

Tensor one(Graph &graph, const poplar::Type &type) {
  const Tensor t = graph.addConstant(type, {}, 1.0f);
  graph.setTileMapping(t, 0);
  return t;
}

} // namespace

namespace embedding {
SlicePlan plan(const Graph &, const poplar::Type &, std::size_t, std::size_t, const Sizes &,
               const OptionFlags &) {
  return {};
}
} // namespace embedding

Tensor createSliceableTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                             const Sizes &dims, const Sizes &sizes, const SlicePlan &,
                             const OptionFlags &, const poplar::DebugContext &debugContext) {
  return createSliceableTensor(graph, type, shape, dims, sizes, 0, debugContext);
}

Tensor createSliceTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                         const Sizes &dims, const Sizes &sizes, std::size_t numIndices,
                         const SlicePlan &, const OptionFlags &,
                         const poplar::DebugContext &debugContext) {
  Sizes sliced{numIndices};
  sliced.insert(sliced.end(), shape.begin(), shape.end());
  for (std::size_t i = 0; i < dims.size(); ++i)
    sliced.at(dims[i] + 1) = sizes.at(i);
  const Tensor t = graph.addVariable(type, sliced, debugContext);
  for (std::size_t i = 0; i < numIndices; ++i)
    poputil::mapTensorLinearly(graph, t[i]);
  return t;
}

Tensor createIndicesTensor(Graph &graph, const Sizes &dims, std::size_t numIndices,
                           const SlicePlan &, const OptionFlags &,
                           const poplar::DebugContext &debugContext) {
  const Tensor t = graph.addVariable(poplar::UNSIGNED_INT, {numIndices, dims.size()}, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

Tensor multiSlice(Graph &graph, const Tensor &t, const Tensor &offsets, const Sizes &dims,
                  const Sizes &sizes, Sequence &prog, const SlicePlan &, const OptionFlags &,
                  const poplar::DebugContext &debugContext) {
  const unsigned dim = checked(t, offsets, dims, sizes);
  const Tensor from = rowsOf(t, dim);
  const std::size_t slices = offsets.dim(0), size = sizes[0];
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < slices * size; ++i)
    made.push_back(graph.clone(from[0], debugContext).expand({0}));
  if (made.empty())
    throw poputil::poplibs_error("a multiSlice without offsets");
  const Tensor to = poplar::concat(made);
  const auto mapping = graph.getTileMapping(from[0]);
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "multiSlice"});
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const VertexRef v = graph.addVertex(cs, poplar::emulator::kMultiSlice);
    graph.connect(v["rows"], partsOf(from, mapping[tile]));
    graph.connect(v["out"], poplar::concat(partsOf(to, mapping[tile])));
    graph.connect(v["indices"], offsets.flatten());
    graph.setInitialValue(v["type"], static_cast<unsigned>(t.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(size));
    graph.setTileMapping(v, tile);
  }
  prog.add(poplar::program::Execute(cs, debugContext));
  Sizes shape{slices, size};
  for (unsigned d = 0; d < t.rank(); ++d)
    if (d != dim)
      shape.push_back(t.dim(d));
  return to.reshape(shape).dimRoll(1, dim + 1);
}

void multiUpdate(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                 const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &,
                 const OptionFlags &, const poplar::DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), poplar::emulator::MultiUpdate::Set,
         dims, sizes, prog, debugContext);
}
void multiUpdateAdd(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                    const Tensor &scale, const Sizes &dims, const Sizes &sizes, Sequence &prog,
                    const SlicePlan &, const OptionFlags &,
                    const poplar::DebugContext &debugContext) {
  if (scale.numElements() != 1 || scale.elementType() != t.elementType())
    throw poputil::poplibs_error("multiUpdateAdd: the scale is one element of the type of t, not " +
                                 scale.getDebugStr());
  update(graph, t, s, offsets, scale, poplar::emulator::MultiUpdate::Add, dims, sizes, prog,
         debugContext);
}
void multiUpdateMax(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                    const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &,
                    const OptionFlags &, const poplar::DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), poplar::emulator::MultiUpdate::Max,
         dims, sizes, prog, debugContext);
}

} // namespace popops
