#ifndef popsparse_SparseStorageFormats_hpp
#define popsparse_SparseStorageFormats_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <array>
#include <cstddef>
#include <vector>

namespace popsparse {

/// Blocks of values, row-major within each, and the row and column of each block's first element.
template <typename T> struct COOMatrix {
  std::vector<T> nzValues;
  std::vector<std::size_t> columnIndices;
  std::vector<std::size_t> rowIndices;
  std::array<std::size_t, 2> blockDimensions;

  std::size_t numRows = 0, numColumns = 0; ///< 0: not given

  COOMatrix(const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : blockDimensions(blockDimensions) {}
  COOMatrix(std::size_t numRows, std::size_t numColumns, const std::vector<T> &nzValues,
            const std::vector<std::size_t> &columnIndices,
            const std::vector<std::size_t> &rowIndices,
            const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : COOMatrix(nzValues, columnIndices, rowIndices, blockDimensions) {
    this->numRows = numRows;
    this->numColumns = numColumns;
  }
  COOMatrix(const std::vector<T> &nzValues, const std::vector<std::size_t> &columnIndices,
            const std::vector<std::size_t> &rowIndices,
            const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : nzValues(nzValues), columnIndices(columnIndices), rowIndices(rowIndices),
        blockDimensions(blockDimensions) {}
  const std::array<std::size_t, 2> &getBlockDimensions() const { return blockDimensions; }
  std::size_t getBlockSize() const { return blockDimensions[0] * blockDimensions[1]; }
  std::size_t getNumRowsInBlock() const { return blockDimensions[0]; }
  std::size_t getNumColumnsInBlock() const { return blockDimensions[1]; }
};

/// The same with, for each row of blocks and at the end, the number of values before it.
template <typename T> struct CSRMatrix {
  std::vector<T> nzValues;
  std::vector<std::size_t> columnIndices;
  std::vector<std::size_t> rowIndices;
  std::array<std::size_t, 2> blockDimensions;

  std::size_t numRows = 0, numColumns = 0; ///< 0: not given

  CSRMatrix(const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : blockDimensions(blockDimensions) {}
  CSRMatrix(std::size_t numRows, std::size_t numColumns, const std::vector<T> &nzValues,
            const std::vector<std::size_t> &columnIndices,
            const std::vector<std::size_t> &rowIndices,
            const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : CSRMatrix(nzValues, columnIndices, rowIndices, blockDimensions) {
    this->numRows = numRows;
    this->numColumns = numColumns;
  }
  CSRMatrix(const std::vector<T> &nzValues, const std::vector<std::size_t> &columnIndices,
            const std::vector<std::size_t> &rowIndices,
            const std::array<std::size_t, 2> &blockDimensions = {1, 1})
      : nzValues(nzValues), columnIndices(columnIndices), rowIndices(rowIndices),
        blockDimensions(blockDimensions) {}
  const std::array<std::size_t, 2> &getBlockDimensions() const { return blockDimensions; }
  std::size_t getBlockSize() const { return blockDimensions[0] * blockDimensions[1]; }
  std::size_t getNumRowsInBlock() const { return blockDimensions[0]; }
  std::size_t getNumColumnsInBlock() const { return blockDimensions[1]; }
};

} // namespace popsparse

#endif
