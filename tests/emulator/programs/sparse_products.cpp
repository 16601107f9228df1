// Products of popsparse::dynamic with matrices that the host gives as rows, columns and places, of
// single elements and of blocks. Prints how many products differ from the host's.
#include <iostream>
#include <random>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/codelets.hpp>
#include <popops/codelets.hpp>
#include <popsparse/MatMul.hpp>
#include <popsparse/SparsePartitioner.hpp>
#include <popsparse/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

using namespace poplar;
using namespace popsparse::dynamic;

namespace {

constexpr std::size_t kGroups = 2, kM = 6, kK = 8, kN = 3;

/// A matrix [groups * m, k] of which about a third of the blocks are there.
struct Matrix {
  std::vector<float> dense = std::vector<float>(kGroups * kM * kK);
  popsparse::COOMatrix<float> places;

  explicit Matrix(const std::array<std::size_t, 2> &block) : places(block) {
    std::mt19937 generator(11);
    for (std::size_t r = 0; r < kGroups * kM; r += block[0])
      for (std::size_t c = 0; c < kK; c += block[1]) {
        if (generator() % 3)
          continue;
        places.rowIndices.push_back(r);
        places.columnIndices.push_back(c);
        for (std::size_t i = 0; i < block[0] * block[1]; ++i) {
          const auto value = static_cast<float>(generator() % 19) - 9;
          places.nzValues.push_back(value);
          dense[(r + i / block[1]) * kK + c + i % block[1]] = value;
        }
      }
  }
};

/// Values of a fixed pattern in other orders come to the order of its rows.
void printFixedPattern(const Target &target) {
  using namespace popsparse;
  const auto params = static_::MatMulParams::createForSparseDense(1, 2, 4, 1);
  const static_::Partitioner<float> partitioner(params, FLOAT, target, {});
  const COOMatrix<float> places({5, 6, 3, 4, 1, 2}, {2, 2, 0}, {1, 0, 0}, {1, 2});
  const CSCMatrix<float> columns({1, 2, 5, 6, 3, 4}, {0, 2, 6}, {0, 1, 0}, {1, 2});
  for (const auto &data :
       {partitioner.createSparsityDataImpl(places), partitioner.createSparsityDataImpl(columns)})
    for (const float value : data.nzValues)
      std::cout << value << ' ';
  std::cout << '\n';
}

} // namespace

int main() {
  IPUModel model;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  device.attach();
  printFixedPattern(device.getTarget());
  std::size_t products = 0, different = 0;
  for (const std::array<std::size_t, 2> block : {std::array<std::size_t, 2>{1, 1}, {2, 4}})
    for (const std::string format : {"places", "rows", "columns"})
      for (const bool transposed : {false, true}) {
        Graph graph(device.getTarget());
        popops::addCodelets(graph);
        poplin::addCodelets(graph);
        popsparse::addCodelets(graph);
        const Matrix matrix(block);
        const auto params = MatMulParams::createWithNzRatio(
            SparsityParams(SparsityType::Block, SparsityStructure::Unstructured, block), 0.6,
            kGroups, kM, kK, kN);
        const Partitioner<float> partitioner(params, FLOAT, graph.getTarget(), {});
        auto data = partitioner.createSparsityDataImpl(matrix.places);
        if (format == "rows")
          data = partitioner.createSparsityDataImpl(partitioner.sparsityDataImplToCSRMatrix(data));
        else if (format == "columns")
          data = partitioner.createSparsityDataImpl(partitioner.sparsityDataImplToCSCMatrix(data));
        const SparseTensor left = createSparseDenseMatMulLHS(graph, FLOAT, params, "left");
        const std::size_t terms = transposed ? kM : kK, rows = transposed ? kK : kM;
        Tensor right = transposed ? graph.addVariable(FLOAT, {kGroups, kN, terms}, "right")
                                  : createSparseDenseMatMulRHS(graph, FLOAT, params, "right");
        poputil::mapTensorLinearly(graph, right);
        std::vector<float> values(right.numElements());
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<float>(i % 7) - 2;
        graph.setInitialValue(right, ArrayRef<float>(values));
        const std::vector<unsigned short> meta(data.metaInfo.begin(), data.metaInfo.end());
        graph.setInitialValue(left.getMetaInfoTensor(), ArrayRef<unsigned short>(meta));
        graph.setInitialValue(left.getNzValuesTensor(), ArrayRef<float>(data.nzValues));
        program::Sequence prog;
        const Tensor product = sparseDenseMatMul(graph, left, right, prog, transposed, transposed);
        graph.createHostRead("product", product);
        Engine engine(graph, prog);
        engine.load(device);
        engine.run(0);
        std::vector<float> result(kGroups * rows * kN);
        engine.readTensor("product", result.data(), result.data() + result.size());
        bool same = product.shape() == std::vector<std::size_t>{kGroups, rows, kN};
        for (std::size_t g = 0; g < kGroups; ++g)
          for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < kN; ++c) {
              float sum = 0;
              for (std::size_t t = 0; t < terms; ++t)
                sum += matrix.dense[(g * kM + (transposed ? t : r)) * kK + (transposed ? r : t)] *
                       values[(g * terms * kN) + (transposed ? c * terms + t : t * kN + c)];
              same &= sum == result[(g * rows + r) * kN + c];
            }
        ++products;
        different += !same;
        if (products > 1)
          continue;
        std::cout << params << '\n';
        const SparseTensor unknown(left.getMetaInfoTensor(), left.getNzValuesTensor());
        for (const auto &[of, by] : {std::pair{unknown, right}, {left, right.slice(0, 1)}})
          try {
            sparseDenseMatMul(graph, of, by, prog);
          } catch (const poputil::poplibs_error &e) {
            std::cout << e.what() << '\n';
          }
      }
  std::cout << different << " of " << products << " differ\n";
}
