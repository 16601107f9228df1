#ifndef popops_codelets_hpp
#define popops_codelets_hpp

#include <poplar/Graph.hpp>

namespace popops {

/// Makes the vertices of this library known to the graph.
void addCodelets(poplar::Graph &graph);

} // namespace popops

#endif
