#ifndef popsparse_SparseStorageFormats_hpp
#define popsparse_SparseStorageFormats_hpp

#include <array>
#include <cstddef>
#include <vector>

namespace popsparse {

/// The common part of the formats: blocks of values, row-major within each.
template <typename T> struct SparseMatrix {
  std::size_t numRows = 0, numColumns = 0; ///< 0: not given
  std::vector<T> nzValues;
  std::vector<std::size_t> columnIndices;
  std::vector<std::size_t> rowIndices;
  std::array<std::size_t, 2> blockDimensions;

  SparseMatrix(const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : blockDimensions(blockDimensions) {}
  SparseMatrix(const std::vector<T> &nzValues, const std::vector<std::size_t> &columnIndices,
               const std::vector<std::size_t> &rowIndices,
               const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : nzValues(nzValues), columnIndices(columnIndices), rowIndices(rowIndices),
        blockDimensions(blockDimensions) {}
  SparseMatrix(std::size_t numRows, std::size_t numColumns, const std::vector<T> &nzValues,
               const std::vector<std::size_t> &columnIndices,
               const std::vector<std::size_t> &rowIndices,
               const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : numRows(numRows), numColumns(numColumns), nzValues(nzValues), columnIndices(columnIndices),
        rowIndices(rowIndices), blockDimensions(blockDimensions) {}

  std::array<std::size_t, 2> getBlockDimensions() const { return blockDimensions; }
  std::size_t getBlockSize() const { return blockDimensions[0] * blockDimensions[1]; }
  std::size_t getNumRowsInBlock() const { return blockDimensions[0]; }
  std::size_t getNumColumnsInBlock() const { return blockDimensions[1]; }
};

/// The row and the column of each block's first element.
template <typename T> struct COOMatrix : SparseMatrix<T> {
  using SparseMatrix<T>::SparseMatrix;
  COOMatrix(std::size_t numNZValues, const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : SparseMatrix<T>(std::vector<T>(numNZValues), std::vector<std::size_t>(numNZValues),
                        std::vector<std::size_t>(numNZValues), blockDimensions) {}
};

/// Sorted by rows: rowIndices has, for each row of blocks and at the end, the number of values
/// before it.
template <typename T> struct CSRMatrix : SparseMatrix<T> {
  using SparseMatrix<T>::SparseMatrix;
  CSRMatrix(std::size_t numNZValues, std::size_t numRows,
            const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : SparseMatrix<T>(std::vector<T>(numNZValues), std::vector<std::size_t>(numNZValues),
                        std::vector<std::size_t>(numRows + 1), blockDimensions) {}
};

/// Sorted by columns: columnIndices has, for each column of blocks and at the end, the number of
/// values before it.
template <typename T> struct CSCMatrix : SparseMatrix<T> {
  using SparseMatrix<T>::SparseMatrix;
  CSCMatrix(std::size_t numNZValues, std::size_t numColumns,
            const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : SparseMatrix<T>(std::vector<T>(numNZValues), std::vector<std::size_t>(numColumns + 1),
                        std::vector<std::size_t>(numNZValues), blockDimensions) {}
};

} // namespace popsparse

#endif
