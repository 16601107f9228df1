#include <functional>

#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

using poplar::ArrayRef;
using poplar::ComputeSet;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Interval;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::emulator::MultiUpdate;
using poplar::program::Sequence;

namespace {

using Sizes = std::vector<std::size_t>;

/// Checks the arguments of a multiSlice or multiUpdate along one dimension. Raises poplibs_error.
unsigned checked(const Tensor &t, const Tensor &offsets, const Sizes &dims, const Sizes &sizes) {
  if (dims.size() != sizes.size() || dims.empty())
    throw poputil::poplibs_error("a multiSlice needs as many sizes as dimensions");
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] >= t.rank() || sizes[i] > t.dim(static_cast<unsigned>(dims[i])))
      throw poputil::poplibs_error("a multiSlice out of the range of " + t.shapeToString());
  if (offsets.rank() != 2 || offsets.dim(1) != dims.size() ||
      (offsets.elementType() != poplar::UNSIGNED_INT && offsets.elementType() != poplar::INT))
    throw poputil::poplibs_error("the offsets of a multiSlice are of type unsigned int and shape "
                                 "{n," +
                                 std::to_string(dims.size()) + "}, not " + offsets.getDebugStr());
  return static_cast<unsigned>(dims[0]);
}

/// [rows along dim, elements of a row]
Tensor rowsOf(const Tensor &t, unsigned dim) { return t.dimRoll(dim).flatten(1, t.rank()); }

std::size_t groupsOf(const std::vector<Tensor> &ts) {
  for (const Tensor &t : ts)
    if (t.rank() == 0 || t.dim(0) != ts[0].dim(0))
      throw poputil::poplibs_error("slices by group of " + ts[0].shapeToString() + " and " +
                                   t.shapeToString());
  return ts[0].dim(0);
}

/// The elements of each row that are in `regions`.
std::vector<Tensor> partsOf(const Tensor &rows, const std::vector<Interval> &regions) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < rows.dim(0); ++i)
    parts.push_back(poplar::concat(rows[i].slices(ArrayRef<Interval>(regions))));
  return parts;
}

void checkSlices(const Tensor &t, const Tensor &s, const Tensor &offsets, const Sizes &dims,
                 const Sizes &sizes) {
  bool fits = s.rank() == t.rank() + 1 && s.dim(0) == offsets.dim(0);
  for (std::size_t i = 0; fits && i < dims.size(); ++i)
    fits = s.dim(static_cast<unsigned>(dims[i] + 1)) == sizes[i];
  if (!fits)
    throw poputil::poplibs_error("multiUpdate of " + t.shapeToString() + " with slices " +
                                 s.shapeToString());
}

/// A loop over the offsets, for slices along several dimensions.
void eachOffset(Graph &graph, const Tensor &offsets, Sequence &prog, const DebugContext &dc,
                const std::function<void(const Tensor &, const Tensor &, Sequence &)> &body) {
  prog.add(countedLoop(
      graph, offsets.dim(0),
      [&](const Tensor &i) {
        Sequence step;
        const Tensor at = dynamicSlice(graph, offsets, i, {0}, {1}, step, dc)[0];
        body(i, at.reinterpret(poplar::UNSIGNED_INT), step);
        return step;
      },
      dc));
}

/// One dimension: a vertex for each tile of a row of t.
void addUpdate(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
               const Tensor &scale, MultiUpdate kind, const Sizes &dims, const Sizes &sizes,
               ComputeSet cs) {
  const unsigned dim = checked(t, offsets, dims, sizes);
  checkSlices(t, s, offsets, dims, sizes);
  const Tensor to = rowsOf(t, dim);
  const Tensor from = s.dimRoll(dim + 1, 1).flatten(2, s.rank()).flatten(0, 2);
  const auto mapping = graph.getTileMapping(to[0]);
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
}

/// t, s and offsets have groups for their first dimension.
void update(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
            const Tensor &scale, MultiUpdate kind, const Sizes &dims, const Sizes &sizes,
            Sequence &prog, const DebugContext &debugContext) {
  const std::size_t groups = groupsOf({t, s, offsets});
  if (dims.size() == 1) {
    const ComputeSet cs = graph.addComputeSet({debugContext, "multiUpdate"});
    for (std::size_t g = 0; g < groups; ++g)
      addUpdate(graph, t[g], s[g], offsets[g], scale, kind, dims, sizes, cs);
    prog.add(poplar::program::Execute(cs, debugContext));
    return;
  }
  for (std::size_t g = 0; g < groups; ++g) {
    checked(t[g], offsets[g], dims, sizes);
    checkSlices(t[g], s[g], offsets[g], dims, sizes);
    eachOffset(graph, offsets[g], prog, {debugContext, "multiUpdate"},
               [&](const Tensor &i, const Tensor &at, Sequence &step) {
                 const Tensor one = dynamicSlice(graph, s[g], i, {0}, {1}, step, debugContext)[0];
                 if (kind != MultiUpdate::Set) {
                   using namespace expr;
                   const Tensor old =
                       dynamicSlice(graph, t[g], at, dims, sizes, step, debugContext);
                   mapInPlace(graph,
                              kind == MultiUpdate::Add   ? Any(_2 + _1 * _3)
                              : kind == MultiUpdate::Mul ? Any(_1 * _2)
                                                         : Any(Max(_1, _2)),
                              {one, old, scale}, step, debugContext);
                 }
                 dynamicUpdate(graph, t[g], one, at, dims, sizes, step, debugContext);
               });
  }
}

