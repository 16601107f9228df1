// The compute sets of executed steps, and the profile with the keys from before libpva: a sum with
// an estimate on tile 1, a copy of its result, and a sum without an estimate.
#include <fstream>
#include <iostream>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <pva/pva.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

void print(const char *name, const std::vector<std::uint64_t> &numbers) {
  std::cout << name;
  for (const std::uint64_t number : numbers)
    std::cout << ' ' << number;
  std::cout << '\n';
}

void steps(const pva::Report &report) {
  for (const auto &step : report.execution().steps()) {
    std::cout << "step " << step.computeSets().size() << '\n';
    for (const auto &set : step.computeSets()) {
      std::cout << "set " << set.name() << '\n';
      print("cycles", set.cyclesByTile());
      print("estimated", set.estimatedCyclesByTile());
    }
  }
}

/// Prints what programs of those SDKs read, and the same by libpva.
void older(const Engine &engine) {
  const ProfileValue graph = engine.getGraphProfile(), &memory = graph["memory"];
  print("total", memory["byTile"]["total"].toUintVector());
  print("with_gaps", memory["byTile"]["totalIncludingGaps"].toUintVector());
  print("always", memory["liveness"]["alwaysLive"]["bytesByTile"].toUintVector());
  print("others", memory["liveness"]["notAlwaysLive"]["maxBytesByTile"].toUintVector());
  std::cout << "sum " << memory["byTile"]["total"].sumUint() << '\n';
  std::cout << "cycles_of_all " << engine.getExecutionProfile()["simulation"]["cycles"].asInt()
            << ' ' << engine.getReport().execution().totalCycles().total() << '\n';
  std::vector<std::uint64_t> expected;
  for (const pva::Tile &tile : engine.getReport().compilation().tiles())
    expected.push_back(tile.memory().total().excludingGaps());
  print("by_libpva", expected);
}

} // namespace

int main() {
  IPUModel model;
  model.tilesPerIPU = 3;
  Device device = model.createDevice();
  Graph graph(device);
  graph.addCodelets("codelets.cpp");
  const Tensor x = graph.addVariable(FLOAT, {100}, "x");
  const Tensor sums = graph.addVariable(FLOAT, {2}, "sums"), y = graph.addVariable(FLOAT, {}, "y");
  graph.setTileMapping(x, 1);
  graph.setTileMapping(sums, 1);
  graph.setTileMapping(y, 0);
  const ComputeSet estimated = graph.addComputeSet("estimated");
  const VertexRef sum = graph.addVertex(estimated, "Sum", {{"in", x}, {"out", sums[0]}});
  graph.setTileMapping(sum, 1);
  graph.setPerfEstimate(sum, 500);
  const ComputeSet unknown = graph.addComputeSet("unknown");
  graph.setTileMapping(graph.addVertex(unknown, "Sum", {{"in", x}, {"out", sums[1]}}), 1);
  Engine engine(graph, Sequence{Execute(estimated), Copy(sums[0], y), Execute(unknown)});
  engine.load(device);
  engine.run();
  steps(engine.getReport());
  older(engine);
}
