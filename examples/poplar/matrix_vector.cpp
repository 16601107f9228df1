// A matrix-vector product over tiles, twice: each tile sums parts of rows and a reduction joins
// them, then the same by poplin; both against the host's sum.
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popops/Reduce.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/VertexTemplates.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

constexpr unsigned kRows = 24, kColumns = 64, kParts = 4;

/// y = a x: kParts vertices for each row, each with its part of the columns on the part's tile.
Tensor product(Graph &graph, const Tensor &a, const Tensor &x, Sequence &prog) {
  const Tensor partials = graph.addVariable(FLOAT, {kParts, kRows}, "partials");
  const ComputeSet multiply = graph.addComputeSet("multiply");
  constexpr unsigned kWidth = kColumns / kParts;
  for (unsigned part = 0; part < kParts; ++part) {
    const unsigned begin = part * kWidth, end = begin + kWidth;
    graph.setTileMapping(a.slice(begin, end, 1), part);
    graph.setTileMapping(x.slice(begin, end), part);
    graph.setTileMapping(partials[part], part);
    for (unsigned row = 0; row < kRows; ++row) {
      const VertexRef v = graph.addVertex(multiply, poputil::templateVertex("RowProduct", FLOAT));
      graph.connect(v["row"], a[row].slice(begin, end));
      graph.connect(v["x"], x.slice(begin, end));
      graph.connect(v["y"], partials[part][row]);
      graph.setTileMapping(v, part);
    }
  }
  prog.add(Execute(multiply));
  return popops::reduce(graph, partials, {0}, {popops::Operation::ADD}, prog, "join");
}

} // namespace

int main() {
  IPUModel model("ipu2");
  model.tilesPerIPU = 16;
  const Device device = model.createDevice();
  Graph graph(device.getTarget());
  graph.addCodelets("leaky_codelets.cpp");
  popops::addCodelets(graph);
  poplin::addCodelets(graph);

  const Tensor a = graph.addVariable(FLOAT, {kRows, kColumns}, "a");
  const Tensor x = graph.addVariable(FLOAT, {kColumns}, "x");
  Sequence prog;
  const Tensor own = product(graph, a, x, prog);
  const Tensor library = poplin::matMul(graph, a, x.expand({1}), prog, "library").flatten();
  graph.createHostWrite("a", a);
  graph.createHostWrite("x", x);
  graph.createHostRead("own", own);
  graph.createHostRead("library", library);

  Engine engine(graph, prog);
  engine.load(device);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> matrix(kRows * kColumns), vector(kColumns), y(kRows);
  for (float &element : matrix)
    element = between(random);
  for (float &element : vector)
    element = between(random);
  engine.writeTensor("a", matrix.data(), matrix.data() + matrix.size());
  engine.writeTensor("x", vector.data(), vector.data() + vector.size());
  engine.run();

  for (const char *handle : {"own", "library"}) {
    engine.readTensor(handle, y.data(), y.data() + y.size());
    double worst = 0;
    for (unsigned row = 0; row < kRows; ++row) {
      double sum = 0;
      for (unsigned column = 0; column < kColumns; ++column)
        sum += static_cast<double>(matrix[row * kColumns + column]) * vector[column];
      worst = std::max(worst, std::abs(sum - y[row]));
    }
    std::cout << handle << (worst < 1e-5 ? " agrees with" : " differs from") << " the host's sum\n";
  }
}
