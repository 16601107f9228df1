// Compiles a program once and stores it in a file; another engine loads that file and runs it.
#include <fstream>
#include <iostream>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

constexpr std::size_t kElements = 1000, kTrips = 5;

Device model() {
  IPUModel m("ipu2");
  m.numIPUs = 1;
  m.tilesPerIPU = 16;
  return m.createDevice();
}

void compileTo(const char *path) {
  const Device device = model();
  Graph graph(device);
  popops::addCodelets(graph);
  const Tensor x = graph.addVariable(FLOAT, {kElements}, "x");
  poputil::mapTensorLinearly(graph, x);
  graph.createHostWrite("x in", x);
  graph.createHostRead("x out", x);
  namespace pe = popops::expr;
  const Program halve = popops::countedLoop(graph, kTrips, [&](const Tensor &) {
    Sequence body;
    popops::mapInPlace(graph, pe::Max(pe::_1 * 0.5f, pe::Const(1.0f)), {x}, body, "halve");
    return body;
  });
  std::ofstream file(path, std::ios::binary);
  compileGraph(graph, {halve}).serialize(file);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " FILE\n";
    return 2;
  }
  compileTo(argv[1]);
  std::ifstream file(argv[1], std::ios::binary);
  Engine engine(Executable::deserialize(file));
  engine.load(model());
  std::vector<float> x(kElements, 64);
  x[0] = 16;
  engine.writeTensor("x in", x.data(), x.data() + x.size());
  engine.run();
  engine.readTensor("x out", x.data(), x.data() + x.size());
  std::cout << x[0] << ' ' << x[1] << '\n';
}
