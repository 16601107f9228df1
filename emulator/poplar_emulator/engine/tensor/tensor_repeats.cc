#include <poplar/Tensor.hpp>

#include <poplar/exceptions.hpp>

#include "dimension.h"

namespace poplar {

using emulator::Dimension;
using emulator::View;
using emulator::withElements;

Tensor Tensor::reverse(unsigned dimension) const {
  const Dimension s(*this, dimension, "reverse");
  View result;
  for (std::size_t o = 0; o < s.outer; ++o)
    for (std::size_t i = s.extent; i-- > 0;)
      result.append(view(), (o * s.extent + i) * s.inner, (o * s.extent + i + 1) * s.inner);
  return withElements(*this, dims, std::move(result));
}

Tensor Tensor::subSample(unsigned stride, unsigned dimension) const {
  const Dimension s(*this, dimension, "subSample");
  if (stride == 0)
    throw index_error("subSample with a stride of 0");
  View result;
  for (std::size_t o = 0; o < s.outer; ++o)
    for (std::size_t i = 0; i < s.extent; i += stride)
      result.append(view(), (o * s.extent + i) * s.inner, (o * s.extent + i + 1) * s.inner);
  std::vector<std::size_t> shape = dims;
  shape[dimension] = (dims[dimension] + stride - 1) / stride;
  return withElements(*this, std::move(shape), std::move(result));
}

Tensor Tensor::upsample(unsigned scale, unsigned dimension, UpsampleMethod) const {
  const Dimension s(*this, dimension, "upsample");
  View result;
  for (std::size_t i = 0; i < s.outer * s.extent; ++i)
    for (unsigned k = 0; k < scale; ++k)
      result.append(view(), i * s.inner, (i + 1) * s.inner);
  std::vector<std::size_t> shape = dims;
  shape[dimension] *= scale;
  return withElements(*this, std::move(shape), std::move(result));
}

Tensor Tensor::broadcast(unsigned n, unsigned dimension) const {
  const Dimension s(*this, dimension, "broadcast");
  const std::size_t block = s.extent * s.inner;
  View result;
  for (std::size_t o = 0; o < s.outer; ++o) {
    if (block == 1)
      result.appendStrided(view(), o, 0, n);
    else
      for (unsigned k = 0; k < n; ++k)
        result.append(view(), o * block, (o + 1) * block);
  }
  std::vector<std::size_t> shape = dims;
  shape[dimension] *= n;
  return withElements(*this, std::move(shape), std::move(result));
}

} // namespace poplar
