#ifndef IPULSE_EMULATOR_PROGRAM_ACCESS_H
#define IPULSE_EMULATOR_PROGRAM_ACCESS_H

#include <map>
#include <set>
#include <vector>

#include "graph/graph_state.h"
#include "program_node.h"

namespace poplar::emulator {

/// What one step of a program reads and writes, by variable.
struct ProgramAccess {
  std::set<unsigned> reads;
  std::set<unsigned> written;                         // every element
  std::map<unsigned, std::vector<Piece>> partWritten; // the elements written
};

/// Of a node alone, without its children; of an Execute, all of its vertices.
ProgramAccess accessOf(const GraphState &graph, const ProgramNode &node);

} // namespace poplar::emulator

#endif
