#ifndef poplar_Engine_hpp
#define poplar_Engine_hpp

#include <chrono>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/Device.hpp>
#include <poplar/Executable.hpp>
#include <poplar/Graph.hpp>
#include <poplar/HostCallback.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/ProfileValue.hpp>
#include <poplar/Program.hpp>
#include <poplar/StreamCallback.hpp>

namespace pva {
class Report;
}

namespace poplar {

namespace emulator {
class Session;
}

using EngineOptions = OptionFlags;
using ProgressFunc = std::function<void(int step, int total)>;

/// Compiles a graph with its programs. Raises the error class of the fault; out of memory is
/// graph_memory_allocation_error unless debug.allowOutOfMemory is "true".
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs,
                        const OptionFlags &opt = {}, ProgressFunc progressCallBack = ProgressFunc(),
                        const DebugContext &debugContext = {});

/// Programs on a device.
class Engine {
public:
  /// A point in device time; see getTimeStamp.
  struct TimerTimePoint {
    std::chrono::steady_clock::time_point host;
    std::uint64_t cycles = 0;
    double clockFrequency = 1;
  };

  Engine(const Graph &graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {},
         ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {});
  Engine(const Graph &graph, program::Program prog, const OptionFlags &opt = {},
         ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {});
  Engine(Executable &&exe, const OptionFlags &opt = {}) : Engine(exe, opt) {}
  Engine(const Executable &exe, const OptionFlags &opt = {});
  Engine(Engine &&) noexcept;
  Engine &operator=(Engine &&) noexcept;
  ~Engine();

  void prepare(const Device &device);
  void deploy();
  void load(const Device &device);
  /// Raises runtime_error if the engine is not loaded, control_program_error for an index without a
  /// program.
  void run(unsigned prog = 0, const std::string &debugName = "");
  void loadAndRun(const Device &device, unsigned prog = 0);
  void stop() {}

  TimerTimePoint getTimeStamp();
  static std::string reportTiming(const TimerTimePoint &start, const TimerTimePoint &end);

  /// For a replicated graph, the data of the replicas one after the other.
  void writeTensor(StringRef handle, const void *buf, const void *bufEnd);
  /// [M] For one replica, as all overloads with its index.
  void writeTensor(StringRef handle, unsigned index, const void *buf, const void *bufEnd);
  /// Writes as many bytes as the tensor has; SDK 1 had no end pointer.
  void writeTensor(StringRef handle, const void *buf);
  template <typename T> void writeTensor(StringRef handle, ArrayRef<T> data) {
    writeTensor(handle, data.begin(), data.end());
  }
  void readTensor(StringRef handle, void *buf, void *bufEnd);
  void readTensor(StringRef handle, unsigned index, void *buf, void *bufEnd);
  void readTensor(StringRef handle, void *buf);
  template <typename T> void readTensor(StringRef handle, ArrayRef<T> data) {
    readTensor(handle, const_cast<T *>(data.begin()), const_cast<T *>(data.end()));
  }
  void connectStream(StringRef handle, void *begin, void *end);
  void connectStream(StringRef handle, void *p);
  template <typename T> void connectStream(StringRef handle, ArrayRef<T> data) {
    connectStream(handle, const_cast<T *>(data.begin()), const_cast<T *>(data.end()));
  }
  void connectStream(const DataStream &stream, void *begin, void *end) {
    connectStream(stream.handle(), begin, end);
  }
  void connectStream(const DataStream &stream, void *p) { connectStream(stream.handle(), p); }
  template <typename T> void connectStream(const DataStream &stream, ArrayRef<T> data) {
    connectStream(stream.handle(), data);
  }
  /// Called for every replica in turn, or for the one with the index.
  void connectStreamToCallback(StringRef handle, StreamCallbackHandle f);
  void connectStreamToCallback(StringRef handle, unsigned index, StreamCallbackHandle f);
  void connectStreamToCallback(const DataStream &stream, StreamCallbackHandle f) {
    connectStreamToCallback(stream.handle(), std::move(f));
  }
  void connectHostFunction(StringRef handle, unsigned index, HostCallbackHandle f);
  void copyToRemoteBuffer(const void *src, std::string handle, int repeatIndex = 0,
                          unsigned replicationIndex = 0);
  void copyFromRemoteBuffer(std::string handle, void *dst, int repeatIndex = 0,
                            unsigned replicationIndex = 0);
  void setPrintStream(std::ostream &stream) { setPrintTensorStream(stream); }
  void setPrintTensorStream(std::ostream &stream);

  /// Returns the compilation and the execution of getProfile, also with keys of SDKs before libpva:
  /// memory.byTile, memory.liveness, simulation.cycles.
  ProfileValue getGraphProfile() const;
  ProfileValue getExecutionProfile() const;
  /// Returns libpva's report.
  pva::Report getReport(bool reportExecution = true) const;
  /// Returns the same as a tree: compilation and execution.
  ProfileValue getProfile() const;
  /// Prints the steps of the profiled runs, one per line: first cycle, last cycle, type of the
  /// program. [I] the SDK's lines differ.
  void reportIntervals(std::ostream &outputStream) const;
  void resetExecutionProfile();
  void disableExecutionProfiling();
  void enableExecutionProfiling();
  void printProfileSummary(std::ostream &outputStream, const OptionFlags &flags = {}) const;

private:
  std::unique_ptr<emulator::Session> session;
};

ProfileValue getGraphProfile(const Engine &engine);
ProfileValue getExecutionProfile(const Engine &engine);

} // namespace poplar

#endif
