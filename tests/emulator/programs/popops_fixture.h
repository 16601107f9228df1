// The graph of a case of popops.cpp, and its output.
#pragma once

#include <functional>
#include <iostream>
#include <map>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
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
#include <poprand/codelets.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

using namespace poplar;
using namespace poplar::program;
namespace pe = popops::expr;

struct Fixture {
  Device device = model();
  Graph graph{device.getTarget()};
  Sequence prog;

  static Device model() {
    IPUModel m;
    m.tilesPerIPU = 6;
    return m.createDevice();
  }
  Fixture() {
    popops::addCodelets(graph);
    poplin::addCodelets(graph);
    poprand::addCodelets(graph);
  }
  template <typename T> Tensor values(const Type &type, std::vector<std::size_t> shape, T first) {
    const Tensor t = graph.addVariable(type, shape);
    poputil::mapTensorLinearly(graph, t, 1, 1);
    std::vector<T> v(t.numElements());
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = first + static_cast<T>(i);
    graph.setInitialValue(t, v);
    return t;
  }
  Tensor floats(std::vector<std::size_t> shape, float first = 0) {
    return values<float>(FLOAT, std::move(shape), first);
  }
  Tensor index(unsigned value) {
    const Tensor t = graph.addConstant<unsigned>(UNSIGNED_INT, {1}, value);
    graph.setTileMapping(t, 0);
    return t;
  }
  template <typename T> void print(const Tensor &t) {
    graph.createHostRead("out", t);
    Engine engine(graph, prog);
    engine.load(device);
    engine.run();
    std::vector<T> v(t.numElements());
    engine.readTensor("out", v.data(), v.data() + v.size());
    std::cout << t.shapeToString();
    for (const T x : v)
      std::cout << ' ' << static_cast<double>(x);
    std::cout << '\n';
  }
};

inline std::string errorOf(const std::function<void()> &f) {
  try {
    f();
  } catch (const poputil::poplibs_error &error) {
    return error.type;
  } catch (const poplar_error &error) {
    return error.type;
  }
  return "none";
}
