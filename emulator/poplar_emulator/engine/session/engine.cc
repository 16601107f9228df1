#include <poplar/Engine.hpp>

#include <sstream>

#include <poplar/exceptions.hpp>

#include "profile/profile.h"
#include "profile/pva_report.h"
#include "session.h"

namespace poplar {

using emulator::Compiled;
using emulator::Session;

namespace {

std::shared_ptr<Compiled> compiledOf(const Graph &graph, ArrayRef<program::Program> progs,
                                     const OptionFlags &opt, const ProgressFunc &progress) {
  std::vector<std::shared_ptr<emulator::ProgramNode>> nodes;
  for (const program::Program &p : progs)
    nodes.push_back(p.getNode());
  return emulator::compile(graph.getState(), std::move(nodes), opt, progress);
}

/// Returns 0 for an unknown handle; the caller raises the error.
std::size_t bytesOf(const std::map<std::string, Tensor> &handles, const std::string &handle) {
  const auto found = handles.find(handle);
  return found == handles.end()
             ? 0
             : found->second.numElements() * emulator::sizeOf(found->second.elementType());
}

} // namespace

Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs,
                        const OptionFlags &opt, ProgressFunc progressCallBack,
                        const DebugContext &) {
  return Executable(compiledOf(graph, progs, opt, progressCallBack));
}

Engine::Engine(const Graph &graph, ArrayRef<program::Program> progs, const OptionFlags &opt,
               ProgressFunc progressCallBack, const DebugContext &debugContext)
    : session(std::make_unique<Session>(compiledOf(graph, progs, opt, progressCallBack),
                                        debugContext.getPathName())) {}

Engine::Engine(const Graph &graph, program::Program prog, const OptionFlags &opt,
               ProgressFunc progressCallBack, const DebugContext &debugContext)
    : Engine(graph, ArrayRef<program::Program>(&prog, 1), opt, std::move(progressCallBack),
             debugContext) {}

Engine::Engine(const Executable &exe, const OptionFlags &opt) {
  auto compiled = std::make_shared<Compiled>(*exe.getCompiled());
  for (const auto &option : opt)
    compiled->options.set(option.first, option.second);
  session = std::make_unique<Session>(std::move(compiled));
}

Engine::Engine(Engine &&) noexcept = default;
Engine &Engine::operator=(Engine &&) noexcept = default;
Engine::~Engine() = default;

void Engine::prepare(const Device &device) { session->load(device); }
void Engine::deploy() {
  if (!session->loaded())
    throw runtime_error("deploy before prepare");
}
void Engine::load(const Device &device) { session->load(device); }
void Engine::run(unsigned prog, const std::string &debugName) { session->run(prog, debugName); }
void Engine::loadAndRun(const Device &device, unsigned prog) {
  load(device);
  run(prog);
}

Engine::TimerTimePoint Engine::getTimeStamp() {
  return {std::chrono::steady_clock::now(), session->cycles(),
          session->getCompiled().graph->machine.clockHz};
}

std::string Engine::reportTiming(const TimerTimePoint &start, const TimerTimePoint &end) {
  std::ostringstream words;
  const std::uint64_t cycles = end.cycles - start.cycles;
  words << "emulated device: " << cycles << " cycles, "
        << static_cast<double>(cycles) / end.clockFrequency * 1e6
        << " us; host: " << std::chrono::duration<double, std::micro>(end.host - start.host).count()
        << " us";
  return words.str();
}

