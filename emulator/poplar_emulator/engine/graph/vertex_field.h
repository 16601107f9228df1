#ifndef IPULSE_EMULATOR_VERTEX_FIELD_H
#define IPULSE_EMULATOR_VERTEX_FIELD_H

#include <string>

#include <poplar/exceptions.hpp>

#include "graph_state.h"

namespace poplar::emulator {

/// A field of a vertex, as its error messages describe it.
struct VertexField {
  const GraphState &graph;
  VertexInstance &vertex;
  const field::FieldTable &table;
  Connection &connection;
  std::string name;

  VertexField(GraphState &state, const FieldRef &ref)
      : VertexField(state, state.vertices.at(ref.getVertex()), ref.getName()) {}
  VertexField(const GraphState &graph, VertexInstance &vertex, const std::string &fieldName)
      : graph(graph), vertex(vertex),
        table(vertex.type->table->fields[fieldIndex(*vertex.type, fieldName)]),
        connection(vertex.fields[static_cast<std::size_t>(&table - vertex.type->table->fields)]),
        name("field '" + fieldName + "' of vertex type '" + vertex.type->table->name + "'") {}

  bool isEdge() const { return table.direction != field::Direction::None; }
  void needEdge() const {
    if (!isEdge())
      throw graph_connection_error(name + " holds an initial value: use setInitialValue");
  }
};

} // namespace poplar::emulator

#endif
