#ifndef popops_Gather_hpp
#define popops_Gather_hpp

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

} // namespace popops

#endif
