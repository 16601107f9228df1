#ifndef IPULSE_EMULATOR_VERTEX_SCOPE_H
#define IPULSE_EMULATOR_VERTEX_SCOPE_H

#include <string>

#include "graph_state.h"

namespace poplar::emulator {

/// Returns the scope of the first variable that a vertex writes and that has one: its name up to
/// the last '/'. Empty if there is none.
inline std::string scopeOf(const GraphState &graph, const VertexInstance &vertex) {
  const field::VertexTable &table = *vertex.type->table;
  for (unsigned f = 0; f < table.numFields; ++f) {
    const field::Direction direction = table.fields[f].direction;
    if (direction != field::Direction::Output && direction != field::Direction::InOut)
      continue;
    for (const auto &row : vertex.fields[f].rows) {
      if (row->size() == 0)
        continue;
      const std::string &name = graph.variables[row->runs()[0].variable].name;
      const std::size_t end = name.rfind('/');
      if (end != std::string::npos)
        return name.substr(0, end);
      break;
    }
  }
  return {};
}

} // namespace poplar::emulator

#endif
