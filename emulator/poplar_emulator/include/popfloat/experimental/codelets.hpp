#ifndef popfloat_experimental_codelets_hpp
#define popfloat_experimental_codelets_hpp

#include <poplar/Graph.hpp>

namespace popfloat {
namespace experimental {

/// Adds the vertices of this library to the graph. The library has none here: the rest of popfloat
/// is not emulated. [M]
void addCodelets(poplar::Graph &graph);

} // namespace experimental
} // namespace popfloat

#endif
