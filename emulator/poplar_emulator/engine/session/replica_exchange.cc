#include "replica_exchange.h"

#include <set>
#include <utility>

#include <poplar/exceptions.hpp>

#include "profile/traffic.h"
#include "program/program_node.h"

namespace poplar::emulator {
namespace {

void check(const char *what, unsigned number, std::size_t count) {
  if (number >= count)
    throw control_program_error(std::string("a copy between replicas names ") + what + " " +
                                std::to_string(number) + ", and there are " +
                                std::to_string(count) + ", counted from 0");
}

} // namespace

program::Program replicaExchange(const Tensor &source, const Tensor &destination,
                                 std::size_t rowElements, std::vector<ReplicaRoute> routes,
                                 const DebugContext &debugContext) {
  if (source.elementType() != destination.elementType())
    throw type_error("a copy between replicas of " + source.getDebugStr() + " to " +
                     destination.getDebugStr() + ": the types differ");
  checkWritten(destination);
  if (rowElements == 0)
    return program::Sequence(debugContext);
  const std::size_t replicas = source.graph()->replicas;
  const std::size_t rowsSent = source.numElements() / rowElements;
  const std::size_t rows = destination.numElements() / rowElements;
  std::set<std::pair<unsigned, unsigned>> written;
  for (const ReplicaRoute &route : routes) {
    check("replica", route.fromReplica, replicas);
    check("replica", route.toReplica, replicas);
    check("row", route.fromRow, rowsSent);
    check("row", route.toRow, rows);
    if (!written.emplace(route.toReplica, route.toRow).second)
      throw control_program_error("a copy between replicas writes a row of replica " +
                                  std::to_string(route.toReplica) + " twice");
  }
  auto node = makeNode(ProgramNode::Kind::CrossReplica, debugContext);
  node->id = static_cast<unsigned>(rowElements);
  node->source = source;
  node->destination = destination;
  // A row that some replica keeps is still live.
  if (written.size() < replicas * rows)
    node->inputs = {destination};
  node->routes = std::move(routes);
  return program::Program(std::move(node));
}

View rowOf(const ProgramNode &node, const Tensor &t, unsigned row) {
  return t.view().slice(std::size_t{row} * node.id, (std::size_t{row} + 1) * node.id);
}

void addRoutes(const ProgramNode &node, Traffic &traffic) {
  for (const ReplicaRoute &route : node.routes)
    traffic.copy(rowOf(node, node.source, route.fromRow),
                 rowOf(node, node.destination, route.toRow), route.fromReplica, route.toReplica);
}

} // namespace poplar::emulator
