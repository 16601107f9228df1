#include "session.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include <poplar/exceptions.hpp>

#include "codelets/conversion.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

} // namespace

void Session::execute(Step &step) {
  const std::uint64_t start = clocks[profiled];
  executeByKind(step);
  if (step.listed)
    recordBlock(step, start);
}

void Session::executeByKind(Step &step) {
  const ProgramNode &node = *step.node;
  switch (node.kind) {
  case Kind::Sequence:
  case Kind::Call:
    for (Step *child : step.children)
      execute(*child);
    break;
  case Kind::Execute:
    for (const unsigned replica : active)
      executeComputeSet(step, replica);
    break;
  case Kind::Copy:
    executeCopy(step);
    break;
  case Kind::CrossReplica:
    executeCrossReplica(step);
    break;
  case Kind::CopyFromStream:
  case Kind::CopyToStream:
  case Kind::CopyFromRemote:
  case Kind::CopyToRemote:
  case Kind::CallHost:
    executeHost(step);
    break;
  case Kind::WriteUndef:
    for (const unsigned replica : active)
      memories[replica]->poison(node.destination.view());
    break;
  case Kind::Repeat:
    for (unsigned i = 0; i < node.id; ++i)
      execute(*step.children[0]);
    break;
  case Kind::RepeatWhile:
    executeWhile(step);
    break;
  case Kind::If:
    executeBranch(step, [](std::int64_t value) { return value ? 0u : 1u; });
    break;
  case Kind::Switch:
    executeBranch(step, [&](std::int64_t value) { return caseOf(node, value); });
    break;
  case Kind::Sync: {
    StepCost cost;
    if (node.id == 0) {
      cost.sync = compiled->graph->machine.syncCycles;
      charge(step, cost);
    } else {
      checkTogether(step);
      cost.sync = compiled->graph->machine.globalSyncCycles;
      chargeTogether(step, cost);
    }
    break;
  }
  case Kind::Print:
    printTensor(node);
    break;
  case Kind::AssumeEqual:
    checkEqual(node);
    break;
  case Kind::Abort:
    throw application_runtime_error("the program was aborted: " + node.text);
  case Kind::ReadClock:
    readClock(node);
    break;
  }
}

void Session::executeComputeSet(Step &step, unsigned replica) {
  const Machine &m = compiled->graph->machine;
  const ExchangeCost &in = compiled->computeSetIn.at(step.node->id);
  const ExchangeCost &out = compiled->computeSetOut.at(step.node->id);
  ComputeSetRun &computeSet = *step.computeSets[replica];
  const ComputeCost compute = computeSet.run(*threads);
  if (replica == profiled)
    for (const ComputeSetRun::TileCycles &tile : computeSet.tileCycles())
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
    memories[replica]->scatter(step.node->destination.view(), value);
  }
  charge(step, cost, replica);
}

void Session::executeCopy(Step &step) {
  for (const unsigned replica : active)
    memories[replica]->copy(step.node->source.view(), step.node->destination.view());
  charge(step, moveCost(*compiled, *step.node));
}

std::size_t Session::caseOf(const ProgramNode &node, std::int64_t value) const {
  const auto found = std::find(node.cases.begin(), node.cases.end(), value);
  return found == node.cases.end() ? 0 : 1 + static_cast<std::size_t>(found - node.cases.begin());
}

void Session::readClock(const ProgramNode &node) {
  for (const unsigned replica : active) {
    std::uint64_t before = 0;
    if (node.source.valid())
      memories[replica]->gather(node.source.view(), &before);
    const std::uint64_t cycles = clocks[replica] - before;
    memories[replica]->scatter(node.destination.view(), &cycles);
  }
}

void Session::printTensor(const ProgramNode &node) {
  const Tensor &t = node.source;
  std::vector<char> bytes(bytesOf(t));
  std::ostringstream out; // the stream may write each piece at once, as std::cerr does
  out.copyfmt(*print);
  for (const unsigned replica : active) {
    memories[replica]->gather(t.view(), bytes.data());
    out << node.text;
    if (clocks.size() > 1)
      out << " of replica " << replica;
    out << ": ";
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
  const std::string text = out.str();
  print->write(text.data(), static_cast<std::streamsize>(text.size()));
}

} // namespace poplar::emulator
