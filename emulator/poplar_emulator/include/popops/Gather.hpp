#ifndef popops_Gather_hpp
#define popops_Gather_hpp

// [M] Signatures from memory but for the gather along an axis, createGatherInput for it and
// GatherParams.

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace popops {

struct GatherParams {
  std::size_t maxElementsPerTile = 65535;
  GatherParams() = default;
  GatherParams(std::size_t maxElementsPerTile) : maxElementsPerTile(maxElementsPerTile) {}
};

poplar::Tensor createGatherInput(poplar::Graph &graph, const poplar::Type &type,
                                 const std::vector<std::size_t> &operandShape, unsigned axis,
                                 GatherParams params = {},
                                 const poplar::DebugContext &debugContext = {});
/// Entries of `axis` of the input, in the places that `indices` has: that dimension is replaced by
/// the dimensions of indices.
poplar::Tensor gather(poplar::Graph &graph, const poplar::Tensor &input,
                      const poplar::Tensor &indices, unsigned axis, poplar::program::Sequence &prog,
                      GatherParams params, const poplar::DebugContext &debugContext = {},
                      const poplar::OptionFlags &options = {});

/// For the gather below.
poplar::Tensor createGatherInput(poplar::Graph &graph, const poplar::Type &type,
                                 const std::vector<std::size_t> &inputShape,
                                 const std::vector<std::size_t> &sliceSizes,
                                 std::vector<unsigned> startIndexMap,
                                 const poplar::DebugContext &debugContext = {});
/// Slices of sliceSizes, where `indices` say: XLA's gather.
///
/// indices: of the slices' first elements, along indexVectorDim; element k of such a vector is
/// along dimension startIndexMap[k] of the operand. indexVectorDim = rank: each index is a vector
/// of one. A slice that does not fit is moved until it does. collapsedSliceDims: dimensions of the
/// operand of which a slice has one element and which the result has not; the slice's others are
/// the dimensions offsetDims of the result, between which are those of the indices.
/// Raises poplibs_error for shapes and dimensions that do not go together.
poplar::Tensor gather(poplar::Graph &graph, const poplar::Tensor &operand,
                      const poplar::Tensor &indices, std::size_t indexVectorDim,
                      const std::vector<std::size_t> &offsetDims,
                      const std::vector<std::size_t> &sliceSizes,
                      const std::vector<std::size_t> &collapsedSliceDims,
                      const std::vector<unsigned> &startIndexMap, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {},
                      const poplar::OptionFlags &optionFlags = {});

} // namespace popops

#endif
