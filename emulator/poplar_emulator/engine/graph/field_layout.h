#ifndef IPULSE_EMULATOR_FIELD_LAYOUT_H
#define IPULSE_EMULATOR_FIELD_LAYOUT_H

#include <cstdint>

#include "graph_state.h"

namespace poplar::emulator {

/// Bytes of a pointer to a vector, and of its length where the layout has one.
std::uint64_t pointerBytes(VectorLayout layout);
/// Bytes of a vertex's state on the device, which holds 4-byte addresses.
std::uint64_t stateBytes(const VertexInstance &vertex);
/// Bundles in which a worker computes the addresses of a vertex's fields.
std::uint64_t unpackBundles(const Machine &machine, const VertexInstance &vertex);

} // namespace poplar::emulator

#endif
