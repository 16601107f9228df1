// Blocks in a report, of the engine and of its file: `first` in a loop of three, and after it
// `second` with `inner`. Prints each as name, first cycle, last cycle.
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <pva/pva.hpp>

using namespace poplar;
using program::Block;
using program::Copy;
using program::Repeat;
using program::Sequence;

namespace {

void print(const char *from, const pva::Report &report) {
  for (const auto &block : report.execution().blocks(1))
    std::cout << from << ' ' << block.program()->name() << ' ' << block.cyclesFrom() << ' '
              << block.cyclesTo() << '\n';
}

} // namespace

int main() {
  IPUModel model;
  model.tilesPerIPU = 2;
  Device device = model.createDevice();
  device.attach();
  Graph graph(device.getTarget());
  const Tensor few = graph.addConstant(INT, {100}, 1), many = graph.addConstant(INT, {1000}, 1);
  const Tensor to = graph.addVariable(INT, {1000}, "to");
  graph.setTileMapping(few, 0);
  graph.setTileMapping(many, 0);
  graph.setTileMapping(to, 1);
  graph.createHostRead("to", to);
  const Block first(Copy(few, to.slice(0, 100), false, "few"), "first");
  const Block second(Sequence{Block(Copy(many, to, false, "many"), "inner"), Sequence{}}, "second");
  Engine engine(graph, Sequence{Repeat(3, first), second, Block(Sequence{}, "empty")});
  engine.load(device);
  engine.run(0);
  const pva::Report report = engine.getReport();
  print("engine", report);
  std::cout << "total " << report.execution().totalCycles().total() << '\n';
  try {
    report.execution().blocks(2);
  } catch (const std::out_of_range &error) {
    std::cout << "refused " << error.what() << '\n';
  }
}
