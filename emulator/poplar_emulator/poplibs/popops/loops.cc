#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;

Sequence countedLoop(Graph &graph, std::size_t begin, std::size_t end, std::size_t step,
                     const CountedLoopBodyType &body, const poplar::DebugContext &debugContext) {
  if (step == 0 || begin >= end)
    throw poputil::poplibs_error("countedLoop needs a step and a begin below its end");
  const Tensor count = graph.addVariable(poplar::UNSIGNED_INT, {1}, {debugContext, "loopCounter"});
  const Tensor start =
      graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {1}, static_cast<unsigned>(begin));
  graph.setTileMapping(count, 0);
  graph.setTileMapping(start, 0);
  Sequence loop(debugContext), inner;
  inner.add(body(count));
  addInPlace(graph, count, static_cast<unsigned>(step), inner, {debugContext, "loopIncrement"});
  loop.add(Copy(start, count));
  loop.add(poplar::program::Repeat(static_cast<unsigned>((end - begin + step - 1) / step), inner,
                                   debugContext));
  return loop;
}

Sequence countedLoop(Graph &graph, std::size_t count, const CountedLoopBodyType &body,
                     const poplar::DebugContext &debugContext) {
  return countedLoop(graph, 0, count, 1, body, debugContext);
}

Tensor addForLoopCounterVertex(Graph &graph, const Tensor &count, const Tensor &countLimit,
                               int countStep, unsigned tile, Sequence &prog,
                               const poplar::DebugContext &debugContext) {
  using namespace expr;
  const Tensor more = graph.addVariable(poplar::BOOL, {}, {debugContext, "loopPredicate"});
  graph.setTileMapping(more, tile);
  mapInPlace(graph, _1 + countStep, {count}, prog, debugContext);
  mapWithOutput(graph, countStep > 0 ? Any(_1 < _2) : Any(_1 > _2),
                {count.reshape({}), countLimit.reshape({})}, more, prog, debugContext);
  return more;
}

Sequence countedForLoop(Graph &graph, const Tensor &count, int initialCount,
                        const Tensor &countLimit, int countStep,
                        const poplar::program::Program &body,
                        const poplar::DebugContext &debugContext) {
  const Tensor start = graph.addConstant(count.elementType(), count.shape(), initialCount);
  graph.setTileMapping(start, 0);
  Sequence test, loop({}, debugContext);
  const Tensor more =
      addForLoopCounterVertex(graph, count, countLimit, countStep, 0, test, debugContext);
  loop.add(Copy(start, count, false, debugContext));
  loop.add(body);
  loop.add(poplar::program::RepeatWhileTrue(test, more, body, debugContext));
  return loop;
}

Sequence countedForLoop(Graph &graph, int initialCount, const Tensor &countLimit, int countStep,
                        const poplar::program::Program &body,
                        const poplar::DebugContext &debugContext) {
  const Tensor count =
      graph.addVariable(countLimit.elementType(), {}, {debugContext, "loopCounter"});
  graph.setTileMapping(count, 0);
  return countedForLoop(graph, count, initialCount, countLimit, countStep, body, debugContext);
}

} // namespace popops
