// A product or a convolution on two tiles, with the share of a tile's memory that it may use:
// `product` or `convolution`, and the option's value.
#include <algorithm>
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popops/codelets.hpp>
#include <pva/pva.hpp>

using namespace poplar;

namespace {

/// Small integers, of which sums are exact in any order.
std::vector<float> integers(std::size_t n, unsigned factor) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = static_cast<float>(i * factor % 11) - 5;
  return values;
}

void fill(Graph &graph, const Tensor &t, unsigned factor) {
  graph.setInitialValue(t, integers(t.numElements(), factor));
}

} // namespace

int main(int, char **arguments) {
  IPUModel model;
  model.tilesPerIPU = 2;
  Device device = model.createDevice();
  device.attach();
  Graph graph(device.getTarget());
  poplin::addCodelets(graph);
  popops::addCodelets(graph);
  const OptionFlags options{{"availableMemoryProportion", arguments[2]}};
  program::Sequence prog;
  Tensor out;
  std::vector<float> expected;
  try {
    if (arguments[1] == std::string("product")) {
      const std::size_t n = 288;
      const Tensor a = poplin::createMatMulInputLHS(graph, FLOAT, {n, n}, {n, n}, "a", options);
      const Tensor b = poplin::createMatMulInputRHS(graph, FLOAT, {n, n}, {n, n}, "b", options);
      fill(graph, a, 7);
      fill(graph, b.transpose(), 5);
      out = poplin::matMul(graph, a, b, prog, FLOAT, "product", options);
      poplin::matMulReportPlan(std::cout << "plan ", graph, FLOAT, FLOAT, {n, n}, {n, n}, options);
      const std::vector<float> left = integers(n * n, 7), right = integers(n * n, 5);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          float sum = 0;
          for (std::size_t l = 0; l < n; ++l)
            sum += left[i * n + l] * right[j * n + l];
          expected.push_back(sum);
        }
    } else {
      const std::size_t in = 4, made = 8, size = 48, window = 3;
      const poplin::ConvParams params(FLOAT, FLOAT, 1, {size, size}, {window, window}, in, made, 1);
      const Tensor x = poplin::createInput(graph, params, "x", options);
      const Tensor w = poplin::createWeights(graph, params, "w", options);
      fill(graph, x, 7);
      fill(graph, w, 5);
      out = poplin::convolution(graph, x, w, params, false, prog, "convolution", options);
      const std::vector<float> field = integers(in * size * size, 7),
                               kernel = integers(made * in * window * window, 5);
      const std::size_t side = size - window + 1;
      for (std::size_t o = 0; o < made; ++o)
        for (std::size_t place = 0; place < side * side; ++place) {
          float sum = 0;
          for (std::size_t c = 0; c < in; ++c)
            for (std::size_t tap = 0; tap < window * window; ++tap) {
              const std::size_t y = place / side + tap / window, z = place % side + tap % window;
              sum +=
                  field[(c * size + y) * size + z] * kernel[(o * in + c) * window * window + tap];
            }
          expected.push_back(sum);
        }
    }
  } catch (const invalid_option &error) {
    std::cout << "refused " << error.what() << '\n';
    return 0;
  }
  graph.createHostRead("out", out);
  Engine engine(graph, prog, {{"debug.allowOutOfMemory", "true"}});
  engine.load(device);
  engine.run(0);
  std::vector<float> got(out.numElements());
  engine.readTensor("out", got.data(), got.data() + got.size());
  std::uint64_t bytes = 0, overflow = 0;
  const pva::Report report = engine.getReport();
  for (const pva::Tile &tile : report.compilation().tiles()) {
    bytes = std::max(bytes, tile.memory().notAlwaysLiveBytes());
    overflow = std::max(overflow, tile.memory().overflowed().includingGaps());
  }
  std::cout << "right " << (got == expected) << "\nbytes " << bytes << "\noverflow " << overflow
            << '\n';
}
