#include <poplar/Tensor.hpp>

#include <poplar/exceptions.hpp>

#include "dimension.h"

namespace poplar {

using emulator::Dimension;
using emulator::View;
using emulator::withElements;

Tensor Tensor::slice(std::size_t begin, std::size_t end, unsigned dimension) const {
  const Dimension s(*this, dimension, "slice");
  if (begin > end || end > dims[dimension])
    throw index_error("slice [" + std::to_string(begin) + "," + std::to_string(end) +
                      ") of dimension " + std::to_string(dimension) + " of a tensor of shape " +
                      shapeToString());
  View result;
  if (s.inner == 1 && end - begin == 1) {
    result.appendStrided(view(), begin, s.extent, s.outer);
  } else {
    for (std::size_t o = 0; o < s.outer; ++o)
      result.append(view(), (o * s.extent + begin) * s.inner, (o * s.extent + end) * s.inner);
  }
  std::vector<std::size_t> shape = dims;
  shape[dimension] = end - begin;
  return withElements(*this, std::move(shape), std::move(result));
}

Tensor Tensor::slice(const Interval &region, unsigned dimension) const {
  return slice(region.begin(), region.end(), dimension);
}

Tensor Tensor::slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const {
  if (begin.size() != end.size() || begin.size() > rank())
    throw index_error("slice needs as many begins as ends, and at most one for each dimension of " +
                      shapeToString());
  Tensor result = *this;
  for (unsigned d = 0; d < begin.size(); ++d) // further dimensions stay whole
    result = result.slice(begin[d], end[d], d);
  return result;
}

std::vector<Tensor> Tensor::slices(ArrayRef<Interval> intervals, unsigned dimension) const {
  std::vector<Tensor> result;
  for (const Interval &i : intervals)
    result.push_back(slice(i, dimension));
  return result;
}

std::vector<Tensor> Tensor::slices(const std::vector<std::vector<Interval>> &intervals,
                                   unsigned dimension) const {
  std::vector<Tensor> result;
  for (const std::vector<Interval> &group : intervals)
    result.push_back(concat(slices(ArrayRef<Interval>(group), dimension), dimension));
  return result;
}

std::vector<Tensor> Tensor::slices(ArrayRef<unsigned> indices, unsigned dimension) const {
  std::vector<Tensor> result;
  for (const unsigned i : indices)
    result.push_back(slice(i, i + 1, dimension));
  return result;
}

Tensor Tensor::operator[](std::size_t i) const & {
  if (rank() == 0)
    throw index_error("operator[] of a scalar");
  Tensor result = slice(i, i + 1);
  result.dims.erase(result.dims.begin());
  return result;
}

Tensor Tensor::operator[](std::size_t i) && { return static_cast<const Tensor &>(*this)[i]; }

Tensor Tensor::index(ArrayRef<std::size_t> indices) const {
  Tensor result = *this;
  for (const std::size_t i : indices)
    result = result[i];
  return result;
}

Tensor concat(ArrayRef<Tensor> ts, unsigned dimension) {
  if (ts.empty())
    throw tensor_creation_error("concat of no tensors");
  const Tensor &first = ts[0];
  const std::size_t outer = Dimension(first, dimension, "concat").outer;
  std::vector<std::size_t> shape = first.shape();
  shape[dimension] = 0;
  for (const Tensor &t : ts) {
    if (t.graph() != first.graph())
      throw tensor_creation_error("concat of tensors of two graphs");
    bool fits = t.rank() == first.rank() && t.elementType() == first.elementType();
    for (unsigned d = 0; fits && d < t.rank(); ++d)
      fits = d == dimension || t.dim(d) == first.dim(d);
    if (!fits)
      throw tensor_creation_error("concat along dimension " + std::to_string(dimension) + " of " +
                                  first.elementType().toString() + first.shapeToString() + " and " +
                                  t.elementType().toString() + t.shapeToString());
    shape[dimension] += t.dim(dimension);
  }
  View result;
  for (std::size_t o = 0; o < outer; ++o) {
    for (const Tensor &t : ts) {
      const std::size_t block = t.numElements() / outer;
      result.append(t.view(), o * block, (o + 1) * block);
    }
  }
  return withElements(first, std::move(shape), std::move(result));
}

Tensor concat(const Tensor &first, const Tensor &second, unsigned dimension) {
  return concat({first, second}, dimension);
}

Tensor append(const Tensor &t, const Tensor &t2, unsigned dimension) {
  return concat(t, t2.expand({dimension}), dimension);
}
Tensor append(const Tensor &t, const Tensor &t2) { return append(t, t2, 0); }

} // namespace poplar
