#ifndef IPULSE_EMULATOR_SESSION_H
#define IPULSE_EMULATOR_SESSION_H

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poplar/Device.hpp>
#include <poplar/Engine.hpp>

#include "compute/compute_set_run.h"
#include "compute/worker_threads.h"
#include "executable/compiled.h"
#include "host_streams.h"
#include "memory/memory_image.h"

namespace poplar::emulator {

/// Cycles of one execution of a step, or the sum of many.
struct StepCost {
  std::uint64_t sync = 0, exchange = 0, compute = 0, host = 0;
  std::uint64_t tileCycles = 0; // of compute, over all tiles
  std::uint64_t flops = 0;
  std::uint64_t activeTiles = 0;
  std::uint64_t bytesBetweenIpus = 0;
  std::uint64_t bytesFromHost = 0, bytesToHost = 0; // of one replica
  std::uint64_t cycles() const { return sync + exchange + compute + host; }
};

/// Returns the cost of a program that only moves data.
StepCost moveCost(const Compiled &compiled, const ProgramNode &node);

/// The cycles of one IPU's tiles in a step.
struct IpuCost {
  std::uint64_t compute = 0, tileCycles = 0, activeTiles = 0;
};

/// A program node bound to the replicas' memory.
struct Step {
  const ProgramNode *node = nullptr;
  unsigned id = 0;     // of Compiled::ids
  bool listed = false; // a profile has the start and end of its executions
  std::vector<Step *> children;
  std::vector<std::unique_ptr<ComputeSetRun>> computeSets; // by replica
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

/// An execution of a program that the profile lists.
struct BlockRecord {
  const Step *step;
  std::uint64_t start, end;
};

struct RunRecord {
  std::string name;
  std::uint64_t start = 0, end = 0;
  std::vector<StepRecord> steps;
  std::vector<BlockRecord> blocks;
  bool truncated = false; // more steps or blocks than are recorded
};

/// Compiled programs on a device: their memory, their streams and their cost so far. Replicas
/// execute every step one after the other, each with a clock of its own. They wait for the slowest
/// where they synchronize: at exchanges between replicas, at host copies and at the end of a run.
/// Where their decisions differ, some of them skip a step. Costs and tile cycles are those of the
/// profiled replica.
class Session {
public:
  /// name: the engine's, for its reports.
  explicit Session(std::shared_ptr<Compiled> compiled, std::string name = "");
  ~Session();

  void load(const Device &device);
  void run(unsigned program, const std::string &name);
  bool loaded() const { return !memories.empty(); }

  const Compiled &getCompiled() const { return *compiled; }
  const std::string &getName() const { return name; }
  HostStreams &getStreams() { return streams; }
  /// Copies the data of all replicas, one after the other, or of the given one.
  void writeTensor(const std::string &handle, const void *begin, std::size_t bytes,
                   std::optional<unsigned> replica = {});
  void readTensor(const std::string &handle, void *begin, std::size_t bytes,
                  std::optional<unsigned> replica = {});

  /// Returns the cycles of the slowest replica.
  std::uint64_t cycles() const;
  unsigned profiledReplica() const { return profiled; }
  const std::vector<RunRecord> &runs() const { return records; }
  const std::vector<std::unique_ptr<Step>> &steps() const { return bound; }
  /// Cycles that each tile computed, over all steps.
  const std::vector<std::uint64_t> &cyclesByTile() const { return tileCycles; }
  void resetProfile();
  void setProfiling(bool on) { profiling = on; }
  void setPrintStream(std::ostream &stream) { print = &stream; }

private:
  using Replicas = std::vector<unsigned>;
  struct Decision {
    unsigned replica;
    std::int64_t value;
  };
  Step *bind(const std::shared_ptr<ProgramNode> &node);
  void execute(Step &step);
  void executeByKind(Step &step);
  /// Records an execution that began at `start` and has ended.
  void recordBlock(const Step &step, std::uint64_t start);
  void executeComputeSet(Step &step, unsigned replica);
  void executeCopy(Step &step);
  void executeCrossReplica(Step &step);
  void executeHost(Step &step);
  void callHost(const ProgramNode &node, unsigned replica, std::size_t &bytes);
  void copyRemote(const ProgramNode &node, unsigned replica, std::size_t &bytes);
  void executeWhile(Step &step);
  /// Executes the child that `childOf` selects for each replica's decision, with those replicas.
  void executeBranch(Step &step, const std::function<std::size_t(std::int64_t)> &childOf);
  std::size_t caseOf(const ProgramNode &node, std::int64_t value) const;
  void readClock(const ProgramNode &node);
  void printTensor(const ProgramNode &node);
  void checkEqual(const ProgramNode &node);
  /// Reads the value that decides how a step continues and distributes it to every tile.
  std::vector<Decision> decide(Step &step);
  /// Adds the same cost to the clocks of all replicas that execute the step, or to that of one.
  void charge(Step &step, const StepCost &cost);
  void charge(Step &step, const StepCost &cost, unsigned replica);
  /// The same where replicas synchronize: early ones wait. Call checkTogether before.
  void chargeTogether(Step &step, const StepCost &cost);
  /// Raises application_runtime_error unless all replicas execute the step.
  void checkTogether(const Step &step) const;
  /// Raises stream_connection_error unless the tensor of a handle has so many bytes.
  const Tensor &hostTensor(const std::map<std::string, Tensor> &handles, const std::string &handle,
                           bool writes, std::size_t bytes, std::optional<unsigned> replica) const;
  std::vector<IpuCost> ipuCosts(const Step &step, const StepCost &cost) const;
  /// Records the cycles of the last compute set; shared with the previous record if they are equal.
  std::shared_ptr<const std::vector<std::uint64_t>> recordedTileCycles(Step &step) const;
  StepCost hostCost(std::size_t bytes) const;

  std::shared_ptr<Compiled> compiled;
  std::string name;
  std::vector<std::unique_ptr<MemoryImage>> memories; // by replica; none unless loaded
  std::unique_ptr<WorkerThreads> threads;
  std::vector<std::unique_ptr<Step>> bound;
  std::map<const ProgramNode *, Step *> stepOf;
  std::vector<Step *> programs;
  HostStreams streams;
  std::vector<std::uint64_t> clocks; // by replica
  Replicas active;                   // those that execute the step
  unsigned profiled = 0;
  std::vector<std::uint64_t> tileCycles;
  std::vector<RunRecord> records;
  std::size_t recordedRuns = 0;
  RunRecord *recording = nullptr;
  bool profiling = true;
  std::ostream *print = &std::cerr;
};

} // namespace poplar::emulator

#endif
