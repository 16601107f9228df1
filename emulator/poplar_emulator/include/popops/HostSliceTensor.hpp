#ifndef popops_HostSliceTensor_hpp
#define popops_HostSliceTensor_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Graph.hpp>

namespace popops {

struct IndicesAndTensor {
  poplar::Tensor indices;
  poplar::Tensor tensor;
};

/// Rows, [n, ...], that are copied to or from a remote buffer at the indices, UNSIGNED_INT [n].
IndicesAndTensor createHostSliceableTensor(poplar::Graph &graph, const poplar::Type &type,
                                           const std::vector<std::size_t> &shape, bool isRead,
                                           const poplar::DebugContext &debugContext = {});
/// A tensor laid out for copies to and from the host.
poplar::Tensor createHostTransferableTensor(poplar::Graph &graph, const poplar::Type &type,
                                            const std::vector<std::size_t> &shape, bool isRead,
                                            const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
