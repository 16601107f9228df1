// Products of matrices: `sparse`, or `linear` or `planned` operands, `run` or `compile`, m, k and
// n.
#include <fstream>
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popops/codelets.hpp>
#include <popsparse/MatMul.hpp>
#include <popsparse/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;

namespace {

void show(Engine &engine, const char *name, std::size_t size) {
  std::vector<float> values(size);
  engine.readTensor(name, values.data(), values.data() + size);
  std::cout << name << ":";
  for (const float value : values)
    std::cout << ' ' << value;
  std::cout << '\n';
}

void sparse(Graph &graph, const Device &device) {
  namespace ps = popsparse::static_;
  popsparse::addCodelets(graph);
  // Blocks of 2 x 2 in a matrix of 4 x 6.
  const popsparse::CSRMatrix<float> csr(4, 6, {1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}, {0, 4, 8}, {2, 2});
  ps::PlanningCache cache;
  program::Sequence prog;
  ps::MatMulParams left;
  left = ps::MatMulParams::createForSparseDense(1, csr.numRows, csr.numColumns, 3);
  const auto right = ps::MatMulParams::createForDenseSparse(1, 3, csr.numRows, csr.numColumns);
  const auto lhs =
      ps::createSparseDenseMatMulLHS<float>(graph, FLOAT, left, csr, "lhs", {}, &cache);
  const auto rhs = ps::createDenseSparseMatMulRHS<float>(graph, FLOAT, right, csr, "rhs");
  const Tensor x = ps::createSparseDenseMatMulRHS<float>(graph, FLOAT, left, csr, "x");
  const Tensor y = ps::createDenseSparseMatMulLHS<float>(graph, FLOAT, right, csr, "y");
  const ps::Partitioner<float> partitioner(left, FLOAT, graph.getTarget(), {}, &cache);
  const std::vector<float> values = partitioner.createSparsityDataImpl(csr).nzValues;
  for (const auto &matrix : {lhs, rhs})
    graph.setInitialValue(matrix.getNzValuesTensor(), values);
  for (const Tensor &t : {x, y}) {
    std::vector<float> ramp(t.numElements());
    std::iota(ramp.begin(), ramp.end(), 0.f);
    graph.setInitialValue(t, ramp);
  }
  graph.createHostRead("sparse dense", ps::sparseDenseMatMul(graph, lhs, x, prog));
  graph.createHostRead("dense sparse", ps::denseSparseMatMul(graph, y, rhs, prog));
  // Constants at the places of another tensor's values.
  std::vector<float> doubled = values;
  for (float &value : doubled)
    value *= 2;
  const Tensor constant =
      graph.addConstant<float>(FLOAT, lhs.getNzValuesTensor().shape(), doubled, "doubled");
  graph.setTileMapping(constant, graph.getTileMapping(lhs.getNzValuesTensor()));
  const ps::SparseTensor placed(constant, lhs.getOpMetaData());
  graph.createHostRead("constant dense", ps::sparseDenseMatMul(graph, placed, x, prog));
  for (const ps::SparseTensor &wrong :
       {ps::SparseTensor(constant), ps::SparseTensor(constant.slice(1, 8), lhs.getOpMetaData())})
    try {
      ps::sparseDenseMatMul(graph, wrong, x, prog);
    } catch (const poputil::poplibs_error &error) {
      std::cerr << error.what() << '\n';
    }
  // The last value is followed by zeros.
  const popsparse::CSRMatrix<float> ends(2, 6, {9, 8}, {1, 0}, {0, 1, 2}, {1, 1});
  const auto few = ps::MatMulParams::createForSparseDense(1, 2, 6, 3);
  const auto ending = ps::createSparseDenseMatMulLHS<float>(graph, FLOAT, few, ends, "ending");
  graph.setInitialValue(ending.getNzValuesTensor(), std::vector<float>{9, 8});
  graph.createHostRead("ending dense", ps::sparseDenseMatMul(graph, ending, x, prog));
  Engine engine(graph, prog);
  engine.load(device);
  engine.run(0);
  show(engine, "ending dense", 6);
  show(engine, "constant dense", 12);
  show(engine, "sparse dense", 12);
  show(engine, "dense sparse", 18);
}

/// Returns the peak memory of this process. getrusage would include that of the test's process.
std::size_t peakMegabytes() {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:")
      status >> kilobytes;
  return kilobytes / 1024;
}

void large(Graph &graph, const Device &device, char **arguments) {
  const bool planned = arguments[1] == std::string("planned");
  const bool run = arguments[2] == std::string("run");
  const std::size_t m = std::stoul(arguments[3]), k = std::stoul(arguments[4]),
                    n = std::stoul(arguments[5]);
  program::Sequence prog;
  Tensor a = planned ? poplin::createMatMulInputLHS(graph, FLOAT, {m, k}, {k, n}, "a")
                     : graph.addVariable(FLOAT, {m, k}, "a");
  Tensor b = planned ? poplin::createMatMulInputRHS(graph, FLOAT, {m, k}, {k, n}, "b")
                     : graph.addVariable(FLOAT, {k, n}, "b");
  if (!planned) {
    poputil::mapTensorLinearly(graph, a);
    poputil::mapTensorLinearly(graph, b);
  }
  const Tensor c = poplin::matMul(graph, a, b, prog, "product");
  graph.createHostWrite("a", a);
  graph.createHostWrite("b", b);
  graph.createHostRead("c", c);
  Engine engine(graph, prog);
  if (run) {
    std::size_t wrong = 0;
    std::vector<float> left(m * k), right(k * n), product(m * n);
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] = static_cast<float>(i * 7 % 11) - 5;
    for (std::size_t i = 0; i < right.size(); ++i)
      right[i] = static_cast<float>(i * 5 % 13) - 6;
    engine.load(device);
    engine.writeTensor("a", left.data(), left.data() + left.size());
    engine.writeTensor("b", right.data(), right.data() + right.size());
    engine.run(0);
    engine.readTensor("c", product.data(), product.data() + product.size());
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        float sum = 0; // of small integers: exact in any order
        for (std::size_t l = 0; l < k; ++l)
          sum += left[i * k + l] * right[l * n + j];
        wrong += sum != product[i * n + j];
      }
    std::cout << "wrong: " << wrong << '\n';
  }
  std::cout << "megabytes: " << peakMegabytes() << '\n';
}

} // namespace

int main(int, char **arguments) {
  Device device = std::move(DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1)[0]);
  device.attach();
  Graph graph(device.getTarget());
  poplin::addCodelets(graph);
  popops::addCodelets(graph);
  if (arguments[1] == std::string("sparse"))
    sparse(graph, device);
  else
    large(graph, device, arguments);
}
