#ifndef IPULSE_POPLIBS_DENSE_WEIGHTS_H
#define IPULSE_POPLIBS_DENSE_WEIGHTS_H

#include <popsparse/FullyConnected.hpp>

namespace popsparse {
namespace dynamic {

/// Returns the weights of a layer, [groups, outputs, inputs], a range of rows on each tile. Raises
/// poplibs_error for the weights of another.
poplar::Tensor denseWeights(poplar::Graph &graph, const SparseTensor &weights,
                            const FullyConnectedParams &params, poplar::program::Sequence &prog,
                            const poplar::DebugContext &dc);

} // namespace dynamic
} // namespace popsparse

#endif
