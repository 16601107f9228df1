// Functions with a plan: tensors for slices, and the operations without groups.
#include <functional>

#include <popops/DynamicSlice.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "planned/planned_slices.h"
#include "planned/slice_plan.h"
#include "poplibs/poputil/memory_proportion.h"

namespace popops {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;
using Sizes = std::vector<std::size_t>;

namespace {

/// Sizes of a table along one dimension: [rows, columns].
SliceSizes sizesOf(const Sizes &shape, const Sizes &dims, std::size_t lookups) {
  SliceSizes sizes{0, 1, lookups};
  for (std::size_t d = 0; d < shape.size(); ++d)
    (d == dims[0] ? sizes.rows = shape[d] : sizes.columns *= shape[d]);
  return sizes;
}

/// The partition of a plan for slices of single rows, or null.
const SlicePartition *partitionFor(const SlicePlan &plan, const Sizes &shape, const Sizes &dims,
                                   const Sizes &sizes) {
  if (dims.size() != 1 || sizes.size() != 1 || sizes[0] != 1 || dims[0] >= shape.size())
    return nullptr;
  const SliceSizes of = sizesOf(shape, dims, 0);
  return partitionIn(plan, of.rows, of.columns);
}

/// [rows, ...] with its first dimension in the place of `dim`, of a matrix.
Tensor unflattened(const Tensor &matrix, const Sizes &shape, std::size_t dim) {
  Sizes rolled{matrix.dim(0)};
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != dim)
      rolled.push_back(shape[d]);
  return matrix.reshape(rolled).dimRoll(0, static_cast<unsigned>(dim));
}

} // namespace

Tensor createSliceableTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                             const Sizes &dims, const Sizes &sizes, const SlicePlan &plan,
                             const OptionFlags &, const DebugContext &debugContext) {
  if (const SlicePartition *partition = partitionFor(plan, shape, dims, sizes))
    return unflattened(createTable(graph, type, *partition, debugContext), shape, dims[0]);
  return createSliceableTensor(graph, type, shape, dims, sizes, 0, debugContext);
}

Tensor createSliceTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                         const Sizes &dims, const Sizes &sizes, std::size_t numIndices,
                         const SlicePlan &plan, const OptionFlags &options,
                         const DebugContext &debugContext) {
  if (const SlicePartition *like = partitionFor(plan, shape, dims, sizes)) {
    const SlicePartition partition =
        planSlices(graph.getTarget(), type, sizesOf(shape, dims, numIndices), plan.getImpl()->use,
                   poputil::availableMemoryProportion(options), like);
    Sizes slice(shape);
    slice[dims[0]] = 1;
    slice.insert(slice.begin(), numIndices);
    return unflattened(createSlices(graph, type, partition, debugContext), slice, 0);
  }
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
                           const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(poplar::UNSIGNED_INT, {numIndices, dims.size()}, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

namespace {
/// The tensors of all groups, each made by itself.
Tensor grouped(std::size_t groups, const std::function<Tensor()> &make) {
  std::vector<Tensor> made;
  for (std::size_t g = 0; g < groups; ++g)
    made.push_back(make().expand({0}));
  if (made.empty())
    throw poputil::poplibs_error("a tensor of slices without groups");
  return poplar::concat(made);
}
} // namespace

Tensor createGroupedSliceableTensor(Graph &graph, const poplar::Type &type, std::size_t groupSize,
                                    const Sizes &shape, const Sizes &dims, const Sizes &sizes,
                                    const SlicePlan &plan, const OptionFlags &options,
                                    const DebugContext &debugContext) {
  return grouped(groupSize, [&] {
    return createSliceableTensor(graph, type, shape, dims, sizes, plan, options, debugContext);
  });
}
Tensor createGroupedSliceTensor(Graph &graph, const poplar::Type &type, std::size_t groupSize,
                                const Sizes &shape, const Sizes &dims, const Sizes &sizes,
                                std::size_t numIndices, const SlicePlan &plan,
                                const OptionFlags &options, const DebugContext &debugContext) {
  return grouped(groupSize, [&] {
    return createSliceTensor(graph, type, shape, dims, sizes, numIndices, plan, options,
                             debugContext);
  });
}
Tensor createGroupedIndicesTensor(Graph &graph, std::size_t groupSize, const Sizes &dims,
                                  std::size_t numIndices, const SlicePlan &plan,
                                  const OptionFlags &options, const DebugContext &debugContext) {
  return grouped(groupSize, [&] {
    return createIndicesTensor(graph, dims, numIndices, plan, options, debugContext);
  });
}

Tensor createSliceableTensorFromSlice(Graph &graph, const Tensor &s, const Sizes &dims,
                                      const Sizes &numSlices, const DebugContext &debugContext) {
  if (dims.size() != numSlices.size())
    throw poputil::poplibs_error(
        "createSliceableTensorFromSlice needs a number for each dimension");
  const std::function<Tensor(std::size_t)> times = [&](std::size_t i) {
    if (i == dims.size())
      return graph.clone(s, debugContext);
    std::vector<Tensor> pieces;
    for (std::size_t k = 0; k < numSlices[i]; ++k)
      pieces.push_back(times(i + 1));
    return poplar::concat(pieces, static_cast<unsigned>(dims[i]));
  };
  return times(0);
}

// One group is all there is.
Tensor multiSlice(Graph &graph, const Tensor &t, const Tensor &offsets, const Sizes &dims,
                  const Sizes &sizes, Sequence &prog, const SlicePlan &plan,
                  const OptionFlags &options, const DebugContext &debugContext) {
  return groupedMultiSlice(graph, t.expand({0}), offsets.expand({0}), dims, sizes, prog, plan,
                           options, debugContext)[0];
}

void multiUpdate(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                 const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &plan,
                 const OptionFlags &options, const DebugContext &debugContext) {
  groupedMultiUpdate(graph, t.expand({0}), s.expand({0}), offsets.expand({0}), dims, sizes, prog,
                     plan, options, debugContext);
}
void multiUpdateAdd(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                    const Tensor &scale, const Sizes &dims, const Sizes &sizes, Sequence &prog,
                    const SlicePlan &plan, const OptionFlags &options,
                    const DebugContext &debugContext) {
  groupedMultiUpdateAdd(graph, t.expand({0}), s.expand({0}), offsets.expand({0}), scale, dims,
                        sizes, prog, plan, options, debugContext);
}
void multiUpdateMax(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                    const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &plan,
                    const OptionFlags &options, const DebugContext &debugContext) {
  groupedMultiUpdateMax(graph, t.expand({0}), s.expand({0}), offsets.expand({0}), dims, sizes, prog,
                        plan, options, debugContext);
}
void multiUpdateMul(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                    const Sizes &dims, const Sizes &sizes, Sequence &prog, const SlicePlan &plan,
                    const OptionFlags &options, const DebugContext &debugContext) {
  groupedMultiUpdateMul(graph, t.expand({0}), s.expand({0}), offsets.expand({0}), dims, sizes, prog,
                        plan, options, debugContext);
}

} // namespace popops
