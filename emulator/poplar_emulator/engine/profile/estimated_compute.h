#ifndef IPULSE_EMULATOR_ESTIMATED_COMPUTE_H
#define IPULSE_EMULATOR_ESTIMATED_COMPUTE_H

#include <cstdint>
#include <optional>

#include "executable/compiled.h"

namespace poplar::emulator {

/// Compute cycles of the slowest tile of a compute set, if every vertex took what it was estimated
/// to; nothing if one has no estimate, or if the compute set is in no program.
std::optional<std::uint64_t> estimatedCycles(const Compiled &compiled, unsigned computeSet);

} // namespace poplar::emulator

#endif
