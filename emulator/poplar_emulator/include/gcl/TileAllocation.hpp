#ifndef gcl_TileAllocation_hpp
#define gcl_TileAllocation_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Graph.hpp>

namespace gcl {

/// The smallest number of tiles that GCL needs to move data to and from an IPU.
constexpr unsigned MIN_IO_TILES = 32;
inline unsigned getMinIoTiles(const poplar::Graph &) { return MIN_IO_TILES; }

/// Returns `count` tiles of an IPU from number `offset` on, in an order that spreads over its
/// exchange [I: every (tiles / count)th tile, in pairs]. Raises poplibs_error if there are not
/// enough tiles.
std::vector<unsigned> perIPUTiles(const poplar::Graph &graph, unsigned offset, unsigned count,
                                  bool sorted = true, bool tilePairs = true);

} // namespace gcl

#endif