Tensor one(Graph &graph, const poplar::Type &type) {
  const Tensor t = graph.addConstant(type, {}, 1.0f);
  graph.setTileMapping(t, 0);
  return t;
}

/// [n * size, elements of a row]: one dimension, a vertex for each tile of a row of t.
Tensor addMultiSlice(Graph &graph, const Tensor &t, const Tensor &offsets, const Sizes &dims,
                     const Sizes &sizes, ComputeSet cs, const DebugContext &debugContext) {
  const unsigned dim = checked(t, offsets, dims, sizes);
  const Tensor from = rowsOf(t, dim);
  const std::size_t slices = offsets.dim(0), size = sizes[0];
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < slices * size; ++i)
    made.push_back(graph.clone(from[0], debugContext).expand({0}));
  // Without offsets there is nothing to move.
  const Tensor to = made.empty()
                        ? graph.addVariable(t.elementType(), {0, from.dim(1)}, debugContext)
                        : poplar::concat(made);
  const auto mapping = graph.getTileMapping(from[0]);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty() || made.empty())
      continue;
    const VertexRef v = graph.addVertex(cs, poplar::emulator::kMultiSlice);
    graph.connect(v["rows"], partsOf(from, mapping[tile]));
    graph.connect(v["out"], poplar::concat(partsOf(to, mapping[tile])));
    graph.connect(v["indices"], offsets.flatten());
    graph.setInitialValue(v["type"], static_cast<unsigned>(t.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(size));
    graph.setTileMapping(v, tile);
  }
  Sizes shape{slices, size};
  for (unsigned d = 0; d < t.rank(); ++d)
    if (d != dim)
      shape.push_back(t.dim(d));
  return to.reshape(shape).dimRoll(1, dim + 1);
}

/// Converts the scale to the type of its tensor. Raises poplibs_error unless it is one element.
Tensor scaleOf(Graph &graph, const Tensor &t, const Tensor &scale, Sequence &prog,
               const DebugContext &debugContext) {
  if (scale.numElements() != 1)
    throw poputil::poplibs_error("multiUpdateAdd: the scale is one element, not " +
                                 scale.getDebugStr());
  return scale.elementType() == t.elementType()
             ? scale.reshape({})
             : cast(graph, scale.reshape({}), t.elementType(), prog, debugContext);
}

} // namespace

Tensor groupedMultiSlice(Graph &graph, const Tensor &t, const Tensor &offsets, const Sizes &dims,
                         const Sizes &sizes, Sequence &prog, const SlicePlan &, const OptionFlags &,
                         const DebugContext &debugContext) {
  const std::size_t groups = groupsOf({t, offsets});
  std::vector<Tensor> made;
  if (dims.size() == 1) {
    const ComputeSet cs = graph.addComputeSet({debugContext, "multiSlice"});
    for (std::size_t g = 0; g < groups; ++g)
      made.push_back(
          addMultiSlice(graph, t[g], offsets[g], dims, sizes, cs, debugContext).expand({0}));
    prog.add(poplar::program::Execute(cs, debugContext));
    return poplar::concat(made);
  }
  for (std::size_t g = 0; g < groups; ++g) {
    checked(t[g], offsets[g], dims, sizes);
    const Tensor slices = createSliceTensor(graph, t[g], dims, sizes, offsets.dim(1), debugContext);
    eachOffset(graph, offsets[g], prog, {debugContext, "multiSlice"},
               [&](const Tensor &i, const Tensor &at, Sequence &step) {
                 const Tensor one = dynamicSlice(graph, t[g], at, dims, sizes, step, debugContext);
                 dynamicUpdate(graph, slices, one.expand({0}), i, {0}, {1}, step, debugContext);
               });
    made.push_back(slices.expand({0}));
  }
  return poplar::concat(made);
}

void groupedMultiUpdate(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                        const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &,
                        const OptionFlags &, const DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), MultiUpdate::Set, dims, sizes, prog,
         debugContext);
}
void groupedMultiUpdateAdd(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                           const Tensor &scale, const Sizes &dims, const Sizes &sizes,
                           Sequence &prog, const SlicePlan &, const OptionFlags &,
                           const DebugContext &debugContext) {
  update(graph, t, s, offsets, scaleOf(graph, t, scale, prog, debugContext), MultiUpdate::Add, dims,
         sizes, prog, debugContext);
}
void groupedMultiUpdateMax(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                           const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &,
                           const OptionFlags &, const DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), MultiUpdate::Max, dims, sizes, prog,
         debugContext);
}
void groupedMultiUpdateMul(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                           const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &,
                           const OptionFlags &, const DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), MultiUpdate::Mul, dims, sizes, prog,
         debugContext);
}

} // namespace popops
