#ifndef popops_UpdateScalarInRows_hpp
#define popops_UpdateScalarInRows_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popops/ExprOp.hpp>

namespace popops {

/// Subtracts 1 from element indices[i] of row i of params [rows, columns]; does nothing for
/// MASKED_LABEL_CODE, and fills the row with NaN for an index out of range.
void updateScalarInRows(poplar::Graph &graph, const poplar::Tensor &params,
                        const poplar::Tensor &indices, poplar::program::Sequence &program,
                        const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
