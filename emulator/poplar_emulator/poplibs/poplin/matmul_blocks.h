#ifndef IPULSE_POPLIBS_MATMUL_BLOCKS_H
#define IPULSE_POPLIBS_MATMUL_BLOCKS_H

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplin {

/// Returns whether a product of these sizes is worked in blocks.
bool isWorkedInBlocks(std::size_t m, std::size_t k, std::size_t n);

/// out = A x B, one block of rows, columns and part of the sums on each tile; the partial sums are
/// added in a second step. The description has as many elements as the operands' rows in all
/// blocks.
void multiplyInBlocks(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B,
                      const poplar::Tensor &out, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext);

} // namespace poplin

#endif
