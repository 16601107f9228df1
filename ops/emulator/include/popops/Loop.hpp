#ifndef popops_Loop_hpp
#define popops_Loop_hpp

#include <functional>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

using CountedLoopBodyType = std::function<poplar::program::Program(const poplar::Tensor &count)>;

/// Runs what `body` makes for count = begin, begin + step, ... below end. Raises poplibs_error
/// when step is 0 or begin is not below end.
poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t begin, std::size_t end,
                                      std::size_t step, const CountedLoopBodyType &body,
                                      const poplar::DebugContext &debugContext = {});
poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t count,
                                      const CountedLoopBodyType &body,
                                      const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
