#ifndef popsparse_codelets_hpp
#define popsparse_codelets_hpp

#include <poplar/Graph.hpp>

namespace popsparse {

/// Makes the vertices of this library known to the graph.
void addCodelets(poplar::Graph &graph);

} // namespace popsparse

#endif
