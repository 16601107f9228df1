#ifndef IPULSE_EMULATOR_VERTEX_ESTIMATE_H
#define IPULSE_EMULATOR_VERTEX_ESTIMATE_H

#include <optional>

#include <poplar/PerfEstimateFunc.hpp>

#include "graph/graph_state.h"

namespace poplar::emulator {

/// Cycles and operations of a vertex where they are not counted as it executes: the emulator's own
/// vertices have formulas; a codelet's estimate counts on the IPU model alone, as with the SDK.
std::optional<VertexPerfEstimate> estimateOf(const GraphState &graph, const VertexInstance &vertex);
/// The estimate that a vertex, or else its type, was given.
std::optional<VertexPerfEstimate> givenEstimate(const GraphState &graph,
                                                const VertexInstance &vertex);

} // namespace poplar::emulator

#endif