void Engine::writeTensor(StringRef handle, const void *buf, const void *bufEnd) {
  session->writeTensor(
      handle, buf,
      static_cast<std::size_t>(static_cast<const char *>(bufEnd) - static_cast<const char *>(buf)));
}
void Engine::readTensor(StringRef handle, void *buf, void *bufEnd) {
  session->readTensor(
      handle, buf,
      static_cast<std::size_t>(static_cast<char *>(bufEnd) - static_cast<char *>(buf)));
}
void Engine::writeTensor(StringRef handle, unsigned index, const void *buf, const void *bufEnd) {
  session->writeTensor(
      handle, buf,
      static_cast<std::size_t>(static_cast<const char *>(bufEnd) - static_cast<const char *>(buf)),
      index);
}
void Engine::readTensor(StringRef handle, unsigned index, void *buf, void *bufEnd) {
  session->readTensor(
      handle, buf, static_cast<std::size_t>(static_cast<char *>(bufEnd) - static_cast<char *>(buf)),
      index);
}
void Engine::writeTensor(StringRef handle, const void *buf) {
  const emulator::GraphState &graph = *session->getCompiled().graph;
  writeTensor(handle, buf,
              static_cast<const char *>(buf) + bytesOf(graph.hostWrites, handle) * graph.replicas);
}
void Engine::readTensor(StringRef handle, void *buf) {
  const emulator::GraphState &graph = *session->getCompiled().graph;
  readTensor(handle, buf,
             static_cast<char *>(buf) + bytesOf(graph.hostReads, handle) * graph.replicas);
}
void Engine::connectStream(StringRef handle, void *begin, void *end) {
  session->getStreams().connect(handle, begin, end);
}
void Engine::connectStream(StringRef handle, void *p) { session->getStreams().connect(handle, p); }
void Engine::connectStreamToCallback(StringRef handle, StreamCallbackHandle f) {
  session->getStreams().connect(handle, std::move(f));
}
void Engine::connectStreamToCallback(StringRef handle, unsigned index, StreamCallbackHandle f) {
  session->getStreams().connect(handle, index, std::move(f));
}
void Engine::connectHostFunction(StringRef handle, unsigned index, HostCallbackHandle f) {
  session->getStreams().connectFunction(handle, index, std::move(f));
}
void Engine::copyToRemoteBuffer(const void *src, std::string handle, int repeatIndex,
                                unsigned replicationIndex) {
  auto &streams = session->getStreams();
  char *row = streams.remoteRow(handle, static_cast<std::size_t>(repeatIndex), replicationIndex);
  std::copy_n(static_cast<const char *>(src), streams.remoteRowBytes(handle), row);
}
void Engine::copyFromRemoteBuffer(std::string handle, void *dst, int repeatIndex,
                                  unsigned replicationIndex) {
  auto &streams = session->getStreams();
  const char *row =
      streams.remoteRow(handle, static_cast<std::size_t>(repeatIndex), replicationIndex);
  std::copy_n(row, streams.remoteRowBytes(handle), static_cast<char *>(dst));
}
void Engine::setPrintTensorStream(std::ostream &stream) { session->setPrintStream(stream); }

pva::Report Engine::getReport(bool reportExecution) const {
  return emulator::reportOf(session->getCompiled(), reportExecution ? session.get() : nullptr);
}
ProfileValue Engine::getProfile() const {
  return emulator::profileOf(session->getCompiled(), session.get());
}
ProfileValue Engine::getGraphProfile() const {
  return emulator::withOlderMemory(getProfile()["compilation"]);
}
ProfileValue Engine::getExecutionProfile() const {
  return emulator::withOlderCycles(getProfile()["execution"]);
}
void Engine::reportIntervals(std::ostream &outputStream) const {
  const ProfileValue profile = getProfile();
  const ProfileValue &programs = profile["compilation"]["programs"];
  for (const ProfileValue &run : profile["execution"]["runs"].asVector())
    for (const ProfileValue &step : run["steps"].asVector()) {
      const ProfileValue &active = step["ipus"][0]["activeCycles"];
      outputStream << active["cyclesFrom"]["min"].asUint() << ','
                   << active["cyclesTo"]["max"].asUint() << ','
                   << programs[step["program"].asUint()]["type"].asString() << '\n';
    }
}
void Engine::resetExecutionProfile() { session->resetProfile(); }
void Engine::disableExecutionProfiling() { session->setProfiling(false); }
void Engine::enableExecutionProfiling() { session->setProfiling(true); }
void Engine::printProfileSummary(std::ostream &outputStream, const OptionFlags &flags) const {
  emulator::printSummary(outputStream, getProfile(), flags);
}

ProfileValue getGraphProfile(const Engine &engine) { return engine.getGraphProfile(); }
ProfileValue getExecutionProfile(const Engine &engine) { return engine.getExecutionProfile(); }

} // namespace poplar
