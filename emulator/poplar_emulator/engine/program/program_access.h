#ifndef IPULSE_EMULATOR_PROGRAM_ACCESS_H
#define IPULSE_EMULATOR_PROGRAM_ACCESS_H

#include <map>
#include <set>
#include <vector>

#include "graph/graph_state.h"
#include "program_node.h"

namespace poplar::emulator {

/// The variables that one step of a program reads and writes.
struct ProgramAccess {
  std::set<unsigned> reads;
  std::set<unsigned> written;                         // every element
  std::map<unsigned, std::vector<Piece>> partWritten; // the elements written
};

/// Returns the accesses of a node without its children; for an Execute, of all its vertices.
ProgramAccess accessOf(const GraphState &graph, const ProgramNode &node);

} // namespace poplar::emulator

#endif
