#ifndef poplar_VertexName_hpp
#define poplar_VertexName_hpp

// For code that popc generates. Everything that does not depend on the class is in the library: it
// is compiled once, but this header with every codelet.

#include <typeinfo>
#include <vector>

#include <poplar/VertexTable.hpp>

namespace poplar {
namespace field {

/// Returns a text that contains the name of V as the compiler writes it.
template <typename V> const char *written() { return __PRETTY_FUNCTION__; }

/// Adds a vertex class to the tables, under each name that graphs may use.
/// written: by written() of the class; mangled: its name for the linker.
void addVertex(std::vector<VertexTable> &tables, VertexTable vertex, const char *written,
               const char *mangled);

/// Adds the vertex class V to the tables. bytes: of its code and its stack.
template <typename V>
void describe(std::vector<VertexTable> &tables, const std::vector<FieldTable> &fields,
              bool (*compute)(void *state, unsigned worker), const std::size_t *bytes,
              const char *const *problems, const StaticData *data) {
  addVertex(tables,
            {nullptr, sizeof(V), alignof(V), kindOf<V>(), fields.data(),
             static_cast<unsigned>(fields.size()), compute, bytes[0], problems, bytes[1], data},
            written<V>(), typeid(V).name());
}

} // namespace field
} // namespace poplar

#endif
