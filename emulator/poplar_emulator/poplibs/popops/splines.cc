#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/SplineBasis.hpp>
#include <popops/SplineWeighting.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using namespace expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

/// The polynomial `part` of a B-spline of that degree, of a number in [0, 1).
Any polynomial(unsigned degree, unsigned part) {
  if (degree == 1)
    return part == 0 ? Any(1.f - _1) : Any(_1 * 1.f);
  if (degree == 2)
    return part == 0   ? Any(0.5f * _1 * _1 - _1 + 0.5f)
           : part == 1 ? Any(_1 - _1 * _1 + 0.5f)
                       : Any(0.5f * _1 * _1);
  return part == 0   ? Any((1.f - _1) * (1.f - _1) * (1.f - _1) / 6.f)
         : part == 1 ? Any((3.f * _1 * _1 * _1 - 6.f * _1 * _1 + 4.f) / 6.f)
         : part == 2 ? Any((3.f * _1 + 3.f * _1 * _1 - 3.f * _1 * _1 * _1 + 1.f) / 6.f)
                     : Any(_1 * _1 * _1 / 6.f);
}

} // namespace

void splineBasis(Graph &graph, const Tensor &pseudo, const Tensor &kernelSize,
                 const Tensor &isOpenSpline, const Tensor &basis, const Tensor &weightIndex,
                 unsigned degree, Sequence &prog, const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "splineBasis"};
  if (degree < 1 || degree > 3)
    throw poputil::poplibs_error("splineBasis: a degree of 1, 2 or 3, not " +
                                 std::to_string(degree));
  const std::size_t dims = pseudo.rank() == 2 ? pseudo.dim(1) : 0, order = degree + 1;
  std::size_t splines = dims ? 1 : 0;
  for (std::size_t d = 0; d < dims; ++d)
    splines *= order;
  const std::vector<std::size_t> shape{dims ? pseudo.dim(0) : 0, splines};
  if (basis.shape() != shape || weightIndex.shape() != shape || kernelSize.numElements() != dims ||
      isOpenSpline.numElements() != dims || kernelSize.elementType() != poplar::INT ||
      weightIndex.elementType() != poplar::INT)
    throw poputil::poplibs_error(
        "splineBasis of " + pseudo.shapeToString() + " with kernel sizes " +
        kernelSize.getDebugStr() + ", open splines " + isOpenSpline.getDebugStr() + ", bases " +
        basis.getDebugStr() + " and indices of weights " + weightIndex.getDebugStr());
  const poplar::Type type = pseudo.elementType();
  const Tensor sizes = kernelSize.flatten(), open = isOpenSpline.flatten();
  // For each dimension: the place before a coordinate, its polynomials, and the step of its index.
  std::vector<Tensor> places, steps;
  std::vector<std::vector<Tensor>> parts;
  for (std::size_t d = 0; d < dims; ++d) {
    const Tensor size = sizes.slice(d, d + 1);
    const Tensor at =
        map(graph,
            _1 * (Cast(_2, type) - static_cast<float>(degree) * Cast(Cast(_3, poplar::INT), type)),
            {pseudo.slice(d, d + 1, 1).flatten(), size, open.slice(d, d + 1)}, prog, dc);
    places.push_back(map(graph, Cast(Floor(_1), poplar::INT), {at}, prog, dc));
    const Tensor rest = map(graph, _1 - Floor(_1), {at}, prog, dc);
    parts.emplace_back();
    for (unsigned part = 0; part < order; ++part)
      parts.back().push_back(map(graph, polynomial(degree, part), {rest}, prog, dc));
    steps.push_back(d == 0 ? size : map(graph, _1 * _2, {steps.back(), size}, prog, dc));
  }
  for (std::size_t s = 0; s < splines; ++s) {
    Tensor product, index;
    std::size_t rest = s;
    for (std::size_t d = 0; d < dims; ++d, rest /= order) {
      const Tensor &part = parts[d][rest % order];
      const Tensor place = map(graph, (_1 + static_cast<int>(rest % order)) % _2,
                               {places[d], sizes.slice(d, d + 1)}, prog, dc);
      product = d == 0 ? part : map(graph, _1 * _2, {product, part}, prog, dc);
      index = d == 0 ? place : map(graph, _1 + _2 * _3, {index, place, steps[d - 1]}, prog, dc);
    }
    prog.add(poplar::program::Copy(product, basis.slice(s, s + 1, 1).flatten(), false, dc));
    prog.add(poplar::program::Copy(index, weightIndex.slice(s, s + 1, 1).flatten(), false, dc));
  }
}

Tensor splineWeighting(Graph &graph, const Tensor &input, const Tensor &weight, const Tensor &basis,
                       const Tensor &weightIndex, Sequence &prog,
                       const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "splineWeighting"};
  if (input.rank() != 2 || weight.rank() != 3 || basis.rank() != 2 ||
      basis.shape() != weightIndex.shape() || input.dim(0) != basis.dim(0) ||
      input.dim(1) != weight.dim(1))
    throw poputil::poplibs_error("splineWeighting of inputs " + input.shapeToString() +
                                 ", weights " + weight.shapeToString() + ", bases " +
                                 basis.shapeToString() + " and indices " +
                                 weightIndex.shapeToString());
  const std::size_t edges = input.dim(0), splines = basis.dim(1), inputs = input.dim(1),
                    outputs = weight.dim(2);
  const Tensor chosen =
      multiSlice(graph, weight.flatten(1, 3),
                 weightIndex.reshape({edges * splines, 1}).reinterpret(poplar::UNSIGNED_INT), {0},
                 {1}, prog, SlicePlan(), {}, dc)
          .reshape({edges, splines, inputs, outputs});
  const Tensor products =
      map(graph, _1 * _2 * _3,
          {chosen, input.reshape({edges, 1, inputs, 1}), basis.reshape({edges, splines, 1, 1})},
          prog, dc);
  return reduce(graph, products, {1, 2}, Operation::ADD, prog, dc);
}

} // namespace popops
