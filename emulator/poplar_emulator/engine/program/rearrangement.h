#ifndef IPULSE_EMULATOR_REARRANGEMENT_H
#define IPULSE_EMULATOR_REARRANGEMENT_H

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "memory/local_moves.h"
#include "memory/tile_addresses.h"

namespace poplar::emulator {

/// Copies that tiles make within themselves before and after a compute set: fields need contiguous,
/// aligned elements.
class Rearrangement {
public:
  Rearrangement(const GraphState &graph, TileAddresses &addresses);
  void add(const VertexInstance &vertex);

  /// Cycles by tile; elements from other tiles arrive at their final places.
  std::vector<std::pair<unsigned, std::uint64_t>> cycles();
  /// Bytes by tile of the buffers that it copies into and out of.
  const std::vector<std::uint64_t> &buffered() const { return buffers; }

private:
  struct Segment {
    unsigned variable;
    std::size_t from, to, bytes; // bytes of the tile's part of the variable, and of the field
  };
  /// Returns the segments of a row that are on the tile itself; empty if the row is contiguous.
  std::vector<Segment> segmentsOf(const View &row, unsigned tile, std::size_t align);

  const GraphState &graph;
  TileAddresses &addresses;
  LocalMoves before, after;
  std::vector<std::uint64_t> buffers;
  std::size_t numBuffers = 0;
  // Tile and runs: once for all fields with these elements.
  std::set<std::vector<std::size_t>> gathered;
};

} // namespace poplar::emulator

#endif
