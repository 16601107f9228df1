#ifndef gcl_Collectives_hpp
#define gcl_Collectives_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <gcl/CollectiveTypes.hpp>
#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace gcl {

#define GCL_CROSS_REPLICA(...)                                                                     \
  /** Reduces over the replicas of the graph: each replica receives its part from all others,      \
   * reduces it and sends it to all. With one replica, or with LOCAL, a copy of the data. */       \
  poplar::Tensor allReduceCrossReplica(poplar::Graph &graph, const poplar::Tensor &data,           \
                                       CollectiveOperator op, poplar::program::Sequence &prog,     \
                                       __VA_ARGS__ const poplar::DebugContext &debugContext = {},  \
                                       const poplar::OptionFlags &options = {});                   \
  void allReduceInPlaceCrossReplica(poplar::Graph &graph, poplar::Tensor data,                     \
                                    CollectiveOperator op, poplar::program::Sequence &prog,        \
                                    __VA_ARGS__ const poplar::DebugContext &debugContext = {},     \
                                    const poplar::OptionFlags &options = {});                      \
  void allReduceToDestinationCrossReplica(                                                         \
      poplar::Graph &graph, const poplar::Tensor &data, const poplar::Tensor &destination,         \
      CollectiveOperator op, poplar::program::Sequence &prog,                                      \
      __VA_ARGS__ const poplar::DebugContext &debugContext = {},                                   \
      const poplar::OptionFlags &options = {});                                                    \
  /** [elements / replicas, rounded up]: replica r has the r-th part of the result, padded with    \
   * undefined elements; with LOCAL that part of its own data. */                                  \
  poplar::Tensor reduceScatterCrossReplica(                                                        \
      poplar::Graph &graph, const poplar::Tensor &data, CollectiveOperator op,                     \
      poplar::program::Sequence &prog, __VA_ARGS__ const poplar::DebugContext &debugContext = {},  \
      const poplar::OptionFlags &options = {});                                                    \
  /** [replicas, ...data] */                                                                       \
  poplar::Tensor allGatherCrossReplica(poplar::Graph &graph, const poplar::Tensor &data,           \
                                       poplar::program::Sequence &prog,                            \
                                       __VA_ARGS__ const poplar::DebugContext &debugContext = {},  \
                                       const poplar::OptionFlags &options = {});                   \
  /** Sends row r to replica r of the group. Raises poplibs_error unless there is one row for      \
   * each. */                                                                                      \
  poplar::Tensor allToAllCrossReplica(poplar::Graph &graph, const poplar::Tensor &data,            \
                                      poplar::program::Sequence &prog,                             \
                                      __VA_ARGS__ const poplar::DebugContext &debugContext = {},   \
                                      const poplar::OptionFlags &options = {});
GCL_CROSS_REPLICA()
/// In groups of replicas. Raises poplibs_error unless the groups divide the replicas.
GCL_CROSS_REPLICA(const CommGroup &group, )
#undef GCL_CROSS_REPLICA

/// Sends the data of replica 0 to all replicas.
poplar::Tensor broadcastCrossReplica(poplar::Graph &graph, const poplar::Tensor &data,
                                     poplar::program::Sequence &prog,
                                     const poplar::DebugContext &debugContext = {},
                                     const poplar::OptionFlags &options = {});

/// Over the IPUs of the graph: toReduce is [IPUs, elements], a row on each.
/// The sum, in chunks.
Chunks reduceScatterWithinReplica(poplar::Graph &graph, const poplar::Tensor &toReduce,
                                  CollectiveOperator op, poplar::program::Sequence &prog,
                                  const poplar::DebugContext &debugContext = {},
                                  const poplar::OptionFlags &options = {});
/// Every IPU's row has all chunks: [IPUs, elements].
poplar::Tensor allGatherWithinReplica(poplar::Graph &graph, const Chunks &toGather,
                                      poplar::program::Sequence &prog,
                                      const poplar::DebugContext &debugContext = {},
                                      const poplar::OptionFlags &options = {});
/// Every IPU's row has the result: [IPUs, elements].
poplar::Tensor allReduceWithinReplica(poplar::Graph &graph, const poplar::Tensor &toReduce,
                                      CollectiveOperator op, poplar::program::Sequence &prog,
                                      const poplar::DebugContext &debugContext = {},
                                      const poplar::OptionFlags &options = {});
/// The chunks in their order: [elements]
poplar::Tensor concatChunks(Chunks chunks);

} // namespace gcl

#endif
