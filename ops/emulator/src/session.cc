#include "session.h"

#include <algorithm>

#include <poplar/exceptions.hpp>

#include "engine_options.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

constexpr std::size_t kStepsKept = 100000; // of a run's record; totals go on beyond

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
  if (profiling && recordedRuns < runsProfiled(compiled->options)) {
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

void Session::resetProfile() {
  records.clear();
  recordedRuns = 0;
  for (const std::unique_ptr<Step> &step : bound) {
    step->executions = 0;
    step->total = {};
  }
}

} // namespace poplar::emulator
