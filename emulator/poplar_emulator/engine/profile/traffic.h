#ifndef IPULSE_EMULATOR_TRAFFIC_H
#define IPULSE_EMULATOR_TRAFFIC_H

#include <array>
#include <map>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "executable/compiled.h"
#include "memory/local_moves.h"
#include "memory/tile_addresses.h"

namespace poplar::emulator {

/// Adds up what one exchange moves between tiles.
class Traffic {
public:
  /// machine: one replica's, or that of all of them.
  Traffic(const GraphState &graph, TileAddresses &addresses, Machine machine);
  Traffic(const GraphState &graph, TileAddresses &addresses)
      : Traffic(graph, addresses, graph.machine) {}

  /// The elements of `view` go to `tile`.
  void read(const View &view, unsigned tile);
  /// The elements of `view` come from `tile`.
  void write(const View &view, unsigned tile);
  /// The elements of `from` go to where `to` lies, one by one, each of its replica.
  void copy(const View &from, const View &to, unsigned fromReplica = 0, unsigned toReplica = 0);

  ExchangeCost cost() const;
  /// Returns the cycles of the tile that moves most within itself.
  std::uint64_t localCycles();
  /// Returns the number of pieces that a tile receives, as listed in its exchange code.
  struct Pieces {
    std::uint32_t within = 0, fromOtherIpus = 0;
  };
  const std::vector<Pieces> &pieces() const { return received; }
  /// Bytes by tile that pass through a buffer: elements of its vertices that are on other tiles.
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
  const Machine machine;
  LocalMoves local;
  std::vector<std::uint64_t> in = std::vector<std::uint64_t>(machine.numTiles());
  std::vector<Pieces> received = std::vector<Pieces>(machine.numTiles());
  std::vector<std::uint64_t> buffers = std::vector<std::uint64_t>(machine.numTiles());
  // The ranges that a tile sends, by replica and source: each once, for any number of receivers.
  std::vector<std::tuple<unsigned, unsigned, std::size_t, std::size_t, unsigned>> sent;
  // The ranges that a tile reads, as variable, range and tile: once for any number of fields.
  std::unordered_set<std::array<std::size_t, 4>, HashRange> arrived;
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> betweenIpus; // bytes from one to another
  std::uint64_t total = 0;
};

} // namespace poplar::emulator

#endif
