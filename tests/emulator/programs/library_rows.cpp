// Functions of PopLibs that few programs call, each compared with other functions or with the
// definition on the host. Prints by function the largest difference.
#include <cmath>
#include <iostream>
#include <map>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/FullyConnected.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <poplin/experimental/LuFactorization.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/Norms.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/OperationDefUtil.hpp>
#include <popops/SplineBasis.hpp>
#include <popops/SplineWeighting.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;

namespace {

struct Program {
  Graph graph;
  program::Sequence prog;
  std::map<std::string, std::pair<Tensor, std::vector<float>>> results; // and what is expected
  std::map<std::string, std::pair<Tensor, Tensor>> pairs;               // that should be equal

  explicit Program(const Target &target) : graph(target) {
    popops::addCodelets(graph);
    poplin::addCodelets(graph);
  }
  Tensor filled(const std::vector<std::size_t> &shape, unsigned seed) {
    const Tensor t = graph.addVariable(FLOAT, shape, "filled");
    poputil::mapTensorLinearly(graph, t);
    std::vector<float> values;
    for (std::size_t i = 0; i < t.numElements(); ++i)
      values.push_back(std::sin(static_cast<float>(i * 7 + seed)));
    graph.setInitialValue(t, ArrayRef<float>(values));
    return t;
  }
  template <typename T>
  Tensor given(const Type &type, const std::vector<std::size_t> &shape,
               const std::vector<T> &values) {
    const Tensor t = graph.addConstant(type, shape, ArrayRef<T>(values));
    poputil::mapTensorLinearly(graph, t);
    return t;
  }
};

/// Two replicas with the same samples have the statistics of one.
void norms(Program &p) {
  const auto twice = [](Graph &graph, const std::vector<Tensor> &ts, program::Sequence &prog,
                        unsigned replicas, const DebugContext &dc, const OptionFlags &) {
    std::vector<Tensor> sums;
    for (const Tensor &t : ts)
      sums.push_back(
          popops::map(graph, popops::expr::_1 * static_cast<float>(replicas), {t}, prog, dc));
    return sums;
  };
  const Tensor acts = p.filled({3, 4, 5}, 1), grads = p.filled({3, 4, 5}, 2);
  const auto own = popnn::bn::batchNormStatistics(p.graph, acts, 1e-3f, p.prog, false);
  const auto all =
      popnn::bn::distributedBatchNormStatistics(p.graph, acts, 1e-3f, p.prog, false, twice, 6);
  p.pairs["distributed mean"] = {own.first, all.first};
  p.pairs["distributed deviation"] = {own.second, all.second};
  const Tensor gamma = popnn::createNormGamma(p.graph, acts);
  p.prog.add(program::Copy(p.filled({4}, 3), gamma));
  p.pairs["distributed gradients"] = {
      popnn::bn::batchNormGradients(p.graph, acts, grads, own.first, own.second, gamma, p.prog),
      popnn::bn::distributedBatchNormGradients(p.graph, acts, grads, own.first, own.second, gamma,
                                               p.prog, twice, 6)};
}

void convolutions(Program &p) {
  const poplin::ConvParams params(FLOAT, 2, {5, 4}, {3, 2}, 3, 6, 1);
  const Tensor in = p.filled({2, 3, 5, 4}, 4), kernel = p.filled({1, 6, 3, 3, 2}, 5);
  const Tensor out = poplin::createConvOutput(p.graph, params, "out");
  poplin::convolutionWithOutput(p.graph, in, kernel, out, params, false, p.prog);
  p.pairs["convolution"] = {out, poplin::convolution(p.graph, in, kernel, params, false, p.prog)};
}

void factors(Program &p) {
  for (const auto &[rows, columns] : {std::pair<std::size_t, std::size_t>{5, 5}, {4, 6}, {6, 3}}) {
    Tensor matrix = p.filled({rows, columns}, 6);
    const auto [lower, upper] = poplin::experimental::LUFactorization(p.graph, matrix, p.prog);
    const std::string name = "factors " + std::to_string(rows) + " x " + std::to_string(columns);
    p.pairs[name] = {matrix, poplin::matMul(p.graph, lower, upper, p.prog)};
    for (std::size_t i = 0; i < rows; ++i) {
      p.results[name + " lower " + std::to_string(i)] = {lower[i].slice(i, rows),
                                                         [&, n = rows - i] {
                                                           std::vector<float> row(n);
                                                           row[0] = 1;
                                                           return row;
                                                         }()};
      const std::size_t below = std::min(i, columns);
      p.results[name + " upper " + std::to_string(i)] = {upper[i].slice(0, below),
                                                         std::vector<float>(below)};
    }
  }
}

void splines(Program &p) {
  const std::size_t edges = 6, dims = 2, inputs = 3, outputs = 2, kernel = 4 * 5;
  for (const unsigned degree : {1u, 2u, 3u}) {
    const std::size_t count = (degree + 1) * (degree + 1);
    std::vector<float> at;
    for (std::size_t i = 0; i < edges * dims; ++i)
      at.push_back(static_cast<float>(i) / (edges * dims));
    const Tensor basis = p.filled({edges, count}, 0);
    const Tensor index = p.graph.addVariable(INT, {edges, count}, "index");
    poputil::mapTensorLinearly(p.graph, index);
    const Tensor sizes = p.given<int>(INT, {dims}, {4, 5});
    popops::splineBasis(p.graph, p.given(FLOAT, {edges, dims}, at), sizes,
                        p.given<unsigned char>(UNSIGNED_CHAR, {dims}, {1, 0}), basis, index, degree,
                        p.prog);
    const std::string name = "splines " + std::to_string(degree);
    const Tensor ones = p.given(FLOAT, {count, 1}, std::vector<float>(count, 1));
    p.results[name + " sum"] = {poplin::matMul(p.graph, basis, ones, p.prog),
                                std::vector<float>(edges, 1)};
    // Each dimension's place, from 4 - degree closed and 5 open intervals.
    std::vector<float> places;
    for (std::size_t e = 0; e < edges; ++e)
      for (std::size_t s = 0; s < count; ++s) {
        const int x = static_cast<int>(at[2 * e] * static_cast<float>(4 - degree)),
                  y = static_cast<int>(at[2 * e + 1] * 5);
        const int i = (x + static_cast<int>(s % (degree + 1))) % 4,
                  j = (y + static_cast<int>(s / (degree + 1))) % 5;
        places.push_back(static_cast<float>(i + 4 * j));
      }
    p.results[name + " weights"] = {popops::cast(p.graph, index, FLOAT, p.prog), places};
    const Tensor in = p.filled({edges, inputs}, 8), weight = p.filled({kernel, inputs, outputs}, 9);
    const Tensor out = popops::splineWeighting(p.graph, in, weight, basis, index, p.prog);
    // The same with each edge's weights chosen on the host.
    std::vector<Tensor> rows;
    for (std::size_t e = 0; e < edges; ++e) {
      std::vector<Tensor> of;
      for (std::size_t s = 0; s < count; ++s)
        of.push_back(weight[static_cast<std::size_t>(places[e * count + s])].expand({0}));
      const Tensor mixed = poplin::matMul(p.graph, basis.slice(e, e + 1),
                                          concat(of).reshape({count, inputs * outputs}), p.prog);
      rows.push_back(
          poplin::matMul(p.graph, in.slice(e, e + 1), mixed.reshape({inputs, outputs}), p.prog));
    }
    p.pairs[name + " products"] = {out, concat(rows)};
  }
}

} // namespace

