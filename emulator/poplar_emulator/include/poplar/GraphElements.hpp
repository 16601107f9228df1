#ifndef poplar_GraphElements_hpp
#define poplar_GraphElements_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstddef>
#include <string>

#include <poplar/StringRef.hpp>

namespace poplar {

namespace emulator {
class GraphState;
}

/// One of the compute sets of a graph.
class ComputeSet {
public:
  ComputeSet() = default;
  explicit ComputeSet(unsigned id) : id(id), known(true) {}
  unsigned getId() const { return id; }
  bool valid() const { return known; }

private:
  unsigned id = 0;
  bool known = false;
};
inline bool operator==(ComputeSet a, ComputeSet b) { return a.getId() == b.getId(); }
inline bool operator!=(ComputeSet a, ComputeSet b) { return !(a == b); }

class VertexRef;

/// A field of a vertex, or an element of a field, as an argument of connect() and
/// setInitialValue().
class FieldRef {
public:
  FieldRef() = default;
  FieldRef operator[](std::size_t index) const { return {vertex, name, index}; }
  std::size_t getVertex() const { return vertex; }
  const std::string &getName() const { return name; }
  bool isIndexed() const { return indexed; }
  std::size_t getIndex() const { return index; }

private:
  friend class VertexRef;
  FieldRef(std::size_t vertex, std::string name) : vertex(vertex), name(std::move(name)) {}
  FieldRef(std::size_t vertex, std::string name, std::size_t index)
      : vertex(vertex), name(std::move(name)), index(index), indexed(true) {}
  std::size_t vertex = 0;
  std::string name;
  std::size_t index = 0;
  bool indexed = false;
};

/// A vertex of a graph.
class VertexRef {
public:
  VertexRef() = default;
  explicit VertexRef(std::size_t id) : id(id), known(true) {}
  FieldRef operator[](StringRef fieldName) const { return {id, fieldName}; }
  FieldRef getFieldRef(StringRef fieldName) const { return {id, fieldName}; }
  std::size_t getId() const { return id; }
  bool isNull() const { return !known; }

private:
  std::size_t id = 0;
  bool known = false;
};
inline bool operator==(VertexRef a, VertexRef b) { return a.getId() == b.getId(); }

/// A program that several Call programs share.
class Function {
public:
  Function() = default;
  explicit Function(unsigned id) : id(id) {}
  unsigned getId() const { return id; }

private:
  unsigned id = 0;
};

/// A function of the host that a program calls; see Graph::addHostFunction.
class HostFunction {
public:
  HostFunction() = default;
  explicit HostFunction(std::string handle) : name(std::move(handle)) {}
  const std::string &handle() const { return name; }

private:
  std::string name;
};

} // namespace poplar

#endif
