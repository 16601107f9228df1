#include <poplar/Tensor.hpp>

#include <algorithm>
#include <set>

#include <poplar/exceptions.hpp>

#include "codelets/conversion.h"
#include "dimension.h"
#include "graph/graph_state.h"

namespace poplar {

using emulator::product;
using emulator::View;
using emulator::withElements;

namespace {

[[noreturn]] void refuseReshape(const Tensor &t, std::size_t n) {
  throw tensor_creation_error("cannot reshape a tensor of shape " + t.shapeToString() + " to " +
                              std::to_string(n) + " elements");
}

} // namespace

Tensor Tensor::flatten() const { return reshape({numElements()}); }

Tensor Tensor::flatten(unsigned dimBegin, unsigned dimEnd) const {
  if (dimBegin > dimEnd || dimEnd > rank())
    throw index_error("flatten(" + std::to_string(dimBegin) + "," + std::to_string(dimEnd) +
                      ") of a tensor of shape " + shapeToString());
  std::size_t n = 1;
  for (unsigned d = dimBegin; d < dimEnd; ++d)
    n *= dims[d];
  return reshapePartial(dimBegin, dimEnd, {n});
}

Tensor Tensor::reshape(ArrayRef<std::size_t> shape) const {
  if (product(shape.cloneAsVector()) != numElements())
    refuseReshape(*this, product(shape.cloneAsVector()));
  view();
  return {state, type, shape.cloneAsVector(), elements};
}

Tensor Tensor::reshapePartial(unsigned beginIndex, unsigned endIndex,
                              ArrayRef<std::size_t> newDims) const {
  if (beginIndex > endIndex || endIndex > rank())
    throw index_error("reshapePartial out of the range of " + shapeToString());
  std::vector<std::size_t> shape(dims.begin(), dims.begin() + beginIndex);
  shape.insert(shape.end(), newDims.begin(), newDims.end());
  shape.insert(shape.end(), dims.begin() + endIndex, dims.end());
  return reshape(shape);
}

Tensor Tensor::expand(ArrayRef<std::size_t> indices) const {
  std::vector<std::size_t> shape;
  for (std::size_t d = 0; d <= dims.size(); ++d) {
    shape.insert(shape.end(),
                 static_cast<std::size_t>(std::count(indices.begin(), indices.end(), d)), 1);
    if (d < dims.size())
      shape.push_back(dims[d]);
  }
  if (shape.size() != dims.size() + indices.size())
    throw index_error("expand out of the range of " + shapeToString());
  return reshape(shape);
}

Tensor Tensor::squeeze(ArrayRef<std::size_t> indices) const {
  std::vector<std::size_t> shape;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (std::find(indices.begin(), indices.end(), d) == indices.end())
      shape.push_back(dims[d]);
    else if (dims[d] != 1)
      throw tensor_creation_error("squeeze of dimension " + std::to_string(d) + " of " +
                                  shapeToString() + ", which is not 1");
  }
  for (const std::size_t d : indices)
    if (d >= dims.size())
      throw index_error("squeeze out of the range of " + shapeToString());
  return reshape(shape);
}

Tensor Tensor::dimShuffle(ArrayRef<unsigned> permutation) const {
  std::set<unsigned> seen(permutation.begin(), permutation.end());
  if (permutation.size() != rank() || seen.size() != rank() ||
      (rank() && *seen.rbegin() != rank() - 1))
    throw index_error("dimShuffle needs each dimension of " + shapeToString() + " once");
  if (rank() == 0)
    return *this;
  std::vector<std::size_t> from(rank()), shape(rank()), step(rank());
  std::size_t stride = 1;
  for (unsigned d = rank(); d-- > 0; stride *= dims[d])
    from[d] = stride;
  for (unsigned d = 0; d < rank(); ++d) {
    shape[d] = dims[permutation[d]];
    step[d] = from[permutation[d]];
  }
  View result;
  const unsigned last = rank() - 1;
  std::vector<std::size_t> index(rank());
  const std::size_t rows = shape[last] ? numElements() / shape[last] : 0;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t first = 0;
    for (unsigned d = 0; d < last; ++d)
      first += index[d] * step[d];
    result.appendStrided(view(), first, step[last], shape[last]);
    for (unsigned d = last; d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return withElements(*this, std::move(shape), std::move(result));
}

Tensor Tensor::dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const {
  if (source.size() != destination.size())
    throw index_error("dimShufflePartial needs as many destinations as sources");
  const unsigned none = rank();
  std::vector<unsigned> permutation(rank(), none);
  std::vector<bool> taken(rank());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] >= rank() || destination[i] >= rank())
      throw index_error("dimShufflePartial out of the range of " + shapeToString());
    permutation[destination[i]] = source[i];
    taken[source[i]] = true;
  }
  unsigned next = 0;
  for (unsigned &p : permutation) {
    if (p != none)
      continue;
    while (taken[next])
      ++next;
    p = next++;
  }
  return dimShuffle(permutation);
}

Tensor Tensor::dimRoll(unsigned dimIdx, unsigned newIdx) const {
  return dimShufflePartial({dimIdx}, {newIdx});
}

Tensor Tensor::transpose() const {
  if (rank() != 2)
    throw tensor_creation_error("transpose needs a matrix, not a tensor of shape " +
                                shapeToString());
  return dimShuffle({1, 0});
}

Tensor Tensor::reinterpret(const Type &to) const {
  if (emulator::sizeOf(to) != emulator::sizeOf(type))
    throw type_error("reinterpret from " + type.toString() + " to " + to.toString() +
                     ": their elements differ in size");
  return {state, to, dims, elements};
}

} // namespace poplar
