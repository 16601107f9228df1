#ifndef poputil_Broadcast_hpp
#define poputil_Broadcast_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Tensor.hpp>

namespace poputil {

/// Gives both tensors the same rank, with dimensions of 1 in front.
void expandToMatchRanks(poplar::Tensor &a, poplar::Tensor &b);
/// Broadcasts tensors to their common shape. Raises poplibs_error if there is none.
void broadcastToMatch(poplar::Tensor &a, poplar::Tensor &b);
void broadcastToMatch(poplar::Tensor &a, poplar::Tensor &b, poplar::Tensor &c);
void broadcastToMatch(poplar::Tensor &a, const std::vector<std::size_t> &shape);
bool canBroadcastToMatch(const poplar::Tensor &a, const poplar::Tensor &b);

} // namespace poputil

#endif
