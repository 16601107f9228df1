#ifndef poputil_VarStructure_hpp
#define poputil_VarStructure_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <functional>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>

namespace poputil {

/// A dimension, and the number of contiguous elements along it.
using GroupingInfo = std::pair<unsigned, unsigned>;
/// Returns the number of contiguous elements along the last dimension of t, a divisor of its size.
unsigned detectInnermostGrouping(const poplar::Graph &graph, const poplar::Tensor &t);
/// Returns the nested blocks that are contiguous, innermost first: the dimension and the number of
/// elements along it, none of size 1. Raises poplibs_error for a tensor of rank 0.
std::vector<GroupingInfo> detectDimGroupings(const poplar::Graph &graph, const poplar::Tensor &t);
/// Creates a tensor with contiguous parts for a division of each dimension d into nPartitions[d]
/// parts.
poplar::Tensor createPartitionableTensor(poplar::Graph &graph, const poplar::Type &type,
                                         const std::vector<std::size_t> &shape,
                                         const std::vector<std::size_t> &nPartitions,
                                         const poplar::DebugContext &debugContext = {});
/// Calls f with the index of each part of t and the part itself.
void iterateTensorPartitions(
    const poplar::Tensor &t, const std::vector<std::size_t> &nPartitions,
    const std::function<void(const std::vector<std::size_t> &i, const poplar::Tensor &s)> &f);

} // namespace poputil

#endif
