#ifndef IPULSE_POPC_DECLARATIONS_H
#define IPULSE_POPC_DECLARATIONS_H

#include <string>
#include <vector>

namespace popc {

/// A class that derives from one of Poplar's vertex classes, or from such a class.
struct VertexClass {
  std::vector<std::string> namespaces; // "" for one without a name
  std::string name;
  bool isTemplate = false;
  std::vector<std::string> bases; // last identifier of each
  std::vector<std::string> fields;
  std::vector<std::string> initialised; // fields with a value in the class
  std::vector<std::string> constants;   // fields that are const, without a value in the class
  bool hasConstructor = false;          // whether one is declared
};

/// `template class NAME<...>;`
struct Instantiation {
  std::vector<std::string> namespaces;
  std::string type; // as written
  std::string name; // of the template, without qualification
};

struct Declarations {
  std::vector<VertexClass> vertices;
  std::vector<Instantiation> instantiations; // of vertices
  /// Fields of a class and of its bases, each once.
  std::vector<std::string> fieldsOf(const std::string &name) const;
};

/// Finds the names that the vertex tables need in a preprocessed translation unit. The compiler
/// supplies types, sizes and offsets.
Declarations findDeclarations(const std::string &preprocessed);

} // namespace popc

#endif
