#ifndef IPULSE_EMULATOR_BUILTIN_VERTICES_H
#define IPULSE_EMULATOR_BUILTIN_VERTICES_H

#include <string>
#include <vector>

#include "graph/graph_state.h"

namespace poplar::emulator {

/// A vertex type of PopLibs that the emulator implements; a formula gives its cycles.
struct BuiltinVertex {
  std::string library; // "popops"
  field::VertexTable table;
  PerfEstimateFunc cycles;
  std::shared_ptr<const std::vector<field::FieldTable>> fields; // that the table points to
  bool takesPieces = true;                                      // see VertexType
};

/// Adds the vertices of a library to a graph, as its addCodelets does. Loads the library if the
/// program is not linked with it: an executable that was stored may have its vertices. Raises
/// file_load_error for an unknown library.
void addBuiltinLibrary(GraphState &graph, const std::string &library);

/// Registers the vertices of a library of PopLibs when that is loaded.
struct BuiltinLibrary {
  BuiltinLibrary(const std::string &name, std::vector<BuiltinVertex> vertices);
};

/// The table of a field of any element type.
field::FieldTable anyField(const char *name, std::size_t offset, field::Direction direction,
                           field::Shape shape);
/// The table of a vector of initial values.
field::FieldTable valueField(const char *name, std::size_t offset, field::Shape shape,
                             Type::Id element);

} // namespace poplar::emulator

#endif
