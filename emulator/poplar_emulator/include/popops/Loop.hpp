#ifndef popops_Loop_hpp
#define popops_Loop_hpp

#include <functional>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poputil/DebugInfo.hpp>
#include <poputil/VertexTemplates.hpp>

namespace popops {

using CountedLoopBodyType = std::function<poplar::program::Program(const poplar::Tensor &count)>;

/// Runs the program of `body` for count = begin, begin + step, ... below end. Raises poplibs_error
/// if step is 0 or begin is not below end.
poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t begin, std::size_t end,
                                      std::size_t step, const CountedLoopBodyType &body,
                                      const poplar::DebugContext &debugContext = {});
poplar::program::Sequence countedLoop(poplar::Graph &graph, std::size_t count,
                                      const CountedLoopBodyType &body,
                                      const poplar::DebugContext &debugContext = {});

/// Adds countStep to `count` and returns whether it is below countLimit: BOOL {}.
poplar::Tensor addForLoopCounterVertex(poplar::Graph &graph, const poplar::Tensor &count,
                                       const poplar::Tensor &countLimit, int countStep,
                                       unsigned tile, poplar::program::Sequence &prog,
                                       const poplar::DebugContext &debugContext = {});
/// Runs the body for `count` from initialCount to countLimit, a value on the device. The body runs
/// at least once.
poplar::program::Sequence countedForLoop(poplar::Graph &graph, const poplar::Tensor &count,
                                         int initialCount, const poplar::Tensor &countLimit,
                                         int countStep, const poplar::program::Program &body,
                                         const poplar::DebugContext &debugContext = {});
poplar::program::Sequence countedForLoop(poplar::Graph &graph, int initialCount,
                                         const poplar::Tensor &countLimit, int countStep,
                                         const poplar::program::Program &body,
                                         const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