int main() {
  IPUModel model;
  model.tilesPerIPU = 8;
  Device device = model.createDevice();
  device.attach();
  Program p(device.getTarget());
  norms(p);
  convolutions(p);
  factors(p);
  splines(p);
  std::map<std::string, Tensor> read;
  for (const auto &[name, of] : p.results)
    read[name] = of.first;
  for (const auto &[name, of] : p.pairs) {
    read[name + "/0"] = of.first;
    read[name + "/1"] = of.second;
  }
  for (const auto &[name, t] : read)
    p.graph.createHostRead(name, t);
  Engine engine(p.graph, p.prog);
  engine.load(device);
  engine.run(0);
  const auto values = [&](const std::string &name) {
    std::vector<float> result(read[name].numElements());
    engine.readTensor(name, result.data(), result.data() + result.size());
    return result;
  };
  const auto print = [](const std::string &name, const std::vector<float> &a,
                        const std::vector<float> &b) {
    float most = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      most = std::max(most, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : INFINITY);
    std::cout << name << ": " << most << '\n';
  };
  for (const auto &[name, of] : p.results)
    print(name, values(name), of.second);
  for (const auto &pair : p.pairs)
    print(pair.first, values(pair.first + "/0"), values(pair.first + "/1"));
  const auto products = poplin::fc::getMatMulPrePlanParameters({1, 8, 4, 2}, {}, FLOAT, false);
  std::cout << "products: " << products.size() << '\n'
            << poputil::templateVertex("V", popops::Operation::SQUARE_ADD) << ": "
            << (popnn::getNormFwdFlops(2, 10) > popnn::getNormFwdFlops(2, 10, false)) << '\n';
}
