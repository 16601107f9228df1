#ifndef IPULSE_POPLIBS_LINEAR_VARIABLE_H
#define IPULSE_POPLIBS_LINEAR_VARIABLE_H

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>
#include <poputil/TileMapping.hpp>

namespace poplar::emulator {

/// A new variable, spread over all tiles.
inline Tensor linearVariable(Graph &graph, const Type &type, const std::vector<std::size_t> &shape,
                             const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(type, shape, debugContext);
  poputil::mapTensorLinearly(graph, t);
  return t;
}

} // namespace poplar::emulator

#endif
