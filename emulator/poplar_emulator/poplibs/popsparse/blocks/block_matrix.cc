#include "block_matrix.h"

#include <algorithm>

#include <poputil/exceptions.hpp>

namespace popsparse {
namespace experimental {

using poplar::Tensor;

BlockMatrix::BlockMatrix(int rows, int columns, int blockRows, int blockColumns,
                         std::vector<unsigned char> mask)
    : rows(static_cast<std::size_t>(rows)), columns(static_cast<std::size_t>(columns)),
      blockRows(static_cast<std::size_t>(blockRows)),
      blockColumns(static_cast<std::size_t>(blockColumns)), mask(std::move(mask)) {
  const auto words = [](std::size_t a, std::size_t b) {
    return std::to_string(a) + " x " + std::to_string(b);
  };
  if (rows <= 0 || columns <= 0 || blockRows <= 0 || blockColumns <= 0 || rows % blockRows ||
      columns % blockColumns)
    throw poputil::poplibs_error("blocks of " + words(this->blockRows, this->blockColumns) +
                                 " do not divide a matrix of " + words(this->rows, this->columns));
  if (this->mask.size() != this->rows * this->columns / blockSize())
    throw poputil::poplibs_error(
        "a sparsity mask of " + std::to_string(this->mask.size()) + " entries for " +
        words(this->rows / this->blockRows, this->columns / this->blockColumns) + " blocks");
}

std::size_t BlockMatrix::blocks() const {
  return static_cast<std::size_t>(
      std::count_if(mask.begin(), mask.end(), [](unsigned char there) { return there != 0; }));
}

Tensor BlockMatrix::dense(const Tensor &blocks, const Tensor &absent) const {
  if (blocks.numElements() != this->blocks() * blockSize())
    throw poputil::poplibs_error("blocks of shape " + blocks.shapeToString() + " for " +
                                 std::to_string(this->blocks()) + " blocks of " +
                                 std::to_string(blockSize()) + " elements");
  const Tensor all = blocks.reshape({this->blocks(), blockRows, blockColumns});
  const Tensor none = absent.reshape({1, 1})
                          .broadcast(static_cast<unsigned>(blockRows), 0)
                          .broadcast(static_cast<unsigned>(blockColumns), 1);
  const std::size_t across = columns / blockColumns;
  std::vector<Tensor> bands;
  for (std::size_t i = 0, next = 0; i < mask.size(); i += across) {
    std::vector<Tensor> band;
    for (std::size_t j = 0; j < across; ++j)
      band.push_back(mask[i + j] ? all[next++] : none);
    bands.push_back(poplar::concat(band, 1));
  }
  return poplar::concat(bands);
}

Tensor BlockMatrix::sparse(const Tensor &matrix) const {
  const std::size_t across = columns / blockColumns;
  std::vector<Tensor> there;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::size_t row = i / across * blockRows, column = i % across * blockColumns;
    if (mask[i])
      there.push_back(matrix.slice({row, column}, {row + blockRows, column + blockColumns})
                          .flatten()
                          .expand({0}));
  }
  return there.empty() ? matrix.flatten().slice(0, 0).reshape({0, blockSize()})
                       : poplar::concat(there);
}

std::vector<float> BlockMatrix::counted(SubBlockMask hidden, std::size_t groups) const {
  const std::size_t across = columns / blockColumns, each = rows / std::max<std::size_t>(groups, 1);
  std::vector<float> counts;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i])
      continue;
    bool remains = false;
    for (std::size_t element = 0; element < blockSize(); ++element) {
      const std::size_t row = (i / across * blockRows + element / blockColumns) % each;
      const std::size_t column = i % across * blockColumns + element % blockColumns;
      const bool hides = hidden == SubBlockMask::ZeroUpperTriangle   ? column > row
                         : hidden == SubBlockMask::ZeroLowerTriangle ? column < row
                                                                     : false;
      counts.push_back(hides ? 0.0f : 1.0f);
      remains = remains || !hides;
    }
    if (!remains)
      throw poputil::poplibs_error("the sub-block mask hides all of block [" +
                                   std::to_string(i / across) + "," + std::to_string(i % across) +
                                   "]: set its entry of the sparsity mask to 0");
  }
  return counts;
}

} // namespace experimental
} // namespace popsparse
