// Functions with a plan: tensors for slices, and the operations without groups.
#include <functional>

#include <popops/DynamicSlice.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;
using Sizes = std::vector<std::size_t>;

namespace embedding {
SlicePlan plan(const Graph &, const poplar::Type &, std::size_t, std::size_t, const Sizes &,
               const OptionFlags &) {
  return {};
}
SlicePlan plan(const Graph &, const poplar::Type &, std::size_t, std::size_t, std::size_t,
               const Sizes &, const OptionFlags &) {
  return {};
}
} // namespace embedding

Tensor createSliceableTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                             const Sizes &dims, const Sizes &sizes, const SlicePlan &,
                             const OptionFlags &, const DebugContext &debugContext) {
  return createSliceableTensor(graph, type, shape, dims, sizes, 0, debugContext);
}

Tensor createSliceTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                         const Sizes &dims, const Sizes &sizes, std::size_t numIndices,
                         const SlicePlan &, const OptionFlags &, const DebugContext &debugContext) {
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
