#include <algorithm>
#include <functional>
#include <optional>

#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <poputil/exceptions.hpp>

#include "planned/planned_slices.h"
#include "planned/slice_plan.h"
#include "poplibs/popops/elementwise/array_vertices.h"
#include "poplibs/poputil/memory_proportion.h"
#include "row_slices.h"

namespace popops {

using poplar::ComputeSet;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Interval;
using poplar::OptionFlags;
using poplar::Tensor;
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

std::size_t groupsOf(const std::vector<Tensor> &ts) {
  for (const Tensor &t : ts)
    if (t.rank() == 0 || t.dim(0) != ts[0].dim(0))
      throw poputil::poplibs_error("slices by group of " + ts[0].shapeToString() + " and " +
                                   t.shapeToString());
  return ts[0].dim(0);
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

/// The partition of an operation along one dimension, or nothing if it is worked on the tiles of a
/// row. Raises invalid_option.
std::optional<SlicePartition> partitionOf(const Graph &graph, const Tensor &t,
                                          const Tensor &offsets, const Sizes &dims,
                                          const Sizes &sizes, SliceUse use, const SlicePlan &plan,
                                          const OptionFlags &options) {
  const double share = poputil::availableMemoryProportion(options);
  if (dims.size() != 1 || sizes[0] != 1 || t.numElements() == 0)
    return std::nullopt;
  const Tensor rows = rowsOf(t, static_cast<unsigned>(dims[0]));
  std::size_t most = 0, tiles = 0;
  for (const auto &intervals : graph.getTileMapping(rows[0])) {
    std::size_t elements = 0;
    for (const Interval &i : intervals)
      elements += i.size();
    most = std::max(most, elements);
    tiles += !intervals.empty();
  }
  const SliceSizes of{rows.dim(0), rows.dim(1), offsets.dim(0)};
  const poplar::Target &target = graph.getTarget();
  if (!isWorkedByPartition(t.elementType(), target, of, most, tiles))
    return std::nullopt;
  const SlicePartition *like = partitionIn(plan, of.rows, of.columns);
  return planSlices(target, t.elementType(), of, use, share, like);
}

/// t, s and offsets have groups for their first dimension.
void update(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
            const Tensor &scale, MultiUpdate kind, const Sizes &dims, const Sizes &sizes,
            Sequence &prog, const SlicePlan &plan, const OptionFlags &options,
            const DebugContext &debugContext) {
  const std::size_t groups = groupsOf({t, s, offsets});
  if (dims.size() == 1) {
    const SliceUse use = kind == MultiUpdate::Set ? SliceUse::Write : SliceUse::Combine;
    std::optional<ComputeSet> cs;
    for (std::size_t g = 0; g < groups; ++g) {
      const unsigned dim = checked(t[g], offsets[g], dims, sizes);
      checkSlices(t[g], s[g], offsets[g], dims, sizes);
      if (const auto partition =
              partitionOf(graph, t[g], offsets[g], dims, sizes, use, plan, options)) {
        updatePlanned(graph, rowsOf(t[g], dim), s[g].dimRoll(dim + 1, 1).flatten(1, s[g].rank()),
                      offsets[g].flatten(), scale, kind, *partition, prog,
                      {debugContext, "multiUpdate"});
        continue;
      }
      if (!cs)
        cs = graph.addComputeSet({debugContext, "multiUpdate"});
      addUpdate(graph, t[g], s[g], offsets[g], scale, kind, dim, *cs);
    }
    if (cs)
      prog.add(poplar::program::Execute(*cs, debugContext));
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

/// [n, ...slice]: slices along one dimension from the rows of all of them.
Tensor slicesOf(const Tensor &rows, const Tensor &t, unsigned dim, std::size_t n,
                std::size_t size) {
  Sizes shape{n, size};
  for (unsigned d = 0; d < t.rank(); ++d)
    if (d != dim)
      shape.push_back(t.dim(d));
  return rows.reshape(shape).dimRoll(1, dim + 1);
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
                         const Sizes &sizes, Sequence &prog, const SlicePlan &plan,
                         const OptionFlags &options, const DebugContext &debugContext) {
  const std::size_t groups = groupsOf({t, offsets});
  std::vector<Tensor> made;
  if (dims.size() == 1) {
    std::optional<ComputeSet> cs;
    for (std::size_t g = 0; g < groups; ++g) {
      const unsigned dim = checked(t[g], offsets[g], dims, sizes);
      const Tensor from = rowsOf(t[g], dim);
      const auto partition =
          partitionOf(graph, t[g], offsets[g], dims, sizes, SliceUse::Read, plan, options);
      if (!partition && !cs)
        cs = graph.addComputeSet({debugContext, "multiSlice"});
      const Tensor rows = partition
                              ? slicePlanned(graph, from, offsets[g].flatten(), *partition, prog,
                                             {debugContext, "multiSlice"})
                              : addMultiSlice(graph, from, offsets[g], sizes[0], *cs, debugContext);
      made.push_back(slicesOf(rows, t[g], dim, offsets[g].dim(0), sizes[0]).expand({0}));
    }
    if (cs)
      prog.add(poplar::program::Execute(*cs, debugContext));
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
                        const Sizes &dims, const Sizes &sizes, Sequence &prog,
                        const SlicePlan &plan, const OptionFlags &options,
                        const DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), MultiUpdate::Set, dims, sizes, prog,
         plan, options, debugContext);
}
void groupedMultiUpdateAdd(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                           const Tensor &scale, const Sizes &dims, const Sizes &sizes,
                           Sequence &prog, const SlicePlan &plan, const OptionFlags &options,
                           const DebugContext &debugContext) {
  update(graph, t, s, offsets, scaleOf(graph, t, scale, prog, debugContext), MultiUpdate::Add, dims,
         sizes, prog, plan, options, debugContext);
}
void groupedMultiUpdateMax(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                           const Sizes &dims, const Sizes &sizes, Sequence &prog,
                           const SlicePlan &plan, const OptionFlags &options,
                           const DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), MultiUpdate::Max, dims, sizes, prog,
         plan, options, debugContext);
}
void groupedMultiUpdateMul(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                           const Sizes &dims, const Sizes &sizes, Sequence &prog,
                           const SlicePlan &plan, const OptionFlags &options,
                           const DebugContext &debugContext) {
  update(graph, t, s, offsets, one(graph, t.elementType()), MultiUpdate::Mul, dims, sizes, prog,
         plan, options, debugContext);
}

} // namespace popops
