#include "builtin_vertices.h"

#include <map>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {

field::FieldTable anyField(const char *name, std::size_t offset, field::Direction direction,
                           field::Shape shape) {
  return {name,
          offset,
          direction,
          shape,
          Type::Id::None,
          VectorLayout::SPAN,
          shape == field::Shape::VectorOfVectors ? VectorLayout::SPAN : VectorLayout::NOT_VECTOR,
          VectorListLayout::NOT_VECTOR,
          8,
          false};
}

field::FieldTable valueField(const char *name, std::size_t offset, field::Shape shape,
                             Type::Id element) {
  return {name,
          offset,
          field::Direction::None,
          shape,
          element,
          VectorLayout::SPAN,
          VectorLayout::NOT_VECTOR,
          VectorListLayout::NOT_VECTOR,
          8,
          false};
}

namespace {

struct Library {
  std::vector<BuiltinVertex> vertices;
  std::vector<field::VertexTable> tables;
  std::shared_ptr<CodeletLibrary> library;
};

std::map<std::string, Library> makeLibraries() {
  std::map<std::string, Library> libraries;
  for (const char *name :
       {"popnn", "popfloat"}) // programs and no vertices of their own, or nothing
    libraries[name];
  for (const auto &vertices : {mapVertices(), arrayVertices()})
    for (const BuiltinVertex &vertex : vertices)
      libraries[vertex.library].vertices.push_back(vertex);
  for (auto &[name, library] : libraries) {
    for (const BuiltinVertex &vertex : library.vertices)
      library.tables.push_back(vertex.table);
    library.library =
        std::make_shared<CodeletLibrary>(name, library.tables.data(), library.tables.size());
  }
  return libraries;
}

} // namespace

void addBuiltinLibrary(GraphState &graph, const std::string &name) {
  static const std::map<std::string, Library> libraries = makeLibraries();
  const auto found = libraries.find(name);
  if (found == libraries.end())
    throw file_load_error("there is no library '" + name + "' in this emulator");
  graph.addLibrary(found->second.library);
  for (const BuiltinVertex &vertex : found->second.vertices) {
    VertexType &type = graph.vertexTypes[vertex.table.name];
    type.estimator = vertex.cycles;
    type.takesPieces = vertex.takesPieces;
  }
}

} // namespace poplar::emulator
