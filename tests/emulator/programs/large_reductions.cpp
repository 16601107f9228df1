// Reductions of tensors that no tile can hold: each tile reduces its elements first.
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <popops/Reduce.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using popops::Operation;

int main() {
  Device device = DeviceManager().getDevice(0);
  if (!device.attach())
    return 1;
  Graph graph(device.getTarget());
  popops::addCodelets(graph);
  program::Sequence prog;
  const std::size_t side = 512;
  std::vector<std::pair<std::string, Tensor>> results;
  const auto show = [&](const std::string &name, const Tensor &t) {
    graph.createHostRead(name, t.flatten());
    results.emplace_back(name, t.flatten());
  };
  const auto variable = [&](Type type, const std::string &name, float value) {
    const Tensor t = graph.addVariable(type, {side, side}, name);
    poputil::mapTensorLinearly(graph, t);
    graph.setInitialValue(t, value);
    return t;
  };
  const Tensor ones = variable(FLOAT, "ones", 1), halves = variable(HALF, "halves", 0.25f),
               numbers = variable(INT, "numbers", 3);
  graph.setInitialValue(ones[7][9], 5.f);
  show("sum", popops::reduce(graph, ones, {0, 1}, Operation::ADD, prog));
  show("max", popops::reduce(graph, ones, {0, 1}, Operation::MAX, prog));
  show("halves", popops::reduce(graph, halves, FLOAT, {0, 1}, Operation::ADD, prog));
  show("integers", popops::reduce(graph, numbers, FLOAT, {0, 1}, Operation::ADD, prog));
  const Tensor scale = graph.addConstant<float>(FLOAT, {}, 0.5f);
  graph.setTileMapping(scale, 3);
  const Tensor old = graph.addVariable(FLOAT, {}, "old");
  graph.setTileMapping(old, 11);
  graph.setInitialValue(old, 100.f);
  popops::reduceWithOutput(graph, ones, old, {0, 1}, {Operation::SQUARE_ADD, true, scale}, prog);
  show("updated", old);
  std::vector<ComputeSet> sets;
  const Tensor kept = popops::reduce(graph, ones.reshape({2, side * side / 2}), {1},
                                     popops::ReduceParams(Operation::ADD), sets);
  for (const ComputeSet set : sets)
    prog.add(program::Execute(set));
  show("kept", kept);
  std::vector<Tensor> many;
  popops::reduceMany(graph, {{ones, {0, 1}, Operation::MIN}, {ones[7], {0}, Operation::ADD}}, many,
                     prog);
  show("least", many[0]);
  show("row", many[1]);
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
