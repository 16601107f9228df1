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

void checkDimension(const Tensor &t, unsigned dim) {
  if (dim >= t.rank())
    throw poputil::poplibs_error("pad: dimension " + std::to_string(dim) +
                                 " of a tensor of shape " + t.shapeToString());
}

/// Makes a constant of a shape.
template <typename T> auto constantBorder(Graph &graph, const Tensor &t, T val, bool mapped) {
  return [&graph, type = t.elementType(), val, mapped](const std::vector<std::size_t> &shape) {
    const Tensor value = graph.addConstant(type, shape, val);
    if (mapped)
      graph.setTileMapping(value, 0);
    return value;
  };
}

/// Repeats an element.
auto repeatedBorder(const Tensor &t, const Tensor &val) {
  if (val.numElements() != 1 || val.elementType() != t.elementType())
    throw poputil::poplibs_error("pad: the value must be one element of type " +
                                 t.elementType().toString() + ", not " + val.shapeToString() +
                                 " of type " + val.elementType().toString());
  return [element = val.flatten()](const std::vector<std::size_t> &shape) {
    std::size_t n = 1;
    for (const std::size_t d : shape)
      n *= d;
    return element.broadcast(static_cast<unsigned>(n), 0).reshape(shape);
  };
}

template <typename Border>
Tensor padded(const Tensor &t, std::ptrdiff_t lower, std::ptrdiff_t upper, unsigned dim,
              const Border &border) {
  checkDimension(t, dim);
  Tensor result = cropped(t, lower, upper, dim);
  std::vector<std::size_t> shape = result.shape();
  if (lower > 0) {
    shape[dim] = static_cast<std::size_t>(lower);
    result = concat(border(shape), result, dim);
  }
  if (upper > 0) {
    shape[dim] = static_cast<std::size_t>(upper);
    result = concat(result, border(shape), dim);
  }
  return result;
}

template <typename Border>
Tensor padded(const Tensor &t, const std::vector<std::ptrdiff_t> &lower,
              const std::vector<std::ptrdiff_t> &upper, const Border &border) {
  check(t, lower, upper);
  Tensor result = t;
  for (unsigned d = 0; d < t.rank(); ++d)
    result = padded(result, lower[d], upper[d], d, border);
  return result;
}

bool isMapped(padding::MappingMethod method) { return method != padding::MappingMethod::NONE; }

} // namespace

#define POPOPS_PAD(VALUE, BORDER)                                                                  \
  Tensor pad(Graph &graph, const Tensor &t, std::ptrdiff_t paddingLower,                           \
             std::ptrdiff_t paddingUpper, unsigned dim, VALUE val,                                 \
             padding::MappingMethod mappingMethod) {                                               \
    return padded(t, paddingLower, paddingUpper, dim, BORDER);                                     \
  }                                                                                                \
  Tensor pad(Graph &graph, const Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,       \
             const std::vector<std::ptrdiff_t> &paddingUpper, VALUE val,                           \
             padding::MappingMethod mappingMethod) {                                               \
    return padded(t, paddingLower, paddingUpper, BORDER);                                          \
  }
POPOPS_PAD(float, constantBorder(graph, t, val, isMapped(mappingMethod)))
POPOPS_PAD(double, constantBorder(graph, t, static_cast<float>(val), isMapped(mappingMethod)))
POPOPS_PAD(int, constantBorder(graph, t, val, isMapped(mappingMethod)))
#undef POPOPS_PAD
Tensor pad(Graph &, const Tensor &t, std::ptrdiff_t paddingLower, std::ptrdiff_t paddingUpper,
           unsigned dim, const Tensor &val, padding::MappingMethod) {
  return padded(t, paddingLower, paddingUpper, dim, repeatedBorder(t, val));
}
Tensor pad(Graph &, const Tensor &t, const std::vector<std::ptrdiff_t> &paddingLower,
           const std::vector<std::ptrdiff_t> &paddingUpper, const Tensor &val,
           padding::MappingMethod) {
  return padded(t, paddingLower, paddingUpper, repeatedBorder(t, val));
}

Tensor pad(const Tensor &t, std::ptrdiff_t paddingLower, std::ptrdiff_t paddingUpper, unsigned dim,
           padding::Type type) {
  checkDimension(t, dim);
  std::vector<std::ptrdiff_t> lower(t.rank()), upper(t.rank());
  lower[dim] = paddingLower;
  upper[dim] = paddingUpper;
  return pad(t, lower, upper, type);
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
