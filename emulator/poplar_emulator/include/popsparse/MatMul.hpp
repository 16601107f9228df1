#ifndef popsparse_MatMul_hpp
#define popsparse_MatMul_hpp

// The products of popsparse::static_: the graph contains the places of a sparse matrix, and a
// tensor its values. For those of popsparse::dynamic the host gives both.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popsparse/MatMulParams.hpp>
#include <popsparse/PlanningCache.hpp>
#include <popsparse/SparseStorageFormats.hpp>
#include <popsparse/SparseTensor.hpp>
#include <poputil/exceptions.hpp>

namespace popsparse {
namespace dynamic {

/// The sparse left operand; a Partitioner makes its data. As with the weights of a fully connected
/// layer, results follow the definition, but cycles and memory are not the library's.
SparseTensor createSparseDenseMatMulLHS(poplar::Graph &graph, const poplar::Type &inputType,
                                        const MatMulParams &params,
                                        const poplar::DebugContext &debugContext = {},
                                        const poplar::OptionFlags &options = {},
                                        PlanningCache *cache = nullptr);
/// [groups, k, n]
poplar::Tensor createSparseDenseMatMulRHS(poplar::Graph &graph, const poplar::Type &inputType,
                                          const MatMulParams &params,
                                          const poplar::DebugContext &debugContext = {},
                                          const poplar::OptionFlags &options = {},
                                          PlanningCache *cache = nullptr);
/// Returns [groups, m, n]; with a transposed sparse operand [groups, k, n] from [groups, m, n].
/// Raises poplibs_error for operands of other functions and other sizes.
poplar::Tensor sparseDenseMatMul(poplar::Graph &graph, const SparseTensor &lhs,
                                 const poplar::Tensor &rhs, poplar::program::Sequence &prog,
                                 bool transposeLHS = false, bool transposeRHS = false,
                                 const poplar::DebugContext &debugContext = {},
                                 const poplar::OptionFlags &options = {},
                                 PlanningCache *cache = nullptr);

} // namespace dynamic
namespace static_ {

/// Returns the row-major index of each value of a matrix of that size. Raises poplibs_error for
/// places outside of it.
std::vector<std::size_t> placesOf(const std::vector<std::size_t> &rowIndices,
                                  const std::vector<std::size_t> &columnIndices,
                                  const std::array<std::size_t, 2> &blockDimensions,
                                  std::size_t rows, std::size_t columns);
SparseTensor createSparse(poplar::Graph &graph, const poplar::Type &inputType,
                          const MatMulParams &params, std::vector<std::size_t> places,
                          const poplar::DebugContext &debugContext);
poplar::Tensor createDense(poplar::Graph &graph, const poplar::Type &inputType,
                           const MatMulParams &params, const poplar::DebugContext &debugContext);

/// The sparse left operand of a sparse x dense product. Raises poplibs_error for another number of
/// groups than one.
template <typename T>
SparseTensor createSparseDenseMatMulLHS(poplar::Graph &graph, const poplar::Type &inputType,
                                        const MatMulParams &params, const CSRMatrix<T> &csrLHS,
                                        const poplar::DebugContext &debugContext = {},
                                        const poplar::OptionFlags & = {},
                                        PlanningCache * = nullptr) {
  return createSparse(graph, inputType, params,
                      placesOf(csrLHS.rowIndices, csrLHS.columnIndices, csrLHS.getBlockDimensions(),
                               params.getM(), params.getK()),
                      debugContext);
}
/// The sparse right operand of a dense x sparse product.
template <typename T>
SparseTensor createDenseSparseMatMulRHS(poplar::Graph &graph, const poplar::Type &inputType,
                                        const MatMulParams &params, const CSRMatrix<T> &csrRHS,
                                        const poplar::DebugContext &debugContext = {},
                                        const poplar::OptionFlags & = {},
                                        PlanningCache * = nullptr) {
  return createSparse(graph, inputType, params,
                      placesOf(csrRHS.rowIndices, csrRHS.columnIndices, csrRHS.getBlockDimensions(),
                               params.getK(), params.getM()),
                      debugContext);
}
/// The dense operands: [groups, k, n] on the right, [groups, n, k] on the left.
template <typename T>
poplar::Tensor createSparseDenseMatMulRHS(poplar::Graph &graph, const poplar::Type &inputType,
                                          const MatMulParams &params, const CSRMatrix<T> &,
                                          const poplar::DebugContext &debugContext = {},
                                          const poplar::OptionFlags = {},
                                          PlanningCache * = nullptr) {
  return createDense(graph, inputType, params, debugContext);
}
template <typename T>
poplar::Tensor createDenseSparseMatMulLHS(poplar::Graph &graph, const poplar::Type &inputType,
                                          const MatMulParams &params, const CSRMatrix<T> &,
                                          const poplar::DebugContext &debugContext = {},
                                          const poplar::OptionFlags = {},
                                          PlanningCache * = nullptr) {
  return createDense(graph, inputType, params, debugContext);
}

poplar::Tensor sparseDenseMatMul(poplar::Graph &graph, const SparseTensor &lhs,
                                 const poplar::Tensor &rhs, poplar::program::Sequence &prog,
                                 bool transposeLHS = false, bool transposeRHS = false,
                                 const poplar::DebugContext &debugContext = {},
                                 const poplar::OptionFlags &options = {},
                                 PlanningCache *cache = nullptr);
poplar::Tensor denseSparseMatMul(poplar::Graph &graph, const poplar::Tensor &lhs,
                                 const SparseTensor &rhs, poplar::program::Sequence &prog,
                                 bool transposeLHS = false, bool transposeRHS = false,
                                 const poplar::DebugContext &debugContext = {},
                                 const poplar::OptionFlags &options = {},
                                 PlanningCache *cache = nullptr);

template <typename T> struct SparsityDataImpl {
  std::vector<T> nzValues;
};

/// Orders the values of matrices of the host as the tensor of values has them: by rows, and within
/// a row as the CSRMatrix has them or, of the other formats, by columns.
template <typename T> class Partitioner {
public:
  Partitioner(const MatMulParams &, const poplar::Type &, const poplar::Target &,
              const poplar::OptionFlags &, PlanningCache * = nullptr, std::string = "") {}
  SparsityDataImpl<T> createSparsityDataImpl(const CSRMatrix<T> &matrix) const {
    return {matrix.nzValues};
  }
  SparsityDataImpl<T> createSparsityDataImpl(const COOMatrix<T> &matrix) const {
    return sorted(matrix, matrix.columnIndices);
  }
  SparsityDataImpl<T> createSparsityDataImpl(const CSCMatrix<T> &matrix) const {
    std::vector<std::size_t> columns; // of each block
    for (std::size_t c = 0; c + 1 < matrix.columnIndices.size(); ++c)
      for (std::size_t i = matrix.columnIndices[c]; i < matrix.columnIndices[c + 1];
           i += matrix.getBlockSize())
        columns.push_back(c);
    return sorted(matrix, columns);
  }

private:
  static SparsityDataImpl<T> sorted(const SparseMatrix<T> &matrix,
                                    const std::vector<std::size_t> &columns) {
    if (matrix.rowIndices.size() != columns.size() ||
        matrix.nzValues.size() != columns.size() * matrix.getBlockSize())
      throw poputil::poplibs_error(
          "the matrix does not have a row, a column and all values for each block");
    std::vector<std::size_t> order(columns.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::make_pair(matrix.rowIndices[a], columns[a]) <
             std::make_pair(matrix.rowIndices[b], columns[b]);
    });
    SparsityDataImpl<T> data;
    for (const std::size_t i : order)
      for (std::size_t e = 0; e < matrix.getBlockSize(); ++e)
        data.nzValues.push_back(matrix.nzValues[i * matrix.getBlockSize() + e]);
    return data;
  }
};

} // namespace static_
} // namespace popsparse

#endif
