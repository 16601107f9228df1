// Tensors with made-up values, and what a program makes of them, printed.
#ifndef IPULSE_TESTS_NETWORK_FIXTURE_H
#define IPULSE_TESTS_NETWORK_FIXTURE_H

#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/codelets.hpp>
#include <popnn/codelets.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

struct Network {
  Device device;
  Graph graph;
  Sequence prog;
  std::vector<std::pair<std::string, Tensor>> shown;

  Network() : device(model()), graph(device) {
    popops::addCodelets(graph);
    poplin::addCodelets(graph);
    popnn::addCodelets(graph);
  }
  static Device model() {
    IPUModel m;
    m.numIPUs = 2;
    m.tilesPerIPU = 4;
    return m.createDevice();
  }
  void show(const std::string &name, const Tensor &t) {
    graph.createHostRead(name, t);
    shown.emplace_back(name, t);
  }
  /// Numbers without a pattern, of which many are equal.
  Tensor filled(const std::string &name, const Tensor &t, unsigned first, float scale = 1) {
    std::vector<float> values(t.numElements());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = scale * std::round(8 * std::sin(static_cast<float>(first + i * i))) / 4;
    graph.setInitialValue(t, ArrayRef<float>(values));
    show(name, t);
    return t;
  }
  Tensor filled(const std::string &name, std::vector<std::size_t> shape, unsigned first) {
    const Tensor t = graph.addVariable(FLOAT, shape, VariableMappingMethod::LINEAR, name);
    return filled(name, t, first);
  }
  void run() {
    Engine engine(graph, prog);
    engine.load(device);
    engine.run();
    std::cout.precision(std::numeric_limits<float>::max_digits10);
    for (const auto &[name, t] : shown) {
      std::vector<float> values(t.numElements());
      engine.readTensor(name, values.data(), values.data() + values.size());
      std::cout << name << ' ' << t.shapeToString() << ':';
      for (const float value : values)
        std::cout << ' ' << value;
      std::cout << '\n';
    }
  }
};

#endif
