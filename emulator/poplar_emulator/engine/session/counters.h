#ifndef IPULSE_EMULATOR_COUNTERS_H
#define IPULSE_EMULATOR_COUNTERS_H

#include <poplar/TileState.hpp>

namespace poplar::emulator {

/// Makes `tile` the one that this thread runs, in the `round`th execution of its vertices: the
/// same program gets the same random bits, whatever thread runs the tile.
void enterTile(unsigned tile, std::uint64_t round);

} // namespace poplar::emulator

#endif
