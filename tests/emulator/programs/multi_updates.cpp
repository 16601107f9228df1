// Updates of rows by their indices, of which one occurs twice: the results of `mul` and `max`, each
// along one dimension, along two, and by groups.
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/codelets.hpp>

using namespace poplar;

namespace {

/// 2, 3, 4, ...
Tensor ramp(Graph &graph, const std::vector<std::size_t> &shape, const char *name) {
  const Tensor t = graph.addVariable(FLOAT, shape, name);
  std::vector<float> values(t.numElements());
  std::iota(values.begin(), values.end(), 2.f);
  graph.setInitialValue(t, values);
  graph.setTileMapping(t, 0);
  return t;
}
Tensor offsets(Graph &graph, const std::vector<std::size_t> &shape,
               const std::vector<unsigned> &values) {
  const Tensor t = graph.addConstant(UNSIGNED_INT, shape, ArrayRef<unsigned>(values));
  graph.setTileMapping(t, 0);
  return t;
}

} // namespace

int main() {
  IPUModel model;
  model.tilesPerIPU = 2;
  Device device = model.createDevice();
  device.attach();
  Graph graph(device.getTarget());
  popops::addCodelets(graph);
  program::Sequence prog;
  std::map<std::string, Tensor> results;
  for (const std::string kind : {"mul", "max"}) {
    const bool isMul = kind == "mul";
    const auto update = isMul ? popops::multiUpdateMul : popops::multiUpdateMax;
    const auto grouped = isMul ? popops::groupedMultiUpdateMul : popops::groupedMultiUpdateMax;
    const Tensor one = ramp(graph, {3, 2}, "one"), two = ramp(graph, {3, 2}, "two"),
                 groups = ramp(graph, {2, 2, 1}, "groups");
    // The last index is beyond the end.
    update(graph, one, ramp(graph, {4, 1, 2}, "s"), offsets(graph, {4, 1}, {2, 0, 2, 3}), {0}, {1},
           prog, {}, {}, "one");
    update(graph, two, ramp(graph, {2, 1, 1}, "s"), offsets(graph, {2, 2}, {1, 1, 0, 1}), {0, 1},
           {1, 1}, prog, {}, {}, "two");
    grouped(graph, groups, ramp(graph, {2, 1, 1, 1}, "s"), offsets(graph, {2, 1, 1}, {1, 0}), {0},
            {1}, prog, {}, {}, "groups");
    results[kind + " one"] = one;
    results[kind + " two"] = two;
    results[kind + " groups"] = groups;
  }
  for (const auto &[name, t] : results)
    graph.createHostRead(name, t);
  Engine engine(graph, prog);
  engine.load(device);
  engine.run(0);
  for (const auto &[name, t] : results) {
    std::vector<float> values(t.numElements());
    engine.readTensor(name, values.data(), values.data() + values.size());
    std::cout << name << ':';
    for (const float value : values)
      std::cout << ' ' << value;
    std::cout << '\n';
  }
}
