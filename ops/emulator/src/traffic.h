#ifndef IPULSE_EMULATOR_TRAFFIC_H
#define IPULSE_EMULATOR_TRAFFIC_H

#include <array>
#include <map>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "compiled.h"
#include "local_moves.h"
#include "tile_addresses.h"

namespace poplar::emulator {

/// Adds up what one exchange moves between tiles.
class Traffic {
public:
  Traffic(const GraphState &graph, TileAddresses &addresses)
      : graph(graph), addresses(addresses), local(graph.machine) {}

  /// The elements of `view` go to `tile`.
  void read(const View &view, unsigned tile);
  /// The elements of `view` come from `tile`.
  void write(const View &view, unsigned tile);
  /// The elements of `from` go to where `to` lies, one by one.
  void copy(const View &from, const View &to);

  ExchangeCost cost() const;
  /// Cycles of the tile that moves most within itself.
  std::uint64_t localCycles();
  /// Pieces that a tile receives: what its exchange code lists.
  struct Pieces {
    std::uint32_t within = 0, fromOtherIpus = 0;
  };
  const std::vector<Pieces> &pieces() const { return received; }
  /// Bytes by tile that pass through a buffer: those of its vertices that lie elsewhere.
  const std::vector<std::uint64_t> &buffered() const { return buffers; }

private:
  void move(unsigned variable, std::size_t begin, std::size_t end, unsigned from, unsigned to);
  struct HashRange {
    std::size_t operator()(const std::array<std::size_t, 4> &range) const {
      std::size_t hash = 0;
      for (const std::size_t one : range)
        hash = (hash ^ one) * 0x9E3779B97F4A7C15u;
      return hash ^ hash >> 32;
    }
  };

  const GraphState &graph;
  TileAddresses &addresses;
  LocalMoves local;
  std::vector<std::uint64_t> in = std::vector<std::uint64_t>(graph.machine.numTiles());
  std::vector<Pieces> received = std::vector<Pieces>(graph.machine.numTiles());
  std::vector<std::uint64_t> buffers = std::vector<std::uint64_t>(graph.machine.numTiles());
  // What leaves a tile, by source range: sent once, however many tiles listen.
  std::vector<std::tuple<unsigned, std::size_t, std::size_t, unsigned>> sent;
  // What a tile reads, as variable, range and tile: it arrives once, however many of its fields
  // want it.
  std::unordered_set<std::array<std::size_t, 4>, HashRange> arrived;
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> betweenIpus; // bytes from one to another
  std::uint64_t total = 0;
};

} // namespace poplar::emulator

#endif
