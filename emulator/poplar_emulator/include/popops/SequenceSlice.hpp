#ifndef popops_SequenceSlice_hpp
#define popops_SequenceSlice_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poputil/DebugInfo.hpp>

namespace popops {

/// Copies rows: row dstOffsets[i] + k of dst becomes row srcOffsets[i] + k of src, for each k below
/// sizes[i]. The three are UNSIGNED_INT [sequences]; what they write must not overlap. The other
/// rows of dst stay, or are 0 with zeroUnused. [M] the order of the arguments
void sequenceSlice(poplar::Graph &graph, const poplar::Tensor &src, const poplar::Tensor &dst,
                   const poplar::Tensor &sizes, const poplar::Tensor &srcOffsets,
                   const poplar::Tensor &dstOffsets, bool zeroUnused,
                   poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
