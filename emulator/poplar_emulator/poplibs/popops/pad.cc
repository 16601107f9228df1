#include <algorithm>

#include <popops/Pad.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using poplar::concat;
using poplar::Graph;
using poplar::Tensor;

namespace {

void check(const Tensor &t, const std::vector<std::ptrdiff_t> &lower,
           const std::vector<std::ptrdiff_t> &upper) {
  if (lower.size() != t.rank() || upper.size() != t.rank())
    throw poputil::poplibs_error("pad needs a lower and an upper padding for each dimension of " +
                                 t.shapeToString());
}

/// Negative padding takes elements away.
Tensor cropped(const Tensor &t, std::ptrdiff_t lower, std::ptrdiff_t upper, unsigned dim) {
  const auto n = static_cast<std::ptrdiff_t>(t.dim(dim));
  const std::ptrdiff_t begin = lower < 0 ? -lower : 0, end = upper < 0 ? n + upper : n;
  if (begin > end)
    throw poputil::poplibs_error("pad takes away more than there is of " + t.shapeToString());
  return t.slice(static_cast<std::size_t>(begin), static_cast<std::size_t>(end), dim);
}

} // namespace

Tensor pad(Graph &graph, const Tensor &t, std::ptrdiff_t paddingLower, std::ptrdiff_t paddingUpper,
           unsigned dim, float val, padding::MappingMethod mappingMethod) {
  if (dim >= t.rank())
    throw poputil::poplibs_error("pad: dimension " + std::to_string(dim) +
                                 " of a tensor of shape " + t.shapeToString());
  Tensor result = cropped(t, paddingLower, paddingUpper, dim);
  const auto border = [&](std::ptrdiff_t n) {
    std::vector<std::size_t> shape = result.shape();
    shape[dim] = static_cast<std::size_t>(n);
    const Tensor value = graph.addConstant(t.elementType(), shape, val);
    if (mappingMethod != padding::MappingMethod::NONE)
      graph.setTileMapping(value, 0);
    return value;
  };
  if (paddingLower > 0)
    result = concat(border(paddingLower), result, dim);
  if (paddingUpper > 0)
    result = concat(result, border(paddingUpper), dim);
  return result;
}

Tensor pad(Graph &graph, const Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
           const std::vector<std::ptrdiff_t> &paddingUpper, float val,
           padding::MappingMethod mappingMethod) {
  check(t, paddingLower, paddingUpper);
  Tensor result = t;
  for (unsigned d = 0; d < t.rank(); ++d)
    result = pad(graph, result, paddingLower[d], paddingUpper[d], d, val, mappingMethod);
  return result;
}

Tensor pad(const Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
           const std::vector<std::ptrdiff_t> &paddingUpper, padding::Type type) {
  check(t, paddingLower, paddingUpper);
  if (type == padding::Type::CONSTANT)
    throw poputil::poplibs_error("pad with a constant needs the graph");
  Tensor result = t;
  for (unsigned d = 0; d < t.rank(); ++d) {
    const Tensor whole = cropped(result, paddingLower[d], paddingUpper[d], d);
    const std::size_t n = whole.dim(d);
    const auto lower = static_cast<std::size_t>(std::max<std::ptrdiff_t>(paddingLower[d], 0));
    const auto upper = static_cast<std::size_t>(std::max<std::ptrdiff_t>(paddingUpper[d], 0));
    const bool edge = type == padding::Type::EDGE;
    if ((lower || upper) && (n == 0 || (!edge && (lower >= n || upper >= n))))
      throw poputil::poplibs_error("pad has no elements to repeat in " + whole.shapeToString());
    result = whole;
    if (lower)
      result = concat(edge ? whole.slice(0, 1, d).broadcast(static_cast<unsigned>(lower), d)
                           : whole.slice(1, 1 + lower, d).reverse(d),
                      result, d);
    if (upper)
      result = concat(result,
                      edge ? whole.slice(n - 1, n, d).broadcast(static_cast<unsigned>(upper), d)
                           : whole.slice(n - 1 - upper, n - 1, d).reverse(d),
                      d);
  }
  return result;
}

} // namespace popops
