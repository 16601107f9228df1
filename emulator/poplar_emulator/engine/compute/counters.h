#ifndef IPULSE_EMULATOR_COUNTERS_H
#define IPULSE_EMULATOR_COUNTERS_H

#include <poplar/TileState.hpp>

namespace poplar::emulator {

/// Sets the tile of this thread, in the `round`th execution of its vertices. The same program gets
/// the same random bits, on any thread.
void enterTile(unsigned tile, std::uint64_t round);

} // namespace poplar::emulator

#endif
