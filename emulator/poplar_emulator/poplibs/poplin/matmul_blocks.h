#ifndef IPULSE_POPLIBS_MATMUL_BLOCKS_H
#define IPULSE_POPLIBS_MATMUL_BLOCKS_H

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplin {

/// Whether a product of these sizes is worked in blocks.
bool isWorkedInBlocks(std::size_t m, std::size_t k, std::size_t n);

/// out = A x B, one block on each tile: rows by columns by part of the sums, whose partial results
/// are then added. The description has as many elements as the operands' rows in all blocks.
void multiplyInBlocks(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B,
                      const poplar::Tensor &out, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext);

} // namespace poplin

#endif
