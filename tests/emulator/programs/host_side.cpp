// Two IPUs, a virtual graph, functions, control flow, streams, remote buffers and a saved
// executable.
#include <fstream>
#include <iostream>
#include <numeric>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Executable.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <sstream>
using namespace poplar;
using namespace poplar::program;
enum Progs { WRITE, RUN, READ, NUM };
struct Prefetching : StreamCallback {
  std::vector<float> v;
  int n = 0;
  Result prefetch(void *) override { return Result::NotAvailable; }
  void fetch(void *p) override { std::fill_n(static_cast<float *>(p), 8, ++n); }
  void complete() override {}
};
int main(int, char **) try {
  auto dm = DeviceManager::createDeviceManager();
  Device dev;
  for (auto &h : dm.getDevices(TargetType::IPU, 2, {}))
    if (h.attach()) {
      dev = std::move(h);
      break;
    }
  std::cout << dm.getNumDevices() << " " << dev.getTarget().getNumIPUs() << " "
            << dev.getDriverIDs().size() << " " << dev.supportsRemoteBuffers() << "\n";
  const Target &tg = dev.getTarget();
  std::cout << tg.getNumTiles() << tg.getTilesPerIPU() << " " << tg.getNumWorkerContexts()
            << tg.getBytesPerTile() << " " << tg.getDataPathWidth() << tg.getFloatVectorWidth()
            << tg.getHalfVectorWidth() << tg.getTypeSize(HALF) << " " << tg.getTargetArchString()
            << (tg.getTargetType() == TargetType::IPU) << "\n";
  Graph graph(tg);
  popops::addCodelets(graph);
  Graph g1 = graph.createVirtualGraph(tg.getTilesPerIPU(), 2 * tg.getTilesPerIPU());
  Tensor x = g1.addVariable(FLOAT, {8}, "x");
  poputil::mapTensorLinearly(g1, x);
  auto in = graph.addHostToDeviceFIFO("in", FLOAT, 8, ReplicatedStreamMode::REPLICATE,
                                      {{"bufferingDepth", "2"}});
  auto out = graph.addDeviceToHostFIFO("out", FLOAT, 8);
  auto buf = graph.addRemoteBuffer("buf", FLOAT, 8, 2);
  Tensor idx = graph.addVariable(UNSIGNED_INT, {1});
  graph.setTileMapping(idx, 0);
  graph.setInitialValue(idx, 1u);
  std::vector<Program> progs(NUM);
  progs[WRITE] = Copy(in, x);
  Sequence run;
  Function f = graph.addFunction([&] {
    Sequence s;
    popops::mulInPlace(g1, x, 2.f, s, "double");
    return s;
  }());
  run.add(Call(f));
  run.add(Repeat(2, Call(f)));
  run.add(Copy(x, buf, idx));
  run.add(Copy(buf, x, idx));
  run.add(Sync(SyncType::EXTERNAL));
  Tensor going = graph.addVariable(BOOL, {}, "going");
  graph.setTileMapping(going, 0);
  Sequence cond;
  {
    auto lt = popops::lt(graph, x[0], 100.f, cond);
    cond.add(Copy(lt, going));
  }
  run.add(RepeatWhileTrue(cond, going, Call(f)));
  run.add(If(going, WriteUndef(x), AssumeEqualAcrossReplicas(x)));
  run.add(Switch(idx[0], {{1, Call(f)}}));
  run.add(CrossReplicaCopy(x.slice(0, 4), x.slice(4, 8), {{0, 0}}));
  progs[RUN] = run;
  progs[READ] = Copy(x, out);
  int steps = 0;
  auto exe = compileGraph(
      graph, progs, {{"opt.maxCompilationThreads", "1"}}, [&](int a, int b) { steps += a <= b; },
      "compiled");
  std::stringstream file;
  exe.serialize(file);
  Executable exe2 = Executable::deserialize(file);
  Engine engine(std::move(exe2), {{"autoReport.directory", "."}});
  std::vector<float> h(16), o(8), o2(8);
  std::iota(h.begin(), h.end(), 1.f);
  engine.connectStream("in", h.data(), h.data() + h.size());
  engine.connectStream(out, o.data());
  engine.load(dev);
  engine.run(WRITE);
  engine.run(RUN);
  engine.run(READ, "read");
  for (float v : o)
    std::cout << v << " ";
  std::cout << "\n";
  engine.copyFromRemoteBuffer("buf", o2.data(), 1);
  std::cout << o2[7] << "\n";
  engine.connectStreamToCallback("in", std::make_unique<Prefetching>());
  engine.connectStreamToCallback(
      "out", [](void *p) { std::cout << "got " << static_cast<float *>(p)[0] << "\n"; });
  engine.run(WRITE);
  engine.run(READ);
  engine.run(WRITE);
  engine.run(READ);
  engine.connectStream("in", poplar::ArrayRef<float>(h));
  engine.disableExecutionProfiling();
  engine.enableExecutionProfiling();
  engine.resetExecutionProfile();
  engine.printProfileSummary(std::clog, OptionFlags{{"showExecutionSteps", "true"}});
  engine.stop();
  dev.detach();
  try {
    engine.run(99);
  } catch (const poplar::poplar_error &e) {
    std::cout << e.type << "\n";
  }
} catch (const std::exception &e) {
  std::cout << "exception " << e.what() << "\n";
  return 1;
}
