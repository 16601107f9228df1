// A replicated graph with tensors that the host writes, reads and prints for each replica.
#ifndef IPULSE_TESTS_REPLICA_FIXTURE_H
#define IPULSE_TESTS_REPLICA_FIXTURE_H

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <gcl/Collectives.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

constexpr unsigned kTiles = 4;

struct Replicated {
  Device device;
  Graph graph;
  Sequence prog;
  std::vector<std::pair<std::string, Tensor>> shown;

  static Device model(unsigned ipus) {
    IPUModel m;
    m.numIPUs = ipus;
    m.tilesPerIPU = kTiles;
    return m.createDevice();
  }
  explicit Replicated(unsigned replicas = 4, unsigned ipusOfReplica = 1)
      : device(model(replicas * ipusOfReplica)), graph(device, replication_factor(replicas)) {
    popops::addCodelets(graph);
  }
  unsigned replicas() const { return graph.getReplicationFactor(); }
  void show(const std::string &name, const Tensor &t) {
    graph.createHostRead(name, t);
    shown.emplace_back(name, t);
  }
  Tensor tensor(const std::string &name, std::vector<std::size_t> shape, Type type = FLOAT) {
    const Tensor t = graph.addVariable(type, shape, VariableMappingMethod::LINEAR, name);
    graph.createHostWrite(name, t);
    return t;
  }
  /// UNSIGNED_INT {}: on tile 0.
  Tensor index() {
    const Tensor t = graph.addReplicationIndexConstant("index");
    graph.setTileMapping(t, 0);
    return t;
  }
  Engine load(const OptionFlags &options = {}) {
    Engine engine(graph, prog, options);
    engine.load(device);
    return engine;
  }
};

/// Numbers that differ from replica to replica.
inline std::vector<float> values(std::size_t n) {
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = static_cast<float>((i * i * 7 + 3) % 17) / 4 - 2;
  return all;
}

template <typename T>
void print(const std::string &name, const std::vector<T> &all, unsigned rows) {
  std::cout << name << " {" << rows << ',' << all.size() / rows << "}:";
  for (const T &value : all)
    std::cout << ' ' << value;
  std::cout << '\n';
}

inline void printShown(Engine &engine, Replicated &r) {
  for (const auto &[name, t] : r.shown) {
    std::vector<float> all(t.numElements() * r.replicas());
    engine.readTensor(name, all.data(), all.data() + all.size());
    print(name, all, r.replicas());
  }
}

#endif
