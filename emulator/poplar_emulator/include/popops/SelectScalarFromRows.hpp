#ifndef popops_SelectScalarFromRows_hpp
#define popops_SelectScalarFromRows_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Returns element indices[i] of row i of params [rows, columns]: [rows]. 0 for MASKED_LABEL_CODE,
/// NaN for an index out of range. Raises poplibs_error for other shapes and types.
poplar::Tensor selectScalarFromRows(poplar::Graph &graph, const poplar::Tensor &params,
                                    const poplar::Tensor &indices,
                                    poplar::program::Sequence &program,
                                    const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
