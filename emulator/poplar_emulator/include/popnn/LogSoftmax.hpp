#ifndef popnn_LogSoftmax_hpp
#define popnn_LogSoftmax_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popnn {

/// The logarithm of the softmax over the last dimension.
poplar::Tensor logSoftmax(poplar::Graph &graph, poplar::Tensor t, poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {});
void logSoftmaxInPlace(poplar::Graph &graph, poplar::Tensor t, poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {});

} // namespace popnn

#endif
