#ifndef popops_Collectives_hpp
#define popops_Collectives_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <gcl/Collectives.hpp>
#include <popops/CollectiveTypes.hpp>
#include <popops/Operation.hpp>
#include <poputil/exceptions.hpp>

/// GCL's collectives by the names they had in PopLibs.
namespace popops {

using gcl::allGatherWithinReplica;
using gcl::allReduceWithinReplica;
using gcl::reduceScatterWithinReplica;

/// Raises poplibs_error for LOG_ADD.
inline CollectiveOperator operationToCollectiveOperator(Operation op) {
  switch (op) {
  case Operation::ADD:
    return CollectiveOperator::ADD;
  case Operation::MUL:
    return CollectiveOperator::MUL;
  case Operation::MIN:
    return CollectiveOperator::MIN;
  case Operation::MAX:
    return CollectiveOperator::MAX;
  case Operation::LOGICAL_AND:
    return CollectiveOperator::LOGICAL_AND;
  case Operation::LOGICAL_OR:
    return CollectiveOperator::LOGICAL_OR;
  case Operation::SQUARE_ADD:
    return CollectiveOperator::SQUARE_ADD;
  default:
    throw poputil::poplibs_error("there is no collective of this operation");
  }
}

inline poplar::Tensor allReduce(poplar::Graph &graph, const poplar::Tensor &toReduce,
                                CollectiveOperator op, poplar::program::Sequence &prog,
                                const poplar::DebugContext &debugContext = {},
                                const poplar::OptionFlags &options = {}) {
  return allReduceWithinReplica(graph, toReduce, op, prog, debugContext, options);
}
inline Chunks reduceScatter(poplar::Graph &graph, const poplar::Tensor &toReduce,
                            CollectiveOperator op, poplar::program::Sequence &prog,
                            const poplar::DebugContext &debugContext = {},
                            const poplar::OptionFlags &options = {}) {
  return reduceScatterWithinReplica(graph, toReduce, op, prog, debugContext, options);
}
inline poplar::Tensor allGather(poplar::Graph &graph, const Chunks &toGather,
                                poplar::program::Sequence &prog,
                                const poplar::DebugContext &debugContext = {},
                                const poplar::OptionFlags &options = {}) {
  return allGatherWithinReplica(graph, toGather, prog, debugContext, options);
}
inline poplar::Tensor replicatedAllReduce(poplar::Graph &graph, const poplar::Tensor &data,
                                          CollectiveOperator op, poplar::program::Sequence &prog,
                                          const poplar::DebugContext &debugContext = {},
                                          const poplar::OptionFlags &options = {}) {
  return gcl::allReduceCrossReplica(graph, data, op, prog, debugContext, options);
}
inline poplar::Tensor replicatedAllReduce(poplar::Graph &graph, const poplar::Tensor &data,
                                          Operation op, poplar::program::Sequence &prog,
                                          const poplar::DebugContext &debugContext = {},
                                          const poplar::OptionFlags &options = {}) {
  return replicatedAllReduce(graph, data, operationToCollectiveOperator(op), prog, debugContext,
                             options);
}
inline void replicatedAllReduceWithOutput(poplar::Graph &graph, const poplar::Tensor &data,
                                          poplar::Tensor &output, CollectiveOperator op,
                                          poplar::program::Sequence &prog,
                                          const poplar::DebugContext &debugContext = {},
                                          const poplar::OptionFlags &options = {}) {
  gcl::allReduceToDestinationCrossReplica(graph, data, output, op, prog, debugContext, options);
}
inline void replicatedAllReduceInPlace(poplar::Graph &graph, poplar::Tensor &data,
                                       CollectiveOperator op, poplar::program::Sequence &prog,
                                       const poplar::DebugContext &debugContext = {},
                                       const poplar::OptionFlags &options = {}) {
  gcl::allReduceInPlaceCrossReplica(graph, data, op, prog, debugContext, options);
}
inline poplar::Tensor replicatedReduceScatter(poplar::Graph &graph, const poplar::Tensor &toReduce,
                                              CollectiveOperator op,
                                              poplar::program::Sequence &prog,
                                              const poplar::DebugContext &debugContext = {},
                                              const poplar::OptionFlags &options = {}) {
  return gcl::reduceScatterCrossReplica(graph, toReduce, op, prog, debugContext, options);
}
inline poplar::Tensor replicatedAllGather(poplar::Graph &graph, const poplar::Tensor &toGather,
                                          poplar::program::Sequence &prog,
                                          const poplar::DebugContext &debugContext = {},
                                          const poplar::OptionFlags &options = {}) {
  return gcl::allGatherCrossReplica(graph, toGather, prog, debugContext, options);
}
inline poplar::Tensor allToAllPersonalizedExchange(poplar::Graph &graph,
                                                   const poplar::Tensor &input,
                                                   poplar::program::Sequence &prog,
                                                   const poplar::DebugContext &debugContext = {},
                                                   const poplar::OptionFlags &options = {}) {
  return gcl::allToAllCrossReplica(graph, input, prog, debugContext, options);
}

} // namespace popops

#endif
