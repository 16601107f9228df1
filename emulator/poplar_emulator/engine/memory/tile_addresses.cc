#include "tile_addresses.h"

namespace poplar::emulator {

const std::vector<TileAddresses::Part> &TileAddresses::partsOf(unsigned variable) {
  std::vector<Part> &list = parts[variable];
  if (!list.empty())
    return list;
  const Variable &of = graph.variables[variable];
  of.tiles.forEach(0, of.elements, [&](std::size_t begin, std::size_t end, unsigned tile) {
    std::size_t address = 0;
    if (tile != kNoTile) { // the checks report it
      address = next[tile];
      next[tile] += end - begin;
    }
    list.push_back({begin, end, tile, address});
  });
  for (const Part &part : list)
    if (part.tile != kNoTile)
      next[part.tile] = 0;
  return list;
}

} // namespace poplar::emulator
