#include <memory>
#include <tuple>

#include <poplin/MatMul.hpp>
#include <popsparse/MatMul.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/poputil/linear_variable.h"

namespace popsparse {
namespace static_ {

using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;

namespace {

/// Where the values of a sparse matrix are.
struct Places : poputil::TensorMetaDataBase {
  Places(std::vector<std::size_t> places, std::size_t rows, std::size_t columns)
      : places(std::move(places)), rows(rows), columns(columns) {}
  std::vector<std::size_t> places; // row-major index of each value
  std::size_t rows, columns;
};

void checkGroups(const MatMulParams &params) {
  if (params.getNumGroups() != 1)
    throw poputil::poplibs_error("a static sparse product of " +
                                 std::to_string(params.getNumGroups()) +
                                 " groups: only one is emulated");
}

/// Returns the matrix as a view, with one constant zero everywhere else.
Tensor dense(Graph &graph, const SparseTensor &sparse, const DebugContext &debugContext) {
  const auto *data = dynamic_cast<const Places *>(sparse.getOpMetaData().getData());
  const Tensor nzValues = sparse.getNzValuesTensor().flatten();
  if (!data || nzValues.numElements() != data->places.size())
    throw poputil::poplibs_error(
        "a sparse tensor of " + std::to_string(nzValues.numElements()) + " values: " +
        (data ? "its metadata has " + std::to_string(data->places.size()) + " places"
              : "it has no metadata of createSparseDenseMatMulLHS or createDenseSparseMatMulRHS"));
  const auto &[places, rows, columns] = std::tie(data->places, data->rows, data->columns);
  const Tensor zero = graph.addConstant(nzValues.elementType(), {1}, 0.f, {debugContext, "zero"});
  graph.setTileMapping(zero, 0);
  std::vector<std::size_t> valueAt(rows * columns, places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    valueAt[places[i]] = i;
  std::vector<Tensor> parts;
  for (std::size_t begin = 0, end; begin < valueAt.size(); begin = end) {
    const std::size_t first = valueAt[begin];
    const bool isZero = first == places.size();
    for (end = begin + 1; end < valueAt.size() && (valueAt[end] == places.size()) == isZero &&
                          (isZero || valueAt[end] == first + end - begin);)
      ++end;
    parts.push_back(isZero ? zero.broadcast(static_cast<unsigned>(end - begin), 0)
                           : nzValues.slice(first, first + end - begin));
  }
  return concat(parts).reshape({rows, columns});
}

} // namespace

std::vector<std::size_t> placesOf(const std::vector<std::size_t> &rowIndices,
                                  const std::vector<std::size_t> &columnIndices,
                                  const std::array<std::size_t, 2> &block, std::size_t rows,
                                  std::size_t columns) {
  const std::size_t size = block[0] * block[1];
  if (size == 0 || rows % block[0] || columns % block[1] ||
      rowIndices.size() != rows / block[0] + 1 || rowIndices.back() != columnIndices.size() * size)
    throw poputil::poplibs_error("a CSR matrix that is not one of " + std::to_string(rows) + " x " +
                                 std::to_string(columns) + ": it has " +
                                 std::to_string(rowIndices.size()) + " row indices and " +
                                 std::to_string(columnIndices.size()) + " column indices");
  std::vector<std::size_t> places;
  for (std::size_t r = 0; r + 1 < rowIndices.size(); ++r)
    for (std::size_t i = rowIndices[r] / size; i < rowIndices[r + 1] / size; ++i) {
      if (columnIndices.at(i) + block[1] > columns)
        throw poputil::poplibs_error("a sparse matrix of " + std::to_string(columns) +
                                     " columns has a value in column " +
                                     std::to_string(columnIndices[i]));
      for (std::size_t y = 0; y < block[0]; ++y)
        for (std::size_t x = 0; x < block[1]; ++x)
          places.push_back((r * block[0] + y) * columns + columnIndices[i] + x);
    }
  return places;
}

SparseTensor createSparse(Graph &graph, const poplar::Type &inputType, const MatMulParams &params,
                          std::vector<std::size_t> places, const DebugContext &debugContext) {
  checkGroups(params);
  const Tensor values = poplar::emulator::linearVariable(graph, inputType, {places.size()},
                                                         {debugContext, "nzValues"});
  const bool right = params.isTransposed();
  const std::size_t rows = right ? params.getK() : params.getM(),
                    columns = right ? params.getM() : params.getK();
  return {values, poputil::TensorMetaData(
                      std::make_shared<const Places>(std::move(places), rows, columns))};
}

Tensor createDense(Graph &graph, const poplar::Type &inputType, const MatMulParams &params,
                   const DebugContext &debugContext) {
  checkGroups(params);
  const std::size_t k = params.getK(), n = params.getN();
  return params.isTransposed()
             ? poplar::emulator::linearVariable(graph, inputType, {1, n, k}, debugContext)
             : poplar::emulator::linearVariable(graph, inputType, {1, k, n}, debugContext);
}

Tensor sparseDenseMatMul(Graph &graph, const SparseTensor &lhs, const Tensor &rhs,
                         poplar::program::Sequence &prog, bool transposeLHS, bool transposeRHS,
                         const DebugContext &debugContext, const poplar::OptionFlags &,
                         PlanningCache *) {
  const DebugContext dc{debugContext, "sparseDenseMatMul"};
  const Tensor left = dense(graph, lhs, dc);
  return poplin::matMulGrouped(graph, (transposeLHS ? left.transpose() : left).expand({0}),
                               transposeRHS ? rhs.dimShuffle({0, 2, 1}) : rhs, prog,
                               rhs.elementType(), dc);
}

Tensor denseSparseMatMul(Graph &graph, const Tensor &lhs, const SparseTensor &rhs,
                         poplar::program::Sequence &prog, bool transposeLHS, bool transposeRHS,
                         const DebugContext &debugContext, const poplar::OptionFlags &,
                         PlanningCache *) {
  const DebugContext dc{debugContext, "denseSparseMatMul"};
  const Tensor right = dense(graph, rhs, dc);
  return poplin::matMulGrouped(graph, transposeLHS ? lhs.dimShuffle({0, 2, 1}) : lhs,
                               (transposeRHS ? right.transpose() : right).expand({0}), prog,
                               lhs.elementType(), dc);
}

} // namespace static_
} // namespace popsparse
