#ifndef IPULSE_EMULATOR_TILE_ADDRESSES_H
#define IPULSE_EMULATOR_TILE_ADDRESSES_H

#include <algorithm>
#include <vector>

#include "graph/graph_state.h"

namespace poplar::emulator {

/// Addresses of elements on their tiles. The elements of a variable on one tile are contiguous
/// there, in the variable's order, with the largest alignment that any field needs. The placement
/// of variables is not modelled.
class TileAddresses {
public:
  explicit TileAddresses(const GraphState &graph)
      : graph(graph), parts(graph.variables.size()), next(graph.machine.numTiles()) {}

  /// Calls f(begin, end, tile, address) for the parts of [begin, end) of a variable, in order;
  /// address: elements that the tile has of the variable before this part.
  template <typename F> void forEach(unsigned variable, std::size_t begin, std::size_t end, F &&f) {
    const std::vector<Part> &all = partsOf(variable);
    auto part =
        std::prev(std::upper_bound(all.begin(), all.end(), begin,
                                   [](std::size_t at, const Part &one) { return at < one.begin; }));
    for (; begin < end; ++part) {
      const std::size_t stop = std::min(end, part->end);
      f(begin, stop, part->tile, part->address + (begin - part->begin));
      begin = stop;
    }
  }

private:
  struct Part {
    std::size_t begin, end;
    unsigned tile;
    std::size_t address;
  };
  const std::vector<Part> &partsOf(unsigned variable);

  const GraphState &graph;
  std::vector<std::vector<Part>> parts; // by variable, made when first asked for
  std::vector<std::size_t> next;        // by tile, of the variable at hand
};

} // namespace poplar::emulator

#endif
