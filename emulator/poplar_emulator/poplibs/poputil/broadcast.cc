#include <algorithm>

#include <poputil/Broadcast.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

using poplar::Tensor;

void expandToMatchRanks(Tensor &a, Tensor &b) {
  Tensor &low = a.rank() < b.rank() ? a : b;
  const unsigned missing = std::max(a.rank(), b.rank()) - low.rank();
  if (missing)
    low = low.expand(std::vector<std::size_t>(missing, 0));
}

void broadcastToMatch(Tensor &a, const std::vector<std::size_t> &shape) {
  if (a.rank() < shape.size())
    a = a.expand(std::vector<std::size_t>(shape.size() - a.rank(), 0));
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (a.dim(d) == shape[d])
      continue;
    if (a.dim(d) != 1)
      throw poplibs_error("a tensor of shape " + a.shapeToString() + " cannot be broadcast");
    a = a.broadcast(static_cast<unsigned>(shape[d]), d);
  }
}

bool canBroadcastToMatch(const Tensor &a, const Tensor &b) {
  for (unsigned d = 1; d <= std::min(a.rank(), b.rank()); ++d) {
    const std::size_t x = a.dim(a.rank() - d), y = b.dim(b.rank() - d);
    if (x != y && x != 1 && y != 1)
      return false;
  }
  return true;
}

void broadcastToMatch(Tensor &a, Tensor &b) {
  if (!canBroadcastToMatch(a, b))
    throw poplibs_error("tensors of shape " + a.shapeToString() + " and " + b.shapeToString() +
                        " have no common shape");
  expandToMatchRanks(a, b);
  std::vector<std::size_t> shape;
  for (unsigned d = 0; d < a.rank(); ++d)
    shape.push_back(a.dim(d) == 1 ? b.dim(d) : a.dim(d));
  broadcastToMatch(a, shape);
  broadcastToMatch(b, shape);
}

void broadcastToMatch(Tensor &a, Tensor &b, Tensor &c) {
  broadcastToMatch(a, b);
  broadcastToMatch(a, c);
  broadcastToMatch(b, a.shape());
}

} // namespace poputil
