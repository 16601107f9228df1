#ifndef IPULSE_POPLIBS_MATMUL_BLOCKS_H
#define IPULSE_POPLIBS_MATMUL_BLOCKS_H

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "matmul_plan.h"

namespace poplin {

/// out = A x B as planProduct divides it: in each serial part one block of rows, columns and part
/// of the sums on each tile; the partial sums are added in a second step. The description has as
/// many elements as the operands' rows in all blocks.
/// share: of a tile's memory, that the product may use.
void multiplyInBlocks(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B,
                      const poplar::Tensor &out, double share, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext);

} // namespace poplin

#endif
