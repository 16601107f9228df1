#include "builtin_vertices.h"

#include <dlfcn.h>

#include <map>

#include <poplar/exceptions.hpp>

#include "popc/compile.h"

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

std::map<std::string, Library> &libraries() {
  static std::map<std::string, Library> all;
  return all;
}

} // namespace

BuiltinLibrary::BuiltinLibrary(const std::string &name, std::vector<BuiltinVertex> vertices) {
  Library &added = libraries()[name];
  added.vertices = std::move(vertices);
  for (const BuiltinVertex &vertex : added.vertices)
    added.tables.push_back(vertex.table);
  added.library = std::make_shared<CodeletLibrary>(name, added.tables.data(), added.tables.size());
}

void addBuiltinLibrary(GraphState &graph, const std::string &name) {
  auto found = libraries().find(name);
  if (found == libraries().end()) {
    const std::string path = popc::libraryDirectory() + "/lib" + name + ".so";
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
      throw file_load_error("there is no library '" + name + "' in this emulator");
    found = libraries().find(name);
  }
  if (found == libraries().end())
    throw file_load_error("library '" + name + "' has no vertices");
  graph.addLibrary(found->second.library);
  for (const BuiltinVertex &vertex : found->second.vertices) {
    VertexType &type = graph.vertexTypes[vertex.table.name];
    type.estimator = vertex.cycles;
    type.takesPieces = vertex.takesPieces;
  }
}

} // namespace poplar::emulator
