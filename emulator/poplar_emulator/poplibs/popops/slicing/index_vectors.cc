#include <algorithm>

#include <popops/DynamicSlice.hpp>
#include <poputil/exceptions.hpp>

#include "index_vectors.h"

namespace popops {

using poplar::Tensor;

IndexVectors::IndexVectors(const Tensor &operand, const Tensor &indices, std::size_t vectorDim,
                           const std::vector<unsigned> &operandDims, const char *what)
    : dims(operandDims.begin(), operandDims.end()) {
  const auto refuse = [&](const std::string &why) {
    throw poputil::poplibs_error(std::string(what) + ": " + why);
  };
  if (vectorDim > indices.rank())
    refuse("dimension " + std::to_string(vectorDim) + " of indices " + indices.shapeToString());
  if (indices.elementType() != poplar::INT && indices.elementType() != poplar::UNSIGNED_INT)
    refuse("indices of type " + indices.elementType().toString());
  const Tensor t = vectorDim == indices.rank() ? indices.expand({vectorDim}) : indices;
  if (dims.empty() || t.dim(static_cast<unsigned>(vectorDim)) != dims.size())
    refuse("index vectors of " + std::to_string(t.dim(static_cast<unsigned>(vectorDim))) +
           " elements for " + std::to_string(dims.size()) + " dimensions");
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] >= operand.rank() || std::count(dims.begin(), dims.end(), dims[i]) != 1)
      refuse("dimension " + std::to_string(dims[i]) + " of an operand " + operand.shapeToString());
  const Tensor last = t.dimRoll(static_cast<unsigned>(vectorDim), t.rank() - 1);
  shape.assign(last.shape().begin(), last.shape().end() - 1);
  vectors = last.flatten(0, last.rank() - 1);
  if (vectors.rank() == 1) // one vector, of no dimensions
    vectors = vectors.expand({0});
  if (vectors.dim(0) == 0)
    refuse("no indices");
}

Tensor IndexVectors::at(poplar::Graph &graph, const Tensor &number, poplar::program::Sequence &prog,
                        const poplar::DebugContext &dc) const {
  return dynamicSlice(graph, vectors, number, {0}, {1}, prog, dc)[0].reinterpret(
      poplar::UNSIGNED_INT);
}

Tensor IndexVectors::last(poplar::Graph &graph, const Tensor &operand,
                          const std::vector<std::size_t> &windowSizes) const {
  std::vector<unsigned> values;
  for (const std::size_t dim : dims)
    values.push_back(
        static_cast<unsigned>(operand.dim(static_cast<unsigned>(dim)) - windowSizes.at(dim)));
  const Tensor t =
      graph.addConstant(poplar::UNSIGNED_INT, {values.size()}, poplar::ArrayRef<unsigned>(values));
  graph.setTileMapping(t, 0);
  return t;
}

std::vector<std::size_t> IndexVectors::along(const std::vector<std::size_t> &sizes) const {
  std::vector<std::size_t> chosen;
  for (const std::size_t dim : dims)
    chosen.push_back(sizes.at(dim));
  return chosen;
}

} // namespace popops
