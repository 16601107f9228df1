#ifndef IPULSE_POPLIBS_SPARSE_LAYOUT_H
#define IPULSE_POPLIBS_SPARSE_LAYOUT_H

#include <cstddef>

namespace popsparse {

/// The metainformation of sparse weights, UNSIGNED_SHORT: the number of blocks in two words, the
/// groups, a block's rows and columns; then for each block its row and column, counted in blocks,
/// the rows of all groups one after another.
enum MetaWord : std::size_t {
  kBlocksLow,
  kBlocksHigh,
  kGroups,
  kBlockRows,
  kBlockColumns,
  kHeaderWords
};

} // namespace popsparse

#endif
