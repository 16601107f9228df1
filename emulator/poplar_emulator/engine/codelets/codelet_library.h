#ifndef IPULSE_EMULATOR_CODELET_LIBRARY_H
#define IPULSE_EMULATOR_CODELET_LIBRARY_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <poplar/PerfEstimateFunc.hpp>
#include <poplar/VertexTable.hpp>

namespace poplar::emulator {

/// The vertices of one codelet file.
class CodeletLibrary {
public:
  /// Loads a file that popc wrote. Raises graph_object_load_error, which calls it `named`: the file
  /// at `path` may be a copy in the cache.
  static std::shared_ptr<CodeletLibrary> load(const std::string &path, const std::string &named);
  /// The emulator's own vertices of the library `name`.
  CodeletLibrary(std::string name, const field::VertexTable *tables, std::size_t count);
  ~CodeletLibrary();
  CodeletLibrary(const CodeletLibrary &) = delete;
  CodeletLibrary &operator=(const CodeletLibrary &) = delete;

  const field::VertexTable *begin() const { return first; }
  const field::VertexTable *end() const { return first + count; }
  /// The file it was loaded from, or the name of a built-in library.
  const std::string &path() const { return file; }
  /// The bytes of the libraries that popc linked into it.
  std::vector<std::string> parts() const;
  /// The bytes of the library of the same sources for a device; empty unless they differ.
  std::string device() const;
  bool isBuiltin() const { return handle == nullptr; }

private:
  CodeletLibrary() = default;
  std::vector<field::VertexTable> described; // by the file
  const field::VertexTable *first = nullptr;
  std::size_t count = 0;
  void *handle = nullptr;
  std::string file;
};

/// A vertex type of a graph.
struct VertexType {
  const field::VertexTable *table = nullptr;
  std::shared_ptr<CodeletLibrary> library;
  PerfEstimateFunc estimator; // empty unless registered
  // Accesses its fields piece by piece, as PopLibs' reductions, slices and random numbers do: the
  // fields need not be contiguous.
  bool takesPieces = false;
};

} // namespace poplar::emulator

#endif
