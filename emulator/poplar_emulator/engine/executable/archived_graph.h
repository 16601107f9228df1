#ifndef IPULSE_EMULATOR_ARCHIVED_GRAPH_H
#define IPULSE_EMULATOR_ARCHIVED_GRAPH_H

#include "archive.h"
#include "graph/graph_state.h"

namespace poplar::emulator {

// Each writes its value to an archive, or reads it from one.
void put(Archive &a, Machine &machine);
void put(Archive &a, GraphState &graph, Tensor &t);
void put(Archive &a, GraphState &graph, std::vector<Tensor> &tensors);
/// The graph but for its programs and its machine.
void put(Archive &a, GraphState &graph);
/// The programs of a graph's functions, and others; what they share is shared again.
void put(Archive &a, GraphState &graph, std::vector<std::shared_ptr<ProgramNode>> &programs);

} // namespace poplar::emulator

#endif
