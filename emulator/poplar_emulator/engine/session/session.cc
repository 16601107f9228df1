#include "session.h"

#include <algorithm>
#include <numeric>

#include <poplar/exceptions.hpp>

#include "engine_options.h"
#include "profile/profile.h"
#include "profile/report_files.h"
#include "support/log.h"

namespace poplar::emulator {
namespace {

using Kind = ProgramNode::Kind;

constexpr std::size_t kStepsKept =
    5000; // in a run's record, and as many blocks; totals include later steps

} // namespace

Session::Session(std::shared_ptr<Compiled> given, std::string name)
    : compiled(std::move(given)), name(std::move(name)), streams(*compiled->graph),
      clocks(compiled->graph->replicas), profiled(replicaProfiled(compiled->options)),
      tileCycles(compiled->graph->machine.numTiles()) {
  if (profiled >= clocks.size())
    throw invalid_option("profiler.replicaToProfile is " + std::to_string(profiled) + " and the " +
                         "graph has " + std::to_string(clocks.size()) + ", counted from 0");
  openReports(*this);
}

Session::~Session() { closeReports(*this); }

void Session::load(const Device &device) {
  const Machine built = compiled->graph->wholeMachine();
  const Target &target = device.getTarget();
  if (!device.isAttached())
    throw runtime_error("the device is not attached: call Device::attach before Engine::load");
  // A simulator, which is a model here, runs what was built for an IPU.
  const bool simulates =
      built.type == TargetType::IPU && target.getTargetType() == TargetType::IPU_MODEL;
  if (target.getTargetType() != built.type && !simulates)
    throw runtime_error("the graph was built for the target type " + toString(built.type) +
                        " and the device is " + toString(target.getTargetType()));
  if (target.getNumTiles() < built.numTiles() || target.getTilesPerIPU() != built.tilesPerIPU)
    throw runtime_error("the graph was built for " + std::to_string(built.numIPUs) + " IPUs of " +
                        std::to_string(built.tilesPerIPU) + " tiles and the device has " +
                        std::to_string(target.getNumIPUs()) + " of " +
                        std::to_string(target.getTilesPerIPU()));
  for (const TileMemory &tile : compiled->memory)
    if (tile.total() > built.bytesPerTile && target.getTargetType() == TargetType::IPU)
      throw graph_memory_allocation_error("the executable is out of memory and was compiled with "
                                          "debug.allowOutOfMemory: it can be profiled and not run");
  log(LogModule::Engine, LogLevel::Info, "loading onto ", target.getNumIPUs(), " IPUs");
  memories.clear();
  for (unsigned replica = 0; replica < clocks.size(); ++replica)
    memories.push_back(std::make_unique<MemoryImage>(
        *compiled->graph, replica, isOn(compiled->options, "debug.poisonOutputs")));
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
  step->id = compiled->ids.at(node.get());
  step->listed = isListed(compiled->options, *node, stepName(*compiled, *node));
  stepOf[node.get()] = step;
  bound.push_back(std::move(made));
  if (node->kind == Kind::Execute)
    for (unsigned replica = 0; replica < memories.size(); ++replica)
      step->computeSets.push_back(std::make_unique<ComputeSetRun>(
          *compiled, node->id, *memories[replica], replica * compiled->graph->machine.numTiles(),
          isOn(compiled->options, "debug.poisonOutputs"),
          isOn(compiled->options, "debug.checkBounds")));
  if (node->kind == Kind::Call && compiled->graph->functions[node->id])
    step->children.push_back(bind(compiled->graph->functions[node->id]));
  for (const auto &child : node->children)
    step->children.push_back(bind(child));
  return step;
}

void Session::run(unsigned program, const std::string &name) {
  if (!loaded())
    throw runtime_error("the engine is not loaded: call Engine::load before run");
  if (program >= programs.size())
    throw control_program_error("there is no program " + std::to_string(program) +
                                ": the engine has " + std::to_string(programs.size()));
  const std::uint64_t start = cycles();
  active.resize(clocks.size());
  std::iota(active.begin(), active.end(), 0u);
  if (profiling && recordedRuns < runsProfiled(compiled->options)) {
    ++recordedRuns;
    records.push_back({name.empty() ? "run " + std::to_string(records.size()) : name,
                       start,
                       start,
                       {},
                       {},
                       false});
    recording = &records.back();
  }
  try {
    execute(*programs[program]);
  } catch (...) {
    recording = nullptr;
    throw;
  }
  const std::uint64_t end = cycles(); // the host waits for all of them
  std::fill(clocks.begin(), clocks.end(), end);
  if (recording)
    recording->end = end;
  recording = nullptr;
  log(LogModule::Engine, LogLevel::Info, "ran program ", program, ": ", end - start,
      " emulated cycles");
  if (isOn(compiled->options, "autoReport.streamAtEachRun"))
    writeReports(*compiled, this);
}

std::vector<IpuCost> Session::ipuCosts(const Step &step, const StepCost &cost) const {
  const Machine &m = compiled->graph->machine;
  std::vector<IpuCost> ipus(m.numIPUs);
  if (step.computeSets.empty()) {
    for (IpuCost &ipu : ipus)
      ipu.compute = cost.compute;
    return ipus;
  }
  for (const ComputeSetRun::TileCycles &tile : step.computeSets[profiled]->tileCycles()) {
    IpuCost &ipu = ipus[tile.tile / m.tilesPerIPU];
    ipu.compute = std::max(ipu.compute, tile.cycles);
    ipu.tileCycles += tile.cycles;
    ++ipu.activeTiles;
  }
  return ipus;
}

std::shared_ptr<const std::vector<std::uint64_t>> Session::recordedTileCycles(Step &step) const {
  if (step.computeSets.empty())
    return nullptr;
  std::vector<std::uint64_t> cycles(compiled->graph->machine.numTiles());
  for (const ComputeSetRun::TileCycles &tile : step.computeSets[profiled]->tileCycles())
    cycles[tile.tile] = tile.cycles;
  if (!step.recordedTileCycles || *step.recordedTileCycles != cycles)
    step.recordedTileCycles = std::make_shared<const std::vector<std::uint64_t>>(std::move(cycles));
  return step.recordedTileCycles;
}

void Session::charge(Step &step, const StepCost &cost) {
  for (const unsigned replica : active)
    charge(step, cost, replica);
}

void Session::charge(Step &step, const StepCost &cost, unsigned replica) {
  const std::uint64_t before = clocks[replica];
  clocks[replica] += cost.cycles();
  if (replica != profiled)
    return;
  if (recording) {
    if (recording->steps.size() < kStepsKept)
      recording->steps.push_back(
          {&step, before, cost, ipuCosts(step, cost), recordedTileCycles(step)});
    else
      recording->truncated = true;
  }
  log(LogModule::Program, LogLevel::Trace, stepType(*step.node), " '",
      stepName(*compiled, *step.node), "': ", cost.cycles(), " emulated cycles");
  ++step.executions;
  step.total.sync += cost.sync;
  step.total.exchange += cost.exchange;
  step.total.compute += cost.compute;
  step.total.host += cost.host;
  step.total.tileCycles += cost.tileCycles;
  step.total.flops += cost.flops;
  step.total.bytesBetweenIpus += cost.bytesBetweenIpus;
  step.total.bytesFromHost += cost.bytesFromHost;
  step.total.bytesToHost += cost.bytesToHost;
  step.total.activeTiles = std::max(step.total.activeTiles, cost.activeTiles);
}

void Session::recordBlock(const Step &step, std::uint64_t start) {
  if (!recording || std::find(active.begin(), active.end(), profiled) == active.end())
    return;
  if (recording->blocks.size() < kStepsKept)
    recording->blocks.push_back({&step, start, clocks[profiled]});
  else
    recording->truncated = true;
}

void Session::resetProfile() {
  records.clear();
  recordedRuns = 0;
  std::fill(tileCycles.begin(), tileCycles.end(), 0);
  for (const std::unique_ptr<Step> &step : bound) {
    step->executions = 0;
    step->total = {};
    for (const auto &computeSet : step->computeSets)
      computeSet->resetScopes();
  }
}

} // namespace poplar::emulator
