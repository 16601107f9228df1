#ifndef IPULSE_EMULATOR_DIMENSION_H
#define IPULSE_EMULATOR_DIMENSION_H

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Tensor.hpp>
#include <poplar/exceptions.hpp>

#include "view.h"

namespace poplar::emulator {

/// A tensor around one of its dimensions: the flattened tensor as [outer][extent][inner].
struct Dimension {
  std::size_t outer = 1, extent, inner = 1;
  /// Raises index_error, with the operation's name, when the tensor has no such dimension.
  Dimension(const Tensor &t, unsigned dimension, const char *operation) {
    if (dimension >= t.rank())
      throw index_error(std::string(operation) + ": dimension " + std::to_string(dimension) +
                        " of a tensor of shape " + t.shapeToString());
    extent = t.dim(dimension);
    for (unsigned d = 0; d < t.rank(); ++d)
      (d < dimension ? outer : inner) *= d == dimension ? 1 : t.dim(d);
  }
};

/// Other elements of the same graph and type.
inline Tensor withElements(const Tensor &t, std::vector<std::size_t> shape, View view) {
  return {t.graph(), t.elementType(), std::move(shape), std::make_shared<View>(std::move(view))};
}

} // namespace poplar::emulator

#endif
