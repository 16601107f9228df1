#ifndef IPULSE_POPLIBS_BLOCK_MATRIX_H
#define IPULSE_POPLIBS_BLOCK_MATRIX_H

#include <popsparse/experimental/BlockSparse.hpp>

namespace popsparse {
namespace experimental {

/// A matrix of which a mask says which blocks are there.
struct BlockMatrix {
  std::size_t rows, columns, blockRows, blockColumns;
  std::vector<unsigned char> mask;

  /// Raises poplibs_error unless blocks divide the matrix and the mask has an entry for each.
  BlockMatrix(int rows, int columns, int blockRows, int blockColumns,
              std::vector<unsigned char> mask);
  std::size_t blocks() const; // that are there
  std::size_t blockSize() const { return blockRows * blockColumns; }
  /// The matrix of blocks [blocks(), blockSize()], with `absent`, one element, elsewhere: no copy.
  poplar::Tensor dense(const poplar::Tensor &blocks, const poplar::Tensor &absent) const;
  /// The blocks of a matrix [rows, columns]: no copy.
  poplar::Tensor sparse(const poplar::Tensor &matrix) const;
  /// 1 where the elements of the blocks count and 0 where `hidden` hides them; `groups` matrices of
  /// rows / groups rows have a diagonal each. Raises poplibs_error for a block that is hidden.
  std::vector<float> counted(SubBlockMask hidden, std::size_t groups) const;
};

} // namespace experimental
} // namespace popsparse

#endif
