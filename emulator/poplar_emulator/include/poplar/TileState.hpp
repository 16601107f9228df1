#ifndef poplar_TileState_hpp
#define poplar_TileState_hpp

#include <cstdint>

namespace poplar::emulator {

/// Costs of the codelets that this thread has run. popc adds to them in every basic block by
/// offset, so that the order of the members is part of popc's output. Each cost is a sum of parts,
/// because an addition to memory waits for the last one to the same place: neighbouring blocks add
/// to different parts. A training step of the LIF op takes three quarters of the time.
struct Counters {
  static constexpr unsigned kParts = 8; // a power of two
  std::uint64_t bundlesParts[kParts], flopsParts[kParts];

  std::uint64_t bundles() const { return sum(bundlesParts); }
  std::uint64_t flops() const { return sum(flopsParts); }
  /// Makes `bundles` return this.
  void setBundles(std::uint64_t total) { bundlesParts[0] += total - bundles(); }

private:
  static std::uint64_t sum(const std::uint64_t (&parts)[kParts]) {
    std::uint64_t total = 0;
    for (const std::uint64_t part : parts)
      total += part;
    return total;
  }
};

/// The tile that this thread runs: its number in the machine, and its registers.
struct TileState {
  std::uint64_t random; // never 0 while a tile runs
  unsigned id;
  float scale; // TAS
  unsigned worker;
  void *vertex;      // the state of the vertex that runs
  unsigned seeds[2]; // PRNG_1_0 and PRNG_1_1, which random bits do not depend on here
};

} // namespace poplar::emulator

extern "C" {
// __thread and not thread_local: nothing checks for a constructor when codelets read them.
extern __attribute__((tls_model("initial-exec"))) __thread poplar::emulator::Counters popc_counters;
extern __attribute__((tls_model("initial-exec"))) __thread poplar::emulator::TileState popc_tile;
/// Returns the bundles of the codelets that this thread has run.
std::uint64_t popc_bundles();
}

#endif
