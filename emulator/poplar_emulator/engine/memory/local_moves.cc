#include "local_moves.h"

#include <cmath>

namespace poplar::emulator {

void LocalMoves::add(unsigned tile, Address from, Address to, std::size_t bytes) {
  Tile &on = tiles[tile];
  Piece &last = on.last;
  if (last.bytes && last.from.thing == from.thing && last.to.thing == to.thing &&
      last.from.byte + last.bytes == from.byte && last.to.byte + last.bytes == to.byte) {
    last.bytes += bytes;
    return;
  }
  on.cycles += cyclesOf(last);
  last = {from, to, bytes};
}

/// Chooses the largest words that can move the whole piece: the regression's atoms.
double LocalMoves::cyclesOf(const Piece &piece) const {
  const std::size_t grain = piece.from.byte | piece.to.byte | piece.bytes;
  return static_cast<double>(piece.bytes) * (grain % 8 == 0   ? machine.copyCyclesPerByte8
                                             : grain % 4 == 0 ? machine.copyCyclesPerByte4
                                                              : machine.copyCyclesPerByte2);
}

std::vector<std::pair<unsigned, std::uint64_t>> LocalMoves::cycles() {
  std::vector<std::pair<unsigned, std::uint64_t>> result;
  for (const auto &[tile, on] : tiles)
    result.emplace_back(tile, static_cast<std::uint64_t>(std::ceil(machine.copyFixedCycles +
                                                                   on.cycles + cyclesOf(on.last))));
  return result;
}

} // namespace poplar::emulator
