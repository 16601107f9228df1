#include "program_access.h"

namespace poplar::emulator {
namespace {

using field::Direction;
using Kind = ProgramNode::Kind;

void read(const View &view, ProgramAccess &access) {
  for (const Run &run : view.runs())
    access.reads.insert(run.variable);
}

void write(const View &view, ProgramAccess &access) {
  view.forEachPiece([&](const Piece &p) { access.partWritten[p.variable].push_back(p); });
}

void addVertices(const GraphState &graph, const ProgramNode &node, ProgramAccess &access) {
  for (const std::size_t v : graph.computeSets[node.id].vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
      const Direction direction = vertex.type->table->fields[f].direction;
      for (const auto &row : vertex.fields[f].rows) {
        if (direction != Direction::Output)
          read(*row, access);
        if (direction != Direction::Input)
          write(*row, access);
      }
    }
  }
}

} // namespace

ProgramAccess accessOf(const GraphState &graph, const ProgramNode &node) {
  ProgramAccess access;
  if (node.kind == Kind::Execute)
    addVertices(graph, node, access);
  if (node.source.valid())
    read(node.source.view(), access);
  if (node.destination.valid())
    write(node.destination.view(), access);
  for (const Tensor &t : node.inputs)
    read(t.view(), access);
  for (const Tensor &t : node.outputs)
    write(t.view(), access);
  // No step writes an element twice (the checks ensure that), so that elements can be counted.
  for (auto it = access.partWritten.begin(); it != access.partWritten.end();) {
    std::size_t elements = 0;
    for (const Piece &p : it->second)
      elements += p.end - p.begin;
    if (elements >= graph.variables[it->first].elements) {
      access.written.insert(it->first);
      it = access.partWritten.erase(it);
    } else {
      ++it;
    }
  }
  return access;
}

} // namespace poplar::emulator
