#include "session.h"

#include <algorithm>

#include <poplar/exceptions.hpp>

#include "codelets/conversion.h"
#include "profile/profile.h"
#include "replica_exchange.h"

namespace poplar::emulator {
namespace {

std::string listed(const std::vector<unsigned> &replicas) {
  std::string words;
  for (const unsigned replica : replicas)
    words += (words.empty() ? "" : ", ") + std::to_string(replica);
  return words;
}

} // namespace

std::uint64_t Session::cycles() const { return *std::max_element(clocks.begin(), clocks.end()); }

void Session::checkTogether(const Step &step) const {
  if (active.size() == clocks.size())
    return;
  throw application_runtime_error(
      "only replica " + listed(active) + " of " + std::to_string(clocks.size()) + " came to " +
      stepType(*step.node) + " '" + stepName(*compiled, *step.node) +
      "', where all must meet: take it out of the branch or loop, or make what the replicas decide "
      "by equal, with an all-reduce for one");
}

void Session::chargeTogether(Step &step, const StepCost &cost) {
  const std::uint64_t last = cycles();
  for (unsigned replica = 0; replica < clocks.size(); ++replica) {
    StepCost own = cost;
    own.sync += last - clocks[replica];
    charge(step, own, replica);
  }
}

void Session::executeCrossReplica(Step &step) {
  checkTogether(step);
  const ProgramNode &node = *step.node;
  // A copy reads everything before it writes anything.
  std::vector<std::vector<char>> sent(memories.size());
  for (std::size_t replica = 0; replica < sent.size(); ++replica) {
    sent[replica].resize(bytesOf(node.source));
    memories[replica]->gather(node.source.view(), sent[replica].data());
  }
  const std::size_t rowBytes = node.id * sizeOf(node.source.elementType());
  for (const ReplicaRoute &route : node.routes)
    memories[route.toReplica]->scatter(rowOf(node, node.destination, route.toRow),
                                       sent[route.fromReplica].data() + route.fromRow * rowBytes);
  chargeTogether(step, moveCost(*compiled, node));
}

std::vector<Session::Decision> Session::decide(Step &step) {
  const Tensor &t = step.node->source;
  StepCost cost;
  cost.exchange = compiled->copies.at(step.node).cycles;
  cost.bytesBetweenIpus = compiled->copies.at(step.node).bytesBetweenIpus;
  cost.sync = compiled->graph->machine.syncCycles;
  charge(step, cost);
  std::vector<Decision> decisions;
  for (const unsigned replica : active) {
    char value[8];
    memories[replica]->gather(t.view(), value);
    decisions.push_back({replica, static_cast<std::int64_t>(numberAt(t.elementType(), value, 0))});
  }
  return decisions;
}

void Session::executeWhile(Step &step) {
  const Replicas all = active;
  for (;;) {
    execute(*step.children[0]);
    Replicas going;
    for (const Decision &decision : decide(step))
      if ((decision.value != 0) == step.node->expected)
        going.push_back(decision.replica);
    if (going.empty())
      break;
    active = std::move(going);
    execute(*step.children[1]);
  }
  active = all;
}

void Session::executeBranch(Step &step, const std::function<std::size_t(std::int64_t)> &childOf) {
  const Replicas all = active;
  std::vector<Replicas> takers(step.children.size());
  for (const Decision &decision : decide(step))
    takers[childOf(decision.value)].push_back(decision.replica);
  for (std::size_t child = 0; child < takers.size(); ++child) {
    if (takers[child].empty())
      continue;
    active = std::move(takers[child]);
    execute(*step.children[child]);
  }
  active = all;
}

void Session::checkEqual(const ProgramNode &node) {
  std::vector<char> first(bytesOf(node.source)), other(first.size());
  memories[active[0]]->gather(node.source.view(), first.data());
  for (const unsigned replica : active) {
    memories[replica]->gather(node.source.view(), other.data());
    if (other != first)
      throw application_runtime_error("AssumeEqualAcrossReplicas: " + node.source.getDebugStr() +
                                      " of replica " + std::to_string(replica) +
                                      " is not that of replica " + std::to_string(active[0]));
  }
}

} // namespace poplar::emulator
