// Variables, constants in every spelling, slices, streams, vertices and cycles: a first program.
#include <algorithm>
#include <iostream>
#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <vector>
#ifdef __clang__
#pragma clang diagnostic ignored "-Wbraced-scalar-init" // programs write {0} for a scalar
#endif
using namespace poplar;
using namespace poplar::program;
int main() {
  auto manager = DeviceManager::createDeviceManager();
  auto devices = manager.getDevices(poplar::TargetType::IPU, 1);
  auto it =
      std::find_if(devices.begin(), devices.end(), [](Device &device) { return device.attach(); });
  if (it == devices.end()) {
    std::cerr << "no device\n";
    return EXIT_FAILURE;
  }
  auto device = std::move(*it);
  Target target = device.getTarget();
  Graph graph(target);
  graph.addCodelets("styles_codelets.cpp");
  Tensor v1 = graph.addVariable(FLOAT, {4}, "v1"), v2 = graph.addVariable(FLOAT, {4}, "v2");
  for (unsigned i = 0; i < 4; ++i) {
    graph.setTileMapping(v1[i], i);
    graph.setTileMapping(v2[i], i);
  }
  Sequence prog;
  Tensor c1 = graph.addConstant<float>(FLOAT, {4}, {1.0, 1.5, 2.0, 2.5});
  Tensor z0 = graph.addConstant<unsigned>(UNSIGNED_INT, {}, 0);
  Tensor z1 = graph.addConstant<float>(FLOAT, {1}, {0});
  Tensor z2 = graph.addConstant(INT, {}, 3);
  std::vector<float> vals{1, 2, 3, 4};
  Tensor z3 = graph.addConstant(FLOAT, {2, 2}, vals.data());
  Tensor z4 = graph.addConstant<float>(FLOAT, {4}, vals);
  Tensor z5 = graph.addConstant<int>(INT, {3}, 7);
  Tensor z6 = graph.addConstant<float>(HALF, {}, 1.0f);
  Tensor z7 = graph.addConstant<bool>(BOOL, {}, false);
  Tensor z8 = graph.addConstant(FLOAT, {}, 0.0);
  Tensor z9 = graph.addConstant<float>(FLOAT, {4}, vals.data(), "named");
  for (auto &t : {c1, z0, z1, z2, z3, z4, z5, z6, z7, z8, z9})
    graph.setTileMapping(t, 0);
  prog.add(Copy(c1, v1));
  prog.add(PrintTensor("v1-debug", v1));
  Tensor v3 = graph.addVariable(FLOAT, {4, 4}, "v3"), v4 = graph.addVariable(INT, {10}, "v4");
  for (unsigned i = 0; i < 4; ++i)
    graph.setTileMapping(v3[i], i);
  graph.setTileMapping(v4, 3);
  graph.createHostWrite("v3-write", v3);
  graph.createHostRead("v3-read", v3);
  Tensor v1slice = v1.slice(0, 3), v3slice = v3.slice({1, 1}, {2, 4});
  prog.add(Copy(v1slice, v3slice.flatten()));
  DataStream inStream = graph.addHostToDeviceFIFO("v4-input-stream", INT, 10);
  prog.add(Copy(inStream, v4));
  prog.add(PrintTensor("v4-0", v4));
  prog.add(Copy(inStream, v4));
  prog.add(PrintTensor("v4-1", v4));
  ComputeSet computeSet = graph.addComputeSet("computeSet");
  for (unsigned i = 0; i < 4; ++i) {
    VertexRef vtx = graph.addVertex(computeSet, "SumVertex");
    graph.connect(vtx["in"], v1.slice(i, 4));
    graph.connect(vtx["out"], v2[i]);
    graph.setTileMapping(vtx, i);
    graph.setPerfEstimate(vtx, 20);
  }
  Sequence timed;
  timed.add(Execute(computeSet));
  Tensor cycles = cycleCount(graph, timed, 0, SyncType::INTERNAL, "cycles");
  prog.add(timed);
  prog.add(PrintTensor("v2", v2));
  graph.createHostRead("cycles", cycles);
  Engine engine(graph, prog, OptionFlags{{"debug.retainDebugInformation", "true"}});
  engine.setPrintTensorStream(std::cout);
  engine.load(device);
  std::vector<float> h3(4 * 4, 0);
  engine.writeTensor("v3-write", h3.data(), h3.data() + h3.size());
  std::vector<int> inData(10 * 3);
  for (unsigned i = 0; i < 10 * 3; ++i)
    inData[i] = i;
  engine.connectStream("v4-input-stream", &inData[0], &inData[10 * 3]);
  engine.run(0);
  engine.readTensor("v3-read", h3.data(), h3.data() + h3.size());
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned j = 0; j < 4; ++j)
      std::cout << h3[i * 4 + j] << " ";
    std::cout << "\n";
  }
  unsigned long long c;
  engine.readTensor("cycles", &c, &c + 1);
  std::cout << "cycles>0 " << (c > 0) << "\n";
  auto t0 = engine.getTimeStamp();
  engine.run(0);
  auto t1 = engine.getTimeStamp();
  std::cout << (engine.reportTiming(t0, t1).find("cycles") != std::string::npos) << "\n";
}
