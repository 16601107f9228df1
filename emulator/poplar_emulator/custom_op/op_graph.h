#ifndef IPULSE_EMULATOR_OP_GRAPH_H
#define IPULSE_EMULATOR_OP_GRAPH_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "compiled_op.h"

namespace custom_op {

/// Builds an op, and its gradient if the call wants one, into a graph: a program for each, with
/// host reads and writes named by `handle`. Raises std::runtime_error if the library contradicts
/// the call or its own metadata, and any exception of its functions.
std::vector<poplar::program::Program> buildGraph(poplar::Graph &graph, const OpLibrary &library,
                                                 const CustomOpCall &call,
                                                 const OpLibrary::Metadata &promised,
                                                 CompiledOp &op);

} // namespace custom_op

#endif
