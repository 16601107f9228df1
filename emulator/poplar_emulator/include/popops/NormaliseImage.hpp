#ifndef popops_NormaliseImage_hpp
#define popops_NormaliseImage_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// An image of three channels, the last dimension, to be normalised.
poplar::Tensor createNormaliseImageInput(poplar::Graph &graph, const poplar::Type &type,
                                         const poplar::ArrayRef<std::size_t> shape,
                                         const poplar::DebugContext &debugContext = {});
/// (tIn * inScale - inOffsets) * inScales by channel, HALF for UNSIGNED_CHAR, and a fourth channel
/// of zeros. Raises poplibs_error unless the channels are three.
poplar::Tensor normaliseImage(poplar::Graph &graph, poplar::program::Sequence &seq,
                              poplar::Tensor tIn, float inScale, poplar::Tensor inOffsets,
                              poplar::Tensor inScales,
                              const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
