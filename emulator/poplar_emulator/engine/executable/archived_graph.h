#ifndef IPULSE_EMULATOR_ARCHIVED_GRAPH_H
#define IPULSE_EMULATOR_ARCHIVED_GRAPH_H

#include "archive.h"
#include "graph/graph_state.h"

namespace poplar::emulator {

// Each function writes its value to an archive, or reads it from one.
void put(Archive &a, Machine &machine);
void put(Archive &a, GraphState &graph, Tensor &t);
void put(Archive &a, GraphState &graph, std::vector<Tensor> &tensors);
/// Archives the graph without its programs and its machine.
void put(Archive &a, GraphState &graph);
/// Archives the programs of a graph's functions, and other programs, with their shared nodes.
void put(Archive &a, GraphState &graph, std::vector<std::shared_ptr<ProgramNode>> &programs);

} // namespace poplar::emulator

#endif
