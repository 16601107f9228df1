#include "session.h"

#include <algorithm>
#include <cmath>

#include <poplar/exceptions.hpp>

#include "conversion.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

constexpr std::size_t kStepsKept = 100000; // of a run's record; totals go on beyond

std::size_t bytesOf(const Tensor &t) { return t.numElements() * sizeOf(t.elementType()); }

std::size_t optionOr(const OptionFlags &options, const char *name, std::size_t otherwise) {
  for (const auto &option : options)
    if (option.first == name)
      return std::stoul(option.second);
  return otherwise;
}

} // namespace

Session::Session(std::shared_ptr<Compiled> given)
    : compiled(std::move(given)), streams(*compiled->graph) {}

Session::~Session() = default;

void Session::load(const Device &device) {
  const Machine &built = compiled->graph->machine;
  const Target &target = device.getTarget();
  if (!device.isAttached())
    throw runtime_error("the device is not attached: call Device::attach before Engine::load");
  if (target.getNumTiles() < built.numTiles() || target.getTilesPerIPU() != built.tilesPerIPU)
    throw runtime_error("the graph was built for " + std::to_string(built.numIPUs) + " IPUs of " +
                        std::to_string(built.tilesPerIPU) + " tiles and the device has " +
                        std::to_string(target.getNumIPUs()) + " of " +
                        std::to_string(target.getTilesPerIPU()));
  for (const TileMemory &tile : compiled->memory)
    if (tile.total() > built.bytesPerTile && target.getTargetType() == TargetType::IPU)
      throw graph_memory_allocation_error("the executable is out of memory and was compiled with "
                                          "debug.allowOutOfMemory: it can be profiled and not run");
  memory = std::make_unique<MemoryImage>(*compiled->graph);
  if (!threads)
    threads = std::make_unique<WorkerThreads>(WorkerThreads::defaultCount());
  bound.clear();
  stepOf.clear();
  programs.clear();
  for (const auto &program : compiled->programs)
    programs.push_back(bind(program));
}

Step *Session::bind(const std::shared_ptr<ProgramNode> &node) {
  const auto known = stepOf.find(node.get());
  if (known != stepOf.end())
    return known->second;
  auto made = std::make_unique<Step>();
  Step *step = made.get();
  step->node = node.get();
  step->id = static_cast<unsigned>(bound.size());
  stepOf[node.get()] = step;
  bound.push_back(std::move(made));
  if (node->kind == Kind::Execute)
    step->computeSet = std::make_unique<ComputeSetRun>(*compiled->graph, node->id, *memory);
  if (node->kind == Kind::Call && compiled->graph->functions[node->id])
    step->children.push_back(bind(compiled->graph->functions[node->id]));
  for (const auto &child : node->children)
    step->children.push_back(bind(child));
  return step;
}

void Session::run(unsigned program, const std::string &name) {
  if (!memory)
    throw runtime_error("the engine is not loaded: call Engine::load before run");
  if (program >= programs.size())
    throw control_program_error("there is no program " + std::to_string(program) +
                                ": the engine has " + std::to_string(programs.size()));
  const std::size_t keep =
      optionOr(compiled->options, "autoReport.executionProfileProgramRunCount", 2);
  if (profiling && recordedRuns < keep) {
    ++recordedRuns;
    records.push_back(
        {name.empty() ? "run " + std::to_string(records.size()) : name, clock, clock, {}, false});
    recording = &records.back();
  }
  try {
    execute(*programs[program]);
  } catch (...) {
    recording = nullptr;
    throw;
  }
  if (recording)
    recording->end = clock;
  recording = nullptr;
}

void Session::charge(Step &step, const StepCost &cost) {
  if (recording) {
    if (recording->steps.size() < kStepsKept)
      recording->steps.push_back({&step, clock, cost});
    else
      recording->truncated = true;
  }
  clock += cost.cycles();
  ++step.executions;
  step.total.sync += cost.sync;
  step.total.exchange += cost.exchange;
  step.total.compute += cost.compute;
  step.total.host += cost.host;
  step.total.tileCycles += cost.tileCycles;
  step.total.flops += cost.flops;
  step.total.bytesBetweenIpus += cost.bytesBetweenIpus;
  step.total.activeTiles = std::max(step.total.activeTiles, cost.activeTiles);
}

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
      if (predicate(node.source) != node.expected)
        break;
      execute(*step.children[1]);
    }
    break;
  case Kind::If:
    execute(*step.children[predicate(node.source) ? 0 : 1]);
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
  }
}

void Session::executeComputeSet(Step &step) {
  const Machine &m = compiled->graph->machine;
  const ExchangeCost &in = compiled->computeSetIn.at(step.node->id);
  const ExchangeCost &out = compiled->computeSetOut.at(step.node->id);
  const ComputeCost compute = step.computeSet->run(*threads);
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
  cost.sync = std::uint64_t{m.syncCycles} * (1 + (cost.exchange != 0));
  charge(step, cost);
}

