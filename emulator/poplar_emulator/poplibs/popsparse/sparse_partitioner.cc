#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <popsparse/SparsePartitioner.hpp>
#include <poputil/exceptions.hpp>

#include "sparse_layout.h"

namespace popsparse {
namespace dynamic {

using poputil::poplibs_error;

FullyConnectedParams::FullyConnectedParams(const SparsityParams &sparsityParams, double nzRatio,
                                           std::size_t batchSize, std::size_t numGroups,
                                           std::size_t inputChannels, std::size_t outputChannels)
    : sparsityParams(sparsityParams), nzRatio(nzRatio), batchSize(batchSize), numGroups(numGroups),
      inputChannelsPerGroup(inputChannels), outputChannelsPerGroup(outputChannels) {
  const auto &block = sparsityParams.blockDimensions;
  if (!(nzRatio > 0 && nzRatio <= 1))
    throw poplibs_error("a share of " + std::to_string(nzRatio) +
                        " of the weights that are not zero: give one in (0, 1]");
  if (!block[0] || !block[1] || outputChannels % block[0] || inputChannels % block[1])
    throw poplibs_error("blocks of {" + std::to_string(block[0]) + "," + std::to_string(block[1]) +
                        "} do not divide weights {" + std::to_string(outputChannels) + "," +
                        std::to_string(inputChannels) + "}");
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (numGroups * outputChannels / block[0] > kMost || inputChannels / block[1] > kMost)
    throw poplibs_error(
        "the places of blocks are 16 bits wide: there are too many rows or columns");
}

FullyConnectedParams FullyConnectedParams::createWithNzRatio(const SparsityParams &sparsityParams,
                                                             double nzRatio, std::size_t batchSize,
                                                             std::size_t numGroups,
                                                             std::size_t inputChannels,
                                                             std::size_t outputChannels) {
  return {sparsityParams, nzRatio, batchSize, numGroups, inputChannels, outputChannels};
}
FullyConnectedParams FullyConnectedParams::createWithNumNonZeroValues(
    const SparsityParams &sparsityParams, std::size_t numNonZeroElems, std::size_t batchSize,
    std::size_t numGroups, std::size_t inputChannels, std::size_t outputChannels) {
  const double all = static_cast<double>(numGroups * inputChannels * outputChannels);
  return {sparsityParams, static_cast<double>(numNonZeroElems) / all,
          batchSize,      numGroups,
          inputChannels,  outputChannels};
}

std::size_t FullyConnectedParams::getNumNonZeroValues() const {
  const std::size_t block = sparsityParams.blockDimensions[0] * sparsityParams.blockDimensions[1];
  const double values = nzRatio * static_cast<double>(numGroups) *
                        static_cast<double>(inputChannelsPerGroup * outputChannelsPerGroup);
  // Converting a number to a ratio and back gives the same number.
  return static_cast<std::size_t>(std::ceil(values / static_cast<double>(block) - 1e-6)) * block;
}

std::ostream &operator<<(std::ostream &os, const FullyConnectedParams &params) {
  return os << "{sparsity=" << params.getSparsityParams() << ", nzRatio=" << params.getNzRatio()
            << ", batchSize=" << params.getBatchSize() << ", groups=" << params.getNumGroups()
            << ", inputs=" << params.getInputChannelsPerGroup()
            << ", outputs=" << params.getOutputChannelsPerGroup() << '}';
}

template <typename T>
Partitioner<T>::Partitioner(const FullyConnectedParams &params, const poplar::Type &,
                            const poplar::Target &, const poplar::OptionFlags &, PlanningCache *,
                            std::string)
    : params(params) {}

template <typename T>
SparsityDataImpl<T> Partitioner<T>::createSparsityDataImpl(const COOMatrix<T> &matrix) const {
  const auto &block = params.getSparsityParams().blockDimensions;
  const std::size_t size = block[0] * block[1], blocks = matrix.rowIndices.size();
  if (matrix.blockDimensions != block || matrix.columnIndices.size() != blocks ||
      matrix.nzValues.size() != blocks * size)
    throw poplibs_error(
        "the matrix has other blocks than the parameters, or not a row, a column and "
        "all values for each");
  if (matrix.nzValues.size() > params.getNumNonZeroValues())
    throw poplibs_error("the matrix has " + std::to_string(matrix.nzValues.size()) +
                        " values, and there is room for " +
                        std::to_string(params.getNumNonZeroValues()));
  SparsityDataImpl<T> data;
  data.metaInfo = {blocks & 0xffff, blocks >> 16, params.getNumGroups(), block[0], block[1]};
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t row = matrix.rowIndices[i], column = matrix.columnIndices[i];
    if (row >= params.getOutputChannels() || column >= params.getInputChannelsPerGroup() ||
        row % block[0] || column % block[1])
      throw poplibs_error("there is no block at row " + std::to_string(row) + " and column " +
                          std::to_string(column));
    data.metaInfo.push_back(row / block[0]);
    data.metaInfo.push_back(column / block[1]);
  }
  data.metaInfo.resize(kHeaderWords + 2 * (params.getNumNonZeroValues() / size));
  data.nzValues = matrix.nzValues;
  data.nzValues.resize(params.getNumNonZeroValues());
  return data;
}

template <typename T>
SparsityDataImpl<T> Partitioner<T>::createSparsityDataImpl(const CSRMatrix<T> &matrix) const {
  const auto &block = params.getSparsityParams().blockDimensions;
  if (matrix.rowIndices.size() != params.getOutputChannels() / block[0] + 1)
    throw poplibs_error("the matrix has " + std::to_string(matrix.rowIndices.size()) +
                        " row indices for " +
                        std::to_string(params.getOutputChannels() / block[0]) + " rows of blocks");
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r + 1 < matrix.rowIndices.size(); ++r)
    for (std::size_t i = matrix.rowIndices[r]; i < matrix.rowIndices[r + 1];
         i += block[0] * block[1])
      rows.push_back(r * block[0]);
  return createSparsityDataImpl(
      COOMatrix<T>(matrix.nzValues, matrix.columnIndices, rows, matrix.blockDimensions));
}

