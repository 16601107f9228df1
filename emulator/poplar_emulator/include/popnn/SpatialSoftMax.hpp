#ifndef popnn_SpatialSoftMax_hpp
#define popnn_SpatialSoftMax_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popnn/NonLinearity.hpp>

namespace popnn {

/// Returns the mean position in each field [fields, rows, columns], weighted by the softmax of its
/// elements over the temperature: [fields, 2], row and column, each from -1 to 1; and the
/// temperature, a trainable variable. disableSoftmax: the fields are weights already. Raises
/// poplibs_error for another rank.
std::pair<poplar::Tensor, poplar::Tensor>
spatialSoftMax2D(poplar::Graph &graph, poplar::program::Sequence &prog,
                 const poplar::Tensor &fields, float temperature, bool disableSoftmax = false,
                 const poplar::DebugContext &debugContext = {});

} // namespace popnn

#endif
