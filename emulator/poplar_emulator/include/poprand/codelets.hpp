#ifndef poprand_codelets_hpp
#define poprand_codelets_hpp

#include <poplar/Graph.hpp>

namespace poprand {

/// Makes the vertices of this library known to the graph.
void addCodelets(poplar::Graph &graph);

} // namespace poprand

#endif
