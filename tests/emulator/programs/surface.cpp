// The API that docs/reference/poplar_api.md says is there, each with the arguments that programs
// pass it. What is not run is here to be compiled.
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gcl/Collectives.hpp>
#include <poplar/CSRFunctions.hpp>
#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/RandomSeed.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Rnn.hpp>
#include <popops/AllTrue.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/Gather.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/TopK.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>
#include <pva/pva.hpp>
#include <pvti/pvti.hpp>

#include "surface_functions.h"

namespace {

void poplarAsListed(Graph &graph, Device &device) {
  const Target &target = graph.getTarget();
  Tensor t = graph.addVariable(FLOAT, {4, 6}, "t");
  const Tensor u = graph.addVariable(FLOAT, {4, 6}, VariableMappingMethod::LINEAR, {"u"});
  const DebugNameAndId dnai("name");
  graph.clone(HALF, t, {dnai, "clone"}, TensorCloneMethod::CREATE_NEW_ORDER);
  graph.clone(t, {std::string("parent"), "clone"});
  graph.clone(t, {DebugContext("parent"), "clone"});
  graph.clone(t, {}, TensorCloneMethod::GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES);
  graph.addConstant<float>(FLOAT, {2}, {1, 2});
  graph.addConstant(UNSIGNED_INT, {}, 1u);
  graph.addReplicationIndexConstant();
  graph.setTileMapping(t, 0);
  graph.setTileMapping(t, graph.getTileMapping(u));
  graph.setInitialValue(t, 1.5f);
  const ComputeSet cs = graph.addComputeSet(dnai);
  VertexRef v = graph.addVertex(cs, poputil::templateVertex("V", FLOAT, true, 3),
                                {{"in", t}, {"scale", 2.f}, {"v[0]", t}});
  graph.connect(v["field"][0], t.slice({0, 1}, {2, 3}));
  graph.connect(v["rows"], {t[0], t[1]});
  graph.setFieldSize(v["rows"], 2);
  graph.setInitialValue(v["n"], std::vector<unsigned>{1, 2});
  graph.setPerfEstimate(v, 100, 20);
  std::stringstream source;
  graph.addCodelets("codelets.gp", CodeletFileType::Auto, "-O3");
  graph.addCodelets(source, "-O3");
  graph.createVirtualGraph(0, 4).createVirtualGraph({0, 1}).getTopLevelGraph();
  std::vector<std::size_t> aliases;
  graph.getSortedContiguousRegions(t, {Interval(0, 4)}, false, &aliases);
  std::vector<Tensor *> others;
  graph.reorderToSimplify(&t, others);
  DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, 24, ReplicatedStreamMode::BROADCAST,
                                            {{"bufferingDepth", "2"}});
  DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, 24);
  RemoteBuffer remote = graph.addRemoteBuffer("remote", FLOAT, 24, 4);
  HostFunction host = graph.addHostFunction("host", {{FLOAT, 24}}, {{FLOAT, 24}});
  Function function = graph.addFunction(Sequence{Copy(t, u)});
  graph.createHostWrite("t", t);
  graph.createHostRead("u", u);

  t.dimShufflePartial({0}, {1});
  t.dimRoll(1).expand({0}).squeeze({0}).reshapePartial(0, 1, {2, 2}).broadcast(2, 0).reverse(0);
  t.upsample(2, 1, UpsampleMethod::REPEAT).flatten(0, 2).slices({Interval(0, 1), Interval(2, 3)});
  t.reinterpret(INT).index({0, 1}).getContiguousRegions();
  concat({t, u}, 1);
  append(t, u[0]);

  Sequence prog({}, dnai);
  prog.add(Execute(cs, dnai));
  prog.add(Copy(in, t));
  prog.add(Copy(t, out));
  prog.add(Copy(t, remote, graph.addVariable(UNSIGNED_INT, {1})));
  prog.add(Repeat(2, Sequence{Call(function), Call(host, {t}, {u})}));
  prog.add(RepeatWhileTrue(Sequence(), t[0][0], Sequence(WriteUndef(t))));
  prog.add(If(t[0][0], PrintTensor("t", t), ErrorProgram("t", t)));
  prog.add(Switch(t[0][0], {{1, Sequence()}}, AbortOnCondition(t[0][0], "no")));
  prog.add(Sync(SyncType::INTERNAL));
  prog.add(AssumeEqualAcrossReplicas(t));
  prog.add(CrossReplicaCopy(t, u, {{0, 0}}));
  cycleCount(graph, prog, 0, SyncType::INTERNAL, dnai);
  setHwSeeds(graph, getHwSeeds(graph, prog), prog);
  setFloatingPointBehaviour(graph, prog, {true, true, true, false, true});
  gcl::allReduceCrossReplica(graph, t, gcl::CollectiveOperator::ADD, prog);

  Executable exe = compileGraph(graph, {prog}, {}, [](int, int) {}, dnai);
  std::stringstream bytes;
  exe.serialize(bytes);
  Engine engine(Executable::deserialize(bytes), OptionFlags{{"debug.instrument", "true"}});
  engine.load(device);
  engine.deploy();
  engine.loadAndRun(device, 0);
  engine.stop();
  std::vector<float> values(24);
  engine.writeTensor("t", values.data(), values.data() + values.size());
  engine.connectStream("in", values.data());
  engine.connectStreamToCallback("out", [](void *) {});
  using Inputs = ArrayRef<const void *>;
  using Outputs = ArrayRef<void *>;
  engine.connectHostFunction("host", 0, [](Inputs, Outputs) {});
  engine.connectHostFunction("host", 0, [](Inputs, std::size_t, Outputs, std::size_t) {});
  engine.connectHostFunction("host", 0,
                             [](const void *const *, std::size_t, void *const *, std::size_t) {});
  struct Derived : HostCallback {
    void operator()(Inputs, Outputs) override {}
  };
  engine.connectHostFunction("host", 0, std::make_unique<Derived>());
  engine.reportTiming(engine.getTimeStamp(), engine.getTimeStamp());
  engine.printProfileSummary(std::cout, {{"showExecutionSteps", "true"}});
  DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1, {});
  device.createVirtualDevice(4);
  device.getDriverIDs();
  device.reset();
  Target::createIPUTarget(2, "ipu2");
  Target::createIPUTarget(1, 4, "ipu21", {});
  static_cast<void>(target.getMaxIPUSyncDelay() + target.getRptCountMax());
  static_cast<void>(target.getNumConvUnits(false, true));
  Device::createSimulatorDevice(target);
  pvti::TraceChannel channel = pvti::createTraceChannel("steps");
  pvti::Tracepoint point(&channel, "step");
}

