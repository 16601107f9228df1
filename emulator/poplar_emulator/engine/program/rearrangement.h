#ifndef IPULSE_EMULATOR_REARRANGEMENT_H
#define IPULSE_EMULATOR_REARRANGEMENT_H

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "memory/local_moves.h"
#include "memory/tile_addresses.h"

namespace poplar::emulator {

/// What tiles copy within themselves before and after a compute set, since a field points at
/// elements that lie one behind the other, where its alignment allows.
class Rearrangement {
public:
  Rearrangement(const GraphState &graph, TileAddresses &addresses);
  void add(const VertexInstance &vertex);

  /// Cycles by tile; elements that come from other tiles arrive where they are wanted.
  std::vector<std::pair<unsigned, std::uint64_t>> cycles();
  /// Bytes by tile of the buffers that it copies into and out of.
  const std::vector<std::uint64_t> &buffered() const { return buffers; }

private:
  struct Segment {
    unsigned variable;
    std::size_t from, to, bytes; // bytes of the tile's part of the variable, and of the field
  };
  /// What the tile itself has of a row; empty if a field can point at the row.
  std::vector<Segment> segmentsOf(const View &row, unsigned tile, std::size_t align);

  const GraphState &graph;
  TileAddresses &addresses;
  LocalMoves before, after;
  std::vector<std::uint64_t> buffers;
  std::size_t numBuffers = 0;
  std::set<std::vector<std::size_t>> gathered; // tile and runs: once for all fields that want them
};

} // namespace poplar::emulator

#endif
