#ifndef IPULSE_EMULATOR_VERTEX_ESTIMATE_H
#define IPULSE_EMULATOR_VERTEX_ESTIMATE_H

#include <optional>

#include <poplar/PerfEstimateFunc.hpp>

#include "graph/graph_state.h"

namespace poplar::emulator {

/// Estimates cycles and operations of a vertex that are not counted during execution. The
/// emulator's own vertices have formulas; a codelet's estimate applies on the IPU model only, as
/// with the SDK.
std::optional<VertexPerfEstimate> estimateOf(const GraphState &graph, const VertexInstance &vertex);
/// Returns the estimate of a vertex, else that of its type.
std::optional<VertexPerfEstimate> givenEstimate(const GraphState &graph,
                                                const VertexInstance &vertex);

} // namespace poplar::emulator

#endif
