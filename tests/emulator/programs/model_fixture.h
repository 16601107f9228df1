// Shared code of the programs that compare the models with their sources.
#ifndef IPULSE_TESTS_EMULATOR_MODEL_FIXTURE_H
#define IPULSE_TESTS_EMULATOR_MODEL_FIXTURE_H

#include <iostream>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

struct Fixture {
  Device device;
  Graph graph;
  ComputeSet cs;

  static Device model(unsigned ipus, const char *version = "ipu2") {
    IPUModel m(version);
    m.numIPUs = ipus;
    m.tilesPerIPU = 16;
    return m.createDevice();
  }
  static Device ipu() {
    for (Device &device : DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1))
      if (device.attach())
        return std::move(device);
    throw poplar_error("no device is free");
  }
  explicit Fixture(Device d = model(1)) : device(std::move(d)), graph(device) {
    graph.addCodelets("codelets.cpp");
    popops::addCodelets(graph);
    cs = graph.addComputeSet("cs");
  }
  Tensor variable(const Type &type, std::size_t n, unsigned tile, const char *name = "v") {
    const Tensor t = graph.addVariable(type, {n}, name);
    graph.setTileMapping(t, tile);
    return t;
  }
  VertexRef sum(const Tensor &in, const Tensor &out, unsigned tile, unsigned estimate = 0) {
    const VertexRef v = graph.addVertex(cs, "Sum", {{"in", in}, {"out", out}});
    graph.setTileMapping(v, tile);
    graph.setPerfEstimate(v, estimate);
    return v;
  }
  /// out = 2 in
  VertexRef scale(const std::string &type, const Tensor &in, const Tensor &out) {
    const VertexRef v =
        graph.addVertex(cs, "tests::Scale<" + type + ",false>", {{"in", in}, {"out", out}});
    graph.setInitialValue(v["factor"], 2.0f);
    graph.setInitialValue(v["n"], static_cast<unsigned>(in.numElements()));
    graph.setTileMapping(v, 0);
    graph.setPerfEstimate(v, 0);
    return v;
  }
  ProfileValue run(const Program &prog) {
    Engine engine(graph, prog);
    engine.load(device);
    engine.run();
    return engine.getProfile();
  }
};

inline std::size_t total(const ProfileValue &profile, const char *part) {
  std::size_t sum = 0;
  for (const ProfileValue &one : profile["execution"]["totals"].asVector())
    sum += one[part].asUint();
  return sum;
}

/// Sync, exchange, compute and host cycles.
inline void print(const ProfileValue &profile) {
  for (const char *part : {"syncCycles", "exchangeCycles", "computeCycles", "hostCycles"})
    std::cout << total(profile, part) << ' ';
}

inline void printCompute(Fixture &f, const Program &prog) {
  std::cout << total(f.run(prog), "computeCycles") << ' ';
}

inline std::size_t bytesOf(const ProfileValue &profile, unsigned tile, const char *what) {
  return profile["compilation"]["tiles"][std::size_t{tile}]["memory"][what].asUint();
}

inline std::size_t category(const ProfileValue &profile, unsigned tile, const char *name) {
  return profile["compilation"]["tiles"][std::size_t{tile}]["memory"]["category"][name]["total"]
      .asUint();
}

#endif
