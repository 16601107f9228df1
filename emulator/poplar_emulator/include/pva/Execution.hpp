#ifndef pva_Execution_hpp
#define pva_Execution_hpp

// libpva's headers are closed. Names are those of its published Python API, as methods; what each
// returns is [M]: from memory.

#include <string>
#include <vector>

#include <pva/Program.hpp>

namespace pva {

class CycleRange : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::uint64_t min() const { return number("min"); }
  std::uint64_t max() const { return number("max"); }
};

class ActiveCycles : public ReportNode {
public:
  using ReportNode::ReportNode;
  CycleRange cyclesFrom() const { return member<CycleRange>("cyclesFrom"); }
  CycleRange cyclesTo() const { return member<CycleRange>("cyclesTo"); }
};

/// One IPU in a step.
class ExecutionStepIPU : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::uint64_t cycles() const { return number("cycles"); }
  ActiveCycles activeCycles() const { return member<ActiveCycles>("activeCycles"); }
  double tileBalance() const { return real("tileBalance"); }
  double activeTileBalance() const { return real("activeTileBalance"); }
};

/// A compute set as it ran in a step. Cycles are emulated.
class ExecutedComputeSet : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::string name() const;
  std::vector<std::uint64_t> cyclesByTile() const;
  /// Returns the cycles of each tile if all vertices take their estimates, or nothing if one has
  /// none. A report from a file has no estimates by tile: raises std::out_of_range.
  std::vector<std::uint64_t> estimatedCyclesByTile() const;
};

/// A step as it ran. Cycles are emulated.
class ExecutionStep : public ReportNode {
public:
  using ReportNode::ReportNode;
  ProgramPointer program() const { return compiled<ProgramPointer>("programs", number("program")); }
  std::vector<ExecutionStepIPU> ipus() const { return list<ExecutionStepIPU>("ipus"); }
  /// Returns the compute set of a step that executes one, else nothing.
  std::vector<ExecutedComputeSet> computeSets() const;
  /// Returns the compute cycles of each tile; 0 everywhere for a step that is not a compute set.
  std::vector<std::uint64_t> cyclesByTile() const;
};

class Microseconds : public ReportNode {
public:
  using ReportNode::ReportNode;
  double start() const { return real("start"); }
  double end() const { return real("end"); }
};

class Run : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::string name() const { return text("name"); }
  Microseconds microseconds() const { return member<Microseconds>("microseconds"); }
  std::vector<ExecutionStep> steps() const { return list<ExecutionStep>("steps"); }
};

/// An execution of a program::Block, or of a program that profiler.programs.filter names.
class BlockExecution : public ReportNode {
public:
  using ReportNode::ReportNode;
  ProgramPointer program() const { return compiled<ProgramPointer>("programs", number("program")); }
  std::string name() const { return program()->name(); }
  std::uint64_t cyclesFrom() const { return number("cyclesFrom"); }
  std::uint64_t cyclesTo() const { return number("cyclesTo"); }
};

class TotalCycles : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::uint64_t total() const { return number("total"); }
};

/// The report of the first runs of the engine: 2, or autoReport.executionProfileProgramRunCount.
class ExecutionReport : public ReportNode {
public:
  using ReportNode::ReportNode;
  std::vector<Run> runs() const { return list<Run>("runs"); }
  /// Returns the steps of all runs.
  std::vector<ExecutionStep> steps() const {
    std::vector<ExecutionStep> all;
    for (const Run &run : runs())
      for (const ExecutionStep &step : run.steps())
        all.push_back(step);
    return all;
  }
  /// Returns the blocks of all runs in the order of their ends. Every tile waits at the syncs, so
  /// that their cycles are those of any tile. Raises std::out_of_range for a tile that the target
  /// does not have.
  std::vector<BlockExecution> blocks(unsigned tile) const;
  TotalCycles totalCycles() const { return member<TotalCycles>("totalCycles"); }
};

} // namespace pva

#endif
