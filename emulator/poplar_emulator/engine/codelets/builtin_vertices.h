#ifndef IPULSE_EMULATOR_BUILTIN_VERTICES_H
#define IPULSE_EMULATOR_BUILTIN_VERTICES_H

#include <string>
#include <vector>

#include "graph/graph_state.h"

namespace poplar::emulator {

/// A vertex type of PopLibs, executed by the emulator's own code and priced by a formula.
struct BuiltinVertex {
  std::string library; // "popops"
  field::VertexTable table;
  PerfEstimateFunc cycles;
  std::shared_ptr<const std::vector<field::FieldTable>> fields; // that the table points to
  bool takesPieces = true;                                      // see VertexType
};

/// Makes the vertices of a library known to a graph, as its addCodelets does. Raises
/// file_load_error for a library that there is not.
void addBuiltinLibrary(GraphState &graph, const std::string &library);

// By file: the vertices that it defines.
std::vector<BuiltinVertex> mapVertices();
std::vector<BuiltinVertex> arrayVertices();

/// The table of a field of any element type.
field::FieldTable anyField(const char *name, std::size_t offset, field::Direction direction,
                           field::Shape shape);
/// The table of a vector of initial values.
field::FieldTable valueField(const char *name, std::size_t offset, field::Shape shape,
                             Type::Id element);

} // namespace poplar::emulator

#endif
