#ifndef IPULSE_EMULATOR_ESTIMATED_COMPUTE_H
#define IPULSE_EMULATOR_ESTIMATED_COMPUTE_H

#include <cstdint>
#include <map>
#include <optional>

#include "executable/compiled.h"

namespace poplar::emulator {

/// Returns the compute cycles by tile, those without any left out; as the next.
std::optional<std::map<unsigned, std::uint64_t>> estimatedTileCycles(const Compiled &compiled,
                                                                     unsigned computeSet);

/// Returns the compute cycles of the slowest tile of a compute set if every vertex takes its
/// estimate; nothing if a vertex has no estimate or if no program contains the compute set.
std::optional<std::uint64_t> estimatedCycles(const Compiled &compiled, unsigned computeSet);

} // namespace poplar::emulator

#endif
