#ifndef IPULSE_EMULATOR_LOCAL_MOVES_H
#define IPULSE_EMULATOR_LOCAL_MOVES_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "device/machine.h"

namespace poplar::emulator {

/// Bytes that tiles move within themselves, in contiguous pieces.
class LocalMoves {
public:
  explicit LocalMoves(const Machine &machine) : machine(machine) {}

  /// Something on a tile, and a byte of it; it begins where 8 divides the address.
  struct Address {
    std::size_t thing, byte;
  };
  /// Moves bytes on `tile` from one address to another. A move that continues the tile's last move
  /// belongs to the same piece.
  void add(unsigned tile, Address from, Address to, std::size_t bytes);
  /// Returns the cycles of the tiles that move anything.
  std::vector<std::pair<unsigned, std::uint64_t>> cycles();

private:
  struct Piece {
    Address from, to;
    std::size_t bytes;
  };
  struct Tile {
    Piece last{};
    double cycles = 0; // of the pieces before the last
  };
  double cyclesOf(const Piece &piece) const;

  const Machine &machine;
  std::map<unsigned, Tile> tiles;
};

} // namespace poplar::emulator

#endif