class Steps : public pva::ProgramVisitor {
public:
  std::vector<std::string> seen;
  void visitOnTileExecute(const pva::OnTileExecuteProgram &program) override {
    for (const pva::Vertex &vertex : program.computeset().vertices())
      seen.push_back(vertex.type().name() + " on " + std::to_string(vertex.tile()));
  }
  void visitDoExchange(const pva::DoExchangeProgram &program) override {
    seen.push_back("exchange " + program.name());
  }
};

/// Two doubles on tiles 1 and 3, then a copy: what libpva says of them.
void report() {
  IPUModel model;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  Graph graph(device);
  std::stringstream source("#include <poplar/Vertex.hpp>\n"
                           "template <typename T, bool B = true, unsigned N = 2>\n"
                           "struct Twice : poplar::Vertex {\n"
                           "  poplar::InOut<poplar::Vector<T>> x;\n"
                           "  bool compute() { for (T &v : x) v *= N; return B; }\n"
                           "};\n"
                           "template class Twice<float>;\n");
  graph.addCodelets(source);
  const Tensor x = graph.addVariable(FLOAT, {2, 8}, "x"), y = graph.addVariable(FLOAT, {2, 8}, "y");
  graph.setTileMapping(y, 0);
  const ComputeSet cs = graph.addComputeSet("twice");
  // With and without the arguments that are defaults.
  for (const char *name : {"Twice<float>", "Twice<float,true,2>"}) {
    const unsigned tile = name[11] == '>' ? 1 : 3, row = tile / 2;
    graph.setTileMapping(x[row], tile);
    graph.setTileMapping(graph.addVertex(cs, name, {{"x", x[row]}}), tile);
  }
  Engine engine(graph, Sequence{Execute(cs), Copy(x, y, false, "gather")});
  engine.load(device);
  engine.run(0, "first");
  engine.run();
  const pva::Report report = engine.getReport();
  const pva::CompilationReport compilation = report.compilation();
  const auto &target = compilation.target();
  std::cout << "target " << target.numTiles() << ' ' << target.bytesPerTile() << ' '
            << (target.type() == pva::Target::Type::IpuModel) << '\n';
  std::uint64_t variables = 0, overflowed = 0;
  for (const auto &tile : compilation.tiles()) {
    variables += tile.memory().category().variable().total();
    overflowed += tile.memory().overflowed().includingGaps();
  }
  std::cout << "bytes " << variables << ' ' << overflowed << '\n';
  for (const auto &run : report.execution().runs()) {
    Steps steps;
    std::uint64_t cycles = 0;
    std::cout << "run " << run.name() << ':';
    for (const auto &step : run.steps()) {
      step.program()->accept(steps);
      for (const auto &ipu : step.ipus())
        cycles += ipu.cycles();
      const auto tiles = step.cyclesByTile();
      std::cout << ' ' << (tiles[0] > 0) << (tiles[1] > 0) << (tiles[2] > 0) << (tiles[3] > 0);
    }
    for (const std::string &one : steps.seen)
      std::cout << ", " << one;
    std::cout << "; half of all cycles: "
              << (2 * cycles == report.execution().totalCycles().total()) << '\n';
  }
  try {
    engine.getReport(false).execution().runs();
  } catch (const std::out_of_range &) {
    std::cout << "no execution\n";
  }
}

} // namespace

int main(int argc, char **) {
  if (argc > 1) { // compiled, and not run
    IPUModel model;
    Device device = model.createDevice();
    Graph graph(device);
    poplarAsListed(graph, device);
  }
  popopsAsListed();
  othersAsListed();
  report();
}
