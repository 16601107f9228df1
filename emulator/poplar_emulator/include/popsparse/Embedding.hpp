#ifndef popsparse_Embedding_hpp
#define popsparse_Embedding_hpp

#include <popsparse/FullyConnected.hpp>

namespace popsparse {
namespace dynamic {

/// [numIndices] of UNSIGNED_INT.
poplar::Tensor createIndicesTensor(poplar::Graph &graph, const FullyConnectedParams &params,
                                   std::size_t numIndices, const poplar::OptionFlags &options = {},
                                   const poplar::DebugContext &debugContext = {});
/// [numIndices, inputs].
poplar::Tensor createSliceTensor(poplar::Graph &graph, const poplar::Type &dataType,
                                 const FullyConnectedParams &params, std::size_t numIndices,
                                 const poplar::DebugContext &debugContext = {},
                                 const poplar::OptionFlags &options = {},
                                 PlanningCache *cache = nullptr);
/// Rows of the weights of one group, dense: an output each.
poplar::Tensor embeddingSlice(poplar::Graph &graph, const SparseTensor &t,
                              const poplar::Tensor &indices, poplar::program::Sequence &prog,
                              const FullyConnectedParams &params,
                              const poplar::DebugContext &debugContext = {},
                              const poplar::OptionFlags &options = {},
                              PlanningCache *cache = nullptr);
/// Adds `scale` times the slices to rows: to their elements that are not zero.
void embeddingUpdateAdd(poplar::Graph &graph, const SparseTensor &t, const poplar::Tensor &slices,
                        const poplar::Tensor &indices, const poplar::Tensor &scale,
                        poplar::program::Sequence &prog, const FullyConnectedParams &params,
                        const poplar::DebugContext &debugContext = {},
                        const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);

} // namespace dynamic
} // namespace popsparse

#endif
