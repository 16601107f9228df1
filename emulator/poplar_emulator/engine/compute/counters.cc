#include "counters.h"

extern "C" {
__attribute__((tls_model("initial-exec"))) __thread poplar::emulator::Counters popc_counters;
__attribute__((tls_model("initial-exec"))) __thread poplar::emulator::TileState popc_tile;

std::uint64_t popc_bundles() { return popc_counters.bundles(); }
}

namespace poplar::emulator {

void enterTile(unsigned tile, std::uint64_t round) {
  // Sebastiano Vigna's splitmix64: neighbours become far apart.
  std::uint64_t z = (round << 32 | tile) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  popc_tile.random = (z ^ (z >> 31)) | 1;
  popc_tile.id = tile;
  popc_tile.seeds[0] = popc_tile.seeds[1] = 0;
}

} // namespace poplar::emulator