template <typename T>
COOMatrix<T> Partitioner<T>::sparsityDataImplToCOOMatrix(const SparsityDataImpl<T> &data) const {
  const auto &block = params.getSparsityParams().blockDimensions;
  const std::size_t size = block[0] * block[1];
  if (data.metaInfo.size() < kHeaderWords)
    throw poplibs_error("metainformation without a header");
  const std::size_t blocks = data.metaInfo[kBlocksLow] + (data.metaInfo[kBlocksHigh] << 16);
  if (data.metaInfo.size() < kHeaderWords + 2 * blocks || data.nzValues.size() < size * blocks)
    throw poplibs_error("metainformation of more blocks than there are");
  std::vector<std::size_t> order(blocks);
  for (std::size_t i = 0; i < blocks; ++i)
    order[i] = i;
  const auto place = [&](std::size_t i) { return &data.metaInfo[kHeaderWords + 2 * i]; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(place(a), place(a) + 2, place(b), place(b) + 2);
  });
  COOMatrix<T> matrix(block);
  for (const std::size_t i : order) {
    matrix.rowIndices.push_back(place(i)[0] * block[0]);
    matrix.columnIndices.push_back(place(i)[1] * block[1]);
    const auto first = data.nzValues.begin() + static_cast<std::ptrdiff_t>(i * size);
    matrix.nzValues.insert(matrix.nzValues.end(), first, first + static_cast<std::ptrdiff_t>(size));
  }
  return matrix;
}

template <typename T>
CSRMatrix<T> Partitioner<T>::sparsityDataImplToCSRMatrix(const SparsityDataImpl<T> &data) const {
  const COOMatrix<T> blocks = sparsityDataImplToCOOMatrix(data);
  const auto &block = params.getSparsityParams().blockDimensions;
  CSRMatrix<T> matrix(blocks.nzValues, blocks.columnIndices, {}, block);
  for (std::size_t r = 0; r <= params.getOutputChannels(); r += block[0])
    matrix.rowIndices.push_back(
        static_cast<std::size_t>(
            std::lower_bound(blocks.rowIndices.begin(), blocks.rowIndices.end(), r) -
            blocks.rowIndices.begin()) *
        block[0] * block[1]);
  return matrix;
}

template <typename T>
SparsityDataImpl<T> Partitioner<T>::createSparsityDataImpl(const CSCMatrix<T> &matrix) const {
  const auto &block = params.getSparsityParams().blockDimensions;
  const std::size_t columns = params.getInputChannelsPerGroup() / block[1];
  if (matrix.columnIndices.size() != columns + 1)
    throw poplibs_error("the matrix has " + std::to_string(matrix.columnIndices.size()) +
                        " column indices for " + std::to_string(columns) + " columns of blocks");
  std::vector<std::size_t> of;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t i = matrix.columnIndices[c]; i < matrix.columnIndices[c + 1];
         i += block[0] * block[1])
      of.push_back(c * block[1]);
  return createSparsityDataImpl(
      COOMatrix<T>(matrix.nzValues, of, matrix.rowIndices, matrix.blockDimensions));
}

template <typename T>
CSCMatrix<T> Partitioner<T>::sparsityDataImplToCSCMatrix(const SparsityDataImpl<T> &data) const {
  const COOMatrix<T> blocks = sparsityDataImplToCOOMatrix(data);
  const auto &block = params.getSparsityParams().blockDimensions;
  const std::size_t size = block[0] * block[1];
  std::vector<std::size_t> order(blocks.columnIndices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks.columnIndices[a] < blocks.columnIndices[b];
  });
  CSCMatrix<T> matrix(block);
  matrix.columnIndices.assign(params.getInputChannelsPerGroup() / block[1] + 1, 0);
  for (const std::size_t i : order) {
    const auto first = blocks.nzValues.begin() + static_cast<std::ptrdiff_t>(i * size);
    matrix.nzValues.insert(matrix.nzValues.end(), first, first + static_cast<std::ptrdiff_t>(size));
    matrix.rowIndices.push_back(blocks.rowIndices[i]);
    matrix.columnIndices[blocks.columnIndices[i] / block[1] + 1] += size;
  }
  std::partial_sum(matrix.columnIndices.begin(), matrix.columnIndices.end(),
                   matrix.columnIndices.begin());
  return matrix;
}

template class Partitioner<float>;
template class Partitioner<double>;

} // namespace dynamic
} // namespace popsparse
