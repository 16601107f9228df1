#include <popops/CircBuf.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using namespace expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

CircBuf::CircBuf(Graph &graph, const poplar::Type &dataType, unsigned size,
                 const std::vector<std::size_t> &shape, const DebugContext &debugContext)
    : graph(graph), length(size), shape(shape) {
  if (size == 0)
    throw poputil::poplibs_error("a CircBuf of no tensors");
  std::size_t elements = 1;
  for (const std::size_t dim : shape)
    elements *= dim;
  hist = createSliceableTensor(graph, dataType, {size, elements}, {0}, {1}, 0,
                               {debugContext, "circBuf"});
  index = graph.addVariable(poplar::UNSIGNED_INT, {1}, {debugContext, "circBufIndex"});
  graph.setTileMapping(index, 0);
  graph.setInitialValue(index, 0u);
}

Tensor CircBuf::prev(unsigned i, Sequence &seq, const DebugContext &debugContext) {
  if (i >= length)
    throw poputil::poplibs_error("CircBuf: " + std::to_string(i) + " steps back of " +
                                 std::to_string(length));
  const Tensor at =
      map(graph, (_1 + Const(length - i)) % Const(length), {index}, seq, {debugContext, "prev"});
  return dynamicSlice(graph, hist, at, {0}, {1}, seq, {debugContext, "prev"}).reshape(shape);
}

void CircBuf::add(Tensor t, Sequence &seq, const DebugContext &debugContext) {
  if (t.shape() != shape)
    throw poputil::poplibs_error("CircBuf of " + hist.shapeToString() + ": add of " +
                                 t.shapeToString());
  mapInPlace(graph, (_1 + Const(1u)) % Const(length), {index}, seq, {debugContext, "add"});
  dynamicUpdate(graph, hist, t.flatten().expand({0}), index, {0}, {1}, seq, {debugContext, "add"});
}

} // namespace popops
