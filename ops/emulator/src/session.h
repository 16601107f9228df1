#ifndef IPULSE_EMULATOR_SESSION_H
#define IPULSE_EMULATOR_SESSION_H

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <poplar/Device.hpp>
#include <poplar/Engine.hpp>

#include "compiled.h"
#include "compute_set_run.h"
#include "host_streams.h"
#include "memory_image.h"
#include "worker_threads.h"

namespace poplar::emulator {

/// Cycles of one execution of a step, or the sum of many.
struct StepCost {
  std::uint64_t sync = 0, exchange = 0, compute = 0, host = 0;
  std::uint64_t tileCycles = 0; // of compute, over all tiles
  std::uint64_t flops = 0;
  std::uint64_t activeTiles = 0;
  std::uint64_t bytesBetweenIpus = 0;
  std::uint64_t cycles() const { return sync + exchange + compute + host; }
};

/// What one IPU's tiles computed in a step.
struct IpuCost {
  std::uint64_t compute = 0, tileCycles = 0, activeTiles = 0;
};

/// A program node bound to memory.
struct Step {
  const ProgramNode *node = nullptr;
  unsigned id = 0; // of Compiled::ids
  std::vector<Step *> children;
  std::unique_ptr<ComputeSetRun> computeSet;
  std::uint64_t executions = 0;
  StepCost total;
  std::shared_ptr<const std::vector<std::uint64_t>> recordedTileCycles;
};

/// A step as it ran, for the profile of a run.
struct StepRecord {
  const Step *step;
  std::uint64_t start;
  StepCost cost;
  std::vector<IpuCost> ipus;
  std::shared_ptr<const std::vector<std::uint64_t>> cyclesByTile; // of a compute set
};

struct RunRecord {
  std::string name;
  std::uint64_t start = 0, end = 0;
  std::vector<StepRecord> steps;
  bool truncated = false; // more steps than are kept
};

/// Compiled programs on a device: their memory, their streams and what they cost so far.
class Session {
public:
  /// name: of the engine, for its reports.
  explicit Session(std::shared_ptr<Compiled> compiled, std::string name = "");
  ~Session();

  void load(const Device &device);
  void run(unsigned program, const std::string &name);
  bool loaded() const { return memory != nullptr; }

  const Compiled &getCompiled() const { return *compiled; }
  const std::string &getName() const { return name; }
  HostStreams &getStreams() { return streams; }
  void writeTensor(const std::string &handle, const void *begin, std::size_t bytes);
  void readTensor(const std::string &handle, void *begin, std::size_t bytes);

  std::uint64_t cycles() const { return clock; }
  const std::vector<RunRecord> &runs() const { return records; }
  const std::vector<std::unique_ptr<Step>> &steps() const { return bound; }
  /// Cycles that each tile computed, over all steps.
  const std::vector<std::uint64_t> &cyclesByTile() const { return tileCycles; }
  void resetProfile();
  void setProfiling(bool on) { profiling = on; }
  void setPrintStream(std::ostream &stream) { print = &stream; }

private:
  Step *bind(const std::shared_ptr<ProgramNode> &node);
  void execute(Step &step);
  void executeComputeSet(Step &step);
  void executeCopy(Step &step);
  void executeHost(Step &step);
  void executeSwitch(Step &step);
  void printTensor(const ProgramNode &node);
  /// What the step's program goes by: every tile is told before any goes on.
  std::int64_t decide(Step &step);
  void charge(Step &step, const StepCost &cost);
  std::vector<IpuCost> ipuCosts(const Step &step, const StepCost &cost) const;
  /// Of a compute set that has just run; shared with the record before where they are equal.
  std::shared_ptr<const std::vector<std::uint64_t>> recordedTileCycles(Step &step) const;
  StepCost hostCost(std::size_t bytes) const;

  std::shared_ptr<Compiled> compiled;
  std::string name;
  std::unique_ptr<MemoryImage> memory;
  std::unique_ptr<WorkerThreads> threads;
  std::vector<std::unique_ptr<Step>> bound;
  std::map<const ProgramNode *, Step *> stepOf;
  std::vector<Step *> programs;
  HostStreams streams;
  std::uint64_t clock = 0;
  std::vector<std::uint64_t> tileCycles;
  std::vector<RunRecord> records;
  std::size_t recordedRuns = 0;
  RunRecord *recording = nullptr;
  bool profiling = true;
  std::ostream *print = &std::cerr;
};

} // namespace poplar::emulator

#endif
