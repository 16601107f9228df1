#include "session.h"

#include <algorithm>
#include <functional>

#include <poplar/exceptions.hpp>

#include "conversion.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

} // namespace

void Session::execute(Step &step) {
  const ProgramNode &node = *step.node;
  switch (node.kind) {
  case Kind::Sequence:
  case Kind::Call:
    for (Step *child : step.children)
      execute(*child);
    break;
  case Kind::Execute:
    executeComputeSet(step);
    break;
  case Kind::Copy:
    executeCopy(step);
    break;
  case Kind::CopyFromStream:
  case Kind::CopyToStream:
  case Kind::CopyFromRemote:
  case Kind::CopyToRemote:
  case Kind::CallHost:
    executeHost(step);
    break;
  case Kind::WriteUndef:
    memory->poison(node.destination.view());
    break;
  case Kind::Repeat:
    for (unsigned i = 0; i < node.id; ++i)
      execute(*step.children[0]);
    break;
  case Kind::RepeatWhile:
    for (;;) {
      execute(*step.children[0]);
      if ((decide(step) != 0) != node.expected)
        break;
      execute(*step.children[1]);
    }
    break;
  case Kind::If:
    execute(*step.children[decide(step) ? 0 : 1]);
    break;
  case Kind::Switch:
    executeSwitch(step);
    break;
  case Kind::Sync: {
    StepCost cost;
    cost.sync = node.id == 0 ? compiled->graph->machine.syncCycles
                             : compiled->graph->machine.globalSyncCycles;
    charge(step, cost);
    break;
  }
  case Kind::Print:
    printTensor(node);
    break;
  case Kind::AssumeEqual:
    break; // there is one replica
  case Kind::Abort:
    throw application_runtime_error("the program was aborted: " + node.text);
  case Kind::ReadClock: {
    std::uint64_t before = 0;
    if (node.source.valid())
      memory->gather(node.source.view(), &before);
    const std::uint64_t cycles = clock - before;
    memory->scatter(node.destination.view(), &cycles);
    break;
  }
  }
}

void Session::executeComputeSet(Step &step) {
  const Machine &m = compiled->graph->machine;
  const ExchangeCost &in = compiled->computeSetIn.at(step.node->id);
  const ExchangeCost &out = compiled->computeSetOut.at(step.node->id);
  const ComputeCost compute = step.computeSet->run(*threads);
  for (const ComputeSetRun::TileCycles &tile : step.computeSet->tileCycles())
    tileCycles[tile.tile] += tile.cycles;
  StepCost cost;
  cost.compute = compute.cycles;
  cost.tileCycles = compute.totalCycles;
  cost.flops = compute.flops;
  cost.activeTiles = compute.activeTiles;
  cost.exchange = in.cycles + out.cycles;
  cost.bytesBetweenIpus = in.bytesBetweenIpus + out.bytesBetweenIpus;
  // One sync before compute, and one before each exchange that happens.
  cost.sync = std::uint64_t{m.syncCycles} * (1 + (in.cycles != 0) + (out.cycles != 0));
  if (step.node->destination.valid()) {
    char value[8] = {};
    storeNumber(step.node->destination.elementType(), value, 0, compute.result);
    memory->scatter(step.node->destination.view(), value);
  }
  charge(step, cost);
}

void Session::executeCopy(Step &step) {
  const Machine &m = compiled->graph->machine;
  memory->copy(step.node->source.view(), step.node->destination.view());
  StepCost cost;
  cost.exchange = compiled->copies.at(step.node).cycles;
  cost.bytesBetweenIpus = compiled->copies.at(step.node).bytesBetweenIpus;
  cost.compute = compiled->copyCycles.at(step.node);
  // A sync before what is moved within tiles, and one before what goes between them.
  cost.sync = std::uint64_t{m.syncCycles} * std::max(1, (cost.compute != 0) + (cost.exchange != 0));
  charge(step, cost);
}

void Session::executeSwitch(Step &step) {
  const std::int64_t value = decide(step);
  const auto &cases = step.node->cases;
  const auto found = std::find(cases.begin(), cases.end(), value);
  execute(
      *step.children[found == cases.end() ? 0
                                          : 1 + static_cast<std::size_t>(found - cases.begin())]);
}

std::int64_t Session::decide(Step &step) {
  const Tensor &t = step.node->source;
  StepCost cost;
  cost.exchange = compiled->copies.at(step.node).cycles;
  cost.bytesBetweenIpus = compiled->copies.at(step.node).bytesBetweenIpus;
  cost.sync = compiled->graph->machine.syncCycles;
  charge(step, cost);
  char value[8];
  memory->gather(t.view(), value);
  return static_cast<std::int64_t>(numberAt(t.elementType(), value, 0));
}

void Session::printTensor(const ProgramNode &node) {
  const Tensor &t = node.source;
  std::vector<char> bytes(bytesOf(t));
  memory->gather(t.view(), bytes.data());
  std::ostream &out = *print;
  out << node.text << ": ";
  std::size_t at = 0;
  const std::function<void(unsigned)> dimension = [&](unsigned d) {
    if (d == t.rank()) {
      out << numberAt(t.elementType(), bytes.data(), at++);
      return;
    }
    out << '{';
    for (std::size_t i = 0; i < t.dim(d); ++i) {
      if (i)
        out << ',';
      dimension(d + 1);
    }
    out << '}';
  };
  dimension(0);
  out << '\n';
}

} // namespace poplar::emulator