StepCost Session::hostCost(std::size_t bytes) const {
  const Machine &m = compiled->graph->machine;
  StepCost cost;
  cost.sync = m.globalSyncCycles;
  cost.host = static_cast<std::uint64_t>(std::ceil(
      (m.hostLatencySeconds + static_cast<double>(bytes) / m.hostBytesPerSecond) * m.clockHz));
  return cost;
}

void Session::executeHost(Step &step) {
  const ProgramNode &node = *step.node;
  std::vector<char> bytes;
  switch (node.kind) {
  case Kind::CopyFromStream:
    bytes.resize(bytesOf(node.destination));
    streams.receive(node.text, bytes.data(), bytes.size());
    memory->scatter(node.destination.view(), bytes.data());
    break;
  case Kind::CopyToStream:
    bytes.resize(bytesOf(node.source));
    memory->gather(node.source.view(), bytes.data());
    streams.send(node.text, bytes.data(), bytes.size());
    break;
  case Kind::CallHost: {
    std::vector<std::vector<char>> inputs, outputs;
    for (const Tensor &t : node.inputs) {
      inputs.emplace_back(bytesOf(t));
      memory->gather(t.view(), inputs.back().data());
      bytes.resize(bytes.size() + inputs.back().size());
    }
    for (const Tensor &t : node.outputs)
      outputs.emplace_back(bytesOf(t));
    streams.call(node.text, inputs, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      memory->scatter(node.outputs[i].view(), outputs[i].data());
    break;
  }
  default: {
    const bool reads = node.kind == Kind::CopyFromRemote;
    const Tensor &t = reads ? node.destination : node.source;
    const std::size_t row = streams.remoteRowBytes(node.text);
    bytes.resize(bytesOf(t));
    std::vector<std::size_t> rows{0};
    if (!node.inputs.empty()) {
      const Tensor &offset = node.inputs[0];
      std::vector<char> raw(bytesOf(offset));
      memory->gather(offset.view(), raw.data());
      rows.clear();
      for (std::size_t i = 0; i < offset.numElements(); ++i)
        rows.push_back(static_cast<std::size_t>(numberAt(offset.elementType(), raw.data(), i)));
    }
    if (!reads)
      memory->gather(t.view(), bytes.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      char *remote = streams.remoteRow(node.text, rows[i]);
      char *here = bytes.data() + i * row;
      std::copy_n(reads ? remote : here, row, reads ? here : remote);
    }
    if (reads)
      memory->scatter(t.view(), bytes.data());
  }
  }
  charge(step, hostCost(bytes.size()));
}

void Session::executeSwitch(Step &step) {
  const std::int64_t value = integer(step.node->source);
  const auto &cases = step.node->cases;
  const auto found = std::find(cases.begin(), cases.end(), value);
  execute(
      *step.children[found == cases.end() ? 0
                                          : 1 + static_cast<std::size_t>(found - cases.begin())]);
}

std::int64_t Session::integer(const Tensor &t) {
  char value[8];
  memory->gather(t.view(), value);
  return static_cast<std::int64_t>(numberAt(t.elementType(), value, 0));
}

bool Session::predicate(const Tensor &t) { return integer(t) != 0; }

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

void Session::writeTensor(const std::string &handle, const void *begin, std::size_t bytes) {
  const auto found = compiled->graph->hostWrites.find(handle);
  if (found == compiled->graph->hostWrites.end())
    throw stream_connection_error("there is no host write '" + handle +
                                  "': Graph::createHostWrite makes one");
  if (!memory)
    throw runtime_error("the engine is not loaded: call Engine::load before writeTensor");
  if (bytes != bytesOf(found->second))
    throw stream_connection_error("host write '" + handle + "' takes " +
                                  std::to_string(bytesOf(found->second)) + " bytes, not " +
                                  std::to_string(bytes));
  memory->scatter(found->second.view(), begin);
}

void Session::readTensor(const std::string &handle, void *begin, std::size_t bytes) {
  const auto found = compiled->graph->hostReads.find(handle);
  if (found == compiled->graph->hostReads.end())
    throw stream_connection_error("there is no host read '" + handle +
                                  "': Graph::createHostRead makes one");
  if (!memory)
    throw runtime_error("the engine is not loaded: call Engine::load before readTensor");
  if (bytes != bytesOf(found->second))
    throw stream_connection_error("host read '" + handle + "' gives " +
                                  std::to_string(bytesOf(found->second)) + " bytes, not " +
                                  std::to_string(bytes));
  memory->gather(found->second.view(), begin);
}

void Session::resetProfile() {
  records.clear();
  recordedRuns = 0;
  for (const std::unique_ptr<Step> &step : bound) {
    step->executions = 0;
    step->total = {};
  }
}

} // namespace poplar::emulator
