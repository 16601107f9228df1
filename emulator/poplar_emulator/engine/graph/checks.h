#ifndef IPULSE_EMULATOR_CHECKS_H
#define IPULSE_EMULATOR_CHECKS_H

#include "graph_state.h"

namespace poplar::emulator {

/// Raises invalid_tile_mapping unless every element has a tile; `use` says who needs it.
void checkMapped(const GraphState &graph, const View &view, const std::string &use);

/// Checks every rule for one compute set. Raises invalid_tile_mapping (vertex or tensor without a
/// tile), graph_connection_error (a field connected to nothing), no_size_specified,
/// memory_elem_constraints_error (a vector longer than its layout can say), link_error (code that a
/// tile cannot have) and graph_program_compilation_error (an element written twice, or written and
/// read).
void checkComputeSet(const GraphState &graph, unsigned computeSet);

} // namespace poplar::emulator

#endif
