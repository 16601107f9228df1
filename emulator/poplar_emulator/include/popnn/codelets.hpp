#ifndef popnn_codelets_hpp
#define popnn_codelets_hpp

#include <poplar/Graph.hpp>

namespace popnn {

/// Makes the vertices of this library known to the graph.
void addCodelets(poplar::Graph &graph);

} // namespace popnn

#endif
