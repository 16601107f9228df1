#ifndef popfloat_experimental_codelets_hpp
#define popfloat_experimental_codelets_hpp

#include <poplar/Graph.hpp>

namespace popfloat {
namespace experimental {

/// Makes the vertices of this library known to the graph.
/// Nothing else of popfloat is emulated: the library has no vertices here. [M]
void addCodelets(poplar::Graph &graph);

} // namespace experimental
} // namespace popfloat

#endif
