#include <algorithm>

#include <gcl/Collectives.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>

#include "collective_operation.h"
#include "program/program_node.h"
#include "session/replica_exchange.h"

namespace gcl {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::emulator::ReplicaRoute;
using poplar::program::Copy;
using poplar::program::Sequence;

namespace {

/// The groups of replicas that exchange with each other: their number and their size.
struct Groups {
  unsigned count, size, stride;

  Groups(const Graph &graph, const CommGroup &group) {
    const unsigned replicas = graph.getReplicationFactor();
    size = group.type() == CommGroupType::ALL ? replicas : group.replicaGroupSize();
    if (size == 0 || replicas % size != 0)
      throw poputil::poplibs_error("a collective over groups of " + std::to_string(size) +
                                   " replicas: the graph has " + std::to_string(replicas) +
                                   ", and a group's size must divide that");
    count = replicas / size;
    stride = group.type() == CommGroupType::ORTHOGONAL ? count : group.replicaStride();
    const bool orthogonal = group.type() == CommGroupType::ORTHOGONAL;
    if (stride == 0 || count % stride != 0 || (orthogonal && group.replicaStride() != 1))
      throw poputil::poplibs_error("a collective over " + std::to_string(count) + " groups of " +
                                   std::to_string(size) + " replicas, " +
                                   std::to_string(group.replicaStride()) +
                                   " apart: a stride must divide the number of groups, and "
                                   "CommGroupType::ORTHOGONAL has its own");
  }
  /// `stride` groups are interleaved; the next groups follow.
  unsigned member(unsigned group, unsigned i) const {
    return (group / stride * size + i) * stride + group % stride;
  }
  /// Routes between any two members, i the receiver and j the sender.
  template <typename Rows> std::vector<ReplicaRoute> routes(Rows &&rows) const {
    std::vector<ReplicaRoute> all;
    for (unsigned g = 0; g < count; ++g)
      for (unsigned i = 0; i < size; ++i)
        for (unsigned j = 0; j < size; ++j) {
          const auto [from, to] = rows(i, j);
          all.push_back({member(g, j), from, member(g, i), to});
        }
    return all;
  }
};
using Rows = std::pair<unsigned, unsigned>; // of the sender and of the receiver

/// Returns the elements in a row, padded to `elements`.
Tensor padded(Graph &graph, const Tensor &t, std::size_t elements, bool written,
              const DebugContext &dc) {
  const std::size_t missing = elements - t.numElements();
  if (missing == 0)
    return t.flatten();
  const Tensor more = written ? graph.addVariable(t.elementType(), {missing}, dc)
                              : graph.addConstant(t.elementType(), {missing}, 0, dc);
  graph.setTileMapping(more, 0);
  return poplar::concat(t.flatten(), more);
}

/// Distributed over the tiles, every row alike, so that elements to be reduced are on one tile.
Tensor rowsOf(Graph &graph, const Tensor &t, std::size_t rows, std::size_t elements,
              const DebugContext &dc) {
  const Tensor all = graph.addVariable(t.elementType(), {rows, elements}, dc);
  for (std::size_t row = 0; row < rows; ++row)
    poputil::mapTensorLinearly(graph, all[row]);
  return all;
}

/// Computes each member's part of the result: it receives this part from every member and reduces.
Tensor reduceScatter(Graph &graph, const Tensor &data, CollectiveOperator op, Sequence &prog,
                     const Groups &groups, const DebugContext &dc) {
  const std::size_t each = (data.numElements() + groups.size - 1) / groups.size;
  const Tensor source = padded(graph, data, each * groups.size, false, dc);
  if (op == CollectiveOperator::LOCAL) {
    const Tensor part = rowsOf(graph, data, 1, each, dc)[0];
    std::vector<ReplicaRoute> own;
    for (unsigned g = 0; g < groups.count; ++g)
      for (unsigned i = 0; i < groups.size; ++i)
        own.push_back({groups.member(g, i), i, groups.member(g, i), 0});
    prog.add(poplar::emulator::replicaExchange(source, part, each, std::move(own), dc));
    return part;
  }
  const Tensor parts = rowsOf(graph, data, groups.size, each, dc);
  const Tensor part = rowsOf(graph, data, 1, each, dc)[0];
  prog.add(poplar::emulator::replicaExchange(
      source, parts, each, groups.routes([](unsigned i, unsigned j) { return Rows(i, j); }), dc));
  popops::reduceWithOutput(graph, parts, part, {0}, operationOf(op, part.elementType()), prog, dc);
  if (op == CollectiveOperator::MEAN)
    popops::mulInPlace(graph, part, 1.0f / static_cast<float>(groups.size), prog, dc);
  return part;
}

/// Row j of `destination` becomes the data of member j.
void gather(const Tensor &data, const Tensor &destination, Sequence &prog, const Groups &groups,
            const DebugContext &dc) {
  prog.add(poplar::emulator::replicaExchange(
      data, destination, data.numElements(),
      groups.routes([](unsigned, unsigned j) { return Rows(0, j); }), dc));
}

void allReduce(Graph &graph, const Tensor &data, const Tensor &destination, CollectiveOperator op,
               Sequence &prog, const CommGroup &group, const DebugContext &debugContext) {
  const DebugContext dc{debugContext, "allReduce"};
  const Groups groups(graph, group);
  if (destination.shape() != data.shape())
    throw poputil::poplibs_error("an all-reduce of " + data.shapeToString() + " to " +
                                 destination.shapeToString() + ": the shapes differ");
  if (groups.size == 1 || op == CollectiveOperator::LOCAL) {
    if (destination != data)
      prog.add(Copy(data, destination, false, dc));
    return;
  }
  const Tensor part = reduceScatter(graph, data, op, prog, groups, dc);
  gather(part, padded(graph, destination, part.numElements() * groups.size, true, dc), prog, groups,
         dc);
}

} // namespace

Tensor allReduceCrossReplica(Graph &graph, const Tensor &data, CollectiveOperator op,
                             Sequence &prog, const CommGroup &group,
                             const DebugContext &debugContext, const OptionFlags &) {
  const Tensor result = graph.clone(data, debugContext);
  allReduce(graph, data, result, op, prog, group, debugContext);
  return result;
}
void allReduceInPlaceCrossReplica(Graph &graph, Tensor data, CollectiveOperator op, Sequence &prog,
                                  const CommGroup &group, const DebugContext &debugContext,
                                  const OptionFlags &) {
  allReduce(graph, data, data, op, prog, group, debugContext);
}
Tensor reduceScatterCrossReplica(Graph &graph, const Tensor &data, CollectiveOperator op,
                                 Sequence &prog, const CommGroup &group,
                                 const DebugContext &debugContext, const OptionFlags &) {
  const Groups groups(graph, group);
  if (groups.size == 1)
    return poputil::duplicate(graph, data, prog, debugContext).flatten();
  return reduceScatter(graph, data, op, prog, groups, {debugContext, "reduceScatter"});
}
Tensor allGatherCrossReplica(Graph &graph, const Tensor &data, Sequence &prog,
                             const CommGroup &group, const DebugContext &debugContext,
                             const OptionFlags &) {
  const Groups groups(graph, group);
  if (groups.size == 1)
    return poputil::duplicate(graph, data, prog, debugContext).expand({0});
  const DebugContext dc{debugContext, "allGather"};
  const Tensor result = poputil::cloneN(graph, data, groups.size, dc);
  gather(data, result, prog, groups, dc);
  return result;
}

Tensor allReduceCrossReplica(Graph &graph, const Tensor &data, CollectiveOperator op,
                             Sequence &prog, const DebugContext &debugContext,
                             const OptionFlags &options) {
  return allReduceCrossReplica(graph, data, op, prog, CommGroup(), debugContext, options);
}
void allReduceInPlaceCrossReplica(Graph &graph, Tensor data, CollectiveOperator op, Sequence &prog,
                                  const DebugContext &debugContext, const OptionFlags &options) {
  allReduceInPlaceCrossReplica(graph, data, op, prog, CommGroup(), debugContext, options);
}
void allReduceToDestinationCrossReplica(Graph &graph, const Tensor &data, const Tensor &destination,
                                        CollectiveOperator op, Sequence &prog,
                                        const DebugContext &debugContext,
                                        const OptionFlags &options) {
  allReduceToDestinationCrossReplica(graph, data, destination, op, prog, CommGroup(), debugContext,
                                     options);
}
void allReduceToDestinationCrossReplica(Graph &graph, const Tensor &data, const Tensor &destination,
                                        CollectiveOperator op, Sequence &prog,
                                        const CommGroup &group, const DebugContext &debugContext,
                                        const OptionFlags &) {
  allReduce(graph, data, destination, op, prog, group, debugContext);
}
Tensor reduceScatterCrossReplica(Graph &graph, const Tensor &data, CollectiveOperator op,
                                 Sequence &prog, const DebugContext &debugContext,
                                 const OptionFlags &options) {
  return reduceScatterCrossReplica(graph, data, op, prog, CommGroup(), debugContext, options);
}
Tensor allGatherCrossReplica(Graph &graph, const Tensor &data, Sequence &prog,
                             const DebugContext &debugContext, const OptionFlags &options) {
  return allGatherCrossReplica(graph, data, prog, CommGroup(), debugContext, options);
}
Tensor allToAllCrossReplica(Graph &graph, const Tensor &data, Sequence &prog,
                            const DebugContext &debugContext, const OptionFlags &options) {
  return allToAllCrossReplica(graph, data, prog, CommGroup(), debugContext, options);
}
Tensor allToAllCrossReplica(Graph &graph, const Tensor &data, Sequence &prog,
                            const CommGroup &group, const DebugContext &debugContext,
                            const OptionFlags &) {
  const Groups groups(graph, group);
  if (data.rank() == 0 || data.dim(0) != groups.size)
    throw poputil::poplibs_error("allToAll needs a row for each of " + std::to_string(groups.size) +
                                 " replicas, and has " + data.shapeToString());
  if (groups.size == 1)
    return poputil::duplicate(graph, data, prog, debugContext);
  const DebugContext dc{debugContext, "allToAll"};
  const Tensor result = graph.clone(data, dc);
  prog.add(poplar::emulator::replicaExchange(
      data, result, data.numElements() / groups.size,
      groups.routes([](unsigned i, unsigned j) { return Rows(i, j); }), dc));
  return result;
}
Tensor broadcastCrossReplica(Graph &graph, const Tensor &data, Sequence &prog,
                             const DebugContext &debugContext, const OptionFlags &) {
  if (graph.getReplicationFactor() == 1)
    return poputil::duplicate(graph, data, prog, debugContext);
  const DebugContext dc{debugContext, "broadcast"};
  const Tensor result = graph.clone(data, dc);
  std::map<unsigned, unsigned> senders;
  for (unsigned replica = 0; replica < graph.getReplicationFactor(); ++replica)
    senders[replica] = 0;
  prog.add(poplar::program::CrossReplicaCopy(data, result, senders, dc));
  return result;
}

} // namespace gcl
