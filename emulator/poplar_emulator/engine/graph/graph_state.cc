#include "graph_state.h"

#include <poplar/exceptions.hpp>

namespace poplar::emulator {

std::size_t product(const std::vector<std::size_t> &shape) {
  std::size_t n = 1;
  for (const std::size_t d : shape)
    n *= d;
  return n;
}

void checkOwn(const GraphState &graph, const Tensor &t) {
  if (t.graph() != &graph)
    throw graph_connection_error("tensor " + t.getDebugStr() + " is of another graph");
}

std::size_t bytesOf(const Tensor &t) { return t.numElements() * sizeOf(t.elementType()); }

unsigned fieldIndex(const VertexType &type, const std::string &name) {
  for (unsigned i = 0; i < type.table->numFields; ++i)
    if (name == type.table->fields[i].name)
      return i;
  throw unknown_field("vertex type '" + std::string(type.table->name) + "' has no field '" + name +
                      "'");
}

Machine GraphState::wholeMachine() const {
  Machine whole = machine;
  whole.numIPUs *= replicas;
  return whole;
}

Tensor GraphState::addVariable(Type type, std::vector<std::size_t> shape, std::string name) {
  Variable variable;
  variable.type = type;
  variable.elements = product(shape);
  variable.name = name.empty() ? "var" + std::to_string(variables.size()) : std::move(name);
  sizeOf(type); // raises type_error now rather than at compile time
  const auto id = static_cast<unsigned>(variables.size());
  const Run all{id, 0, variable.elements, 1};
  variables.push_back(std::move(variable));
  return {this, type, std::move(shape), std::make_shared<View>(all)};
}

void GraphState::addLibrary(std::shared_ptr<CodeletLibrary> library) {
  for (const std::shared_ptr<CodeletLibrary> &known : libraries)
    if (known->path() == library->path())
      return; // the same file again: its vertices are known
  for (const field::VertexTable &table : *library) {
    VertexType &type = vertexTypes[table.name];
    if (type.table)
      throw graph_object_load_error("vertex type '" + std::string(table.name) +
                                    "' is defined by two codelet files of one graph");
    type.table = &table;
    type.library = library;
  }
  libraries.push_back(std::move(library));
}

} // namespace poplar::emulator
