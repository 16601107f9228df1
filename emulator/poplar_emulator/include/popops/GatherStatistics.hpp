#ifndef popops_GatherStatistics_hpp
#define popops_GatherStatistics_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Counts the elements below levels[0], between each level and the next, and from the last one on:
/// [levels + 1], UNSIGNED_INT, or FLOAT with the option useFloatArithmetic. levels: [n], ascending,
/// of the input's type; absoluteOfInput: count absolute values.
poplar::Tensor histogram(poplar::Graph &graph, const poplar::Tensor &input,
                         const poplar::Tensor &levels, bool absoluteOfInput,
                         poplar::program::Sequence &prog,
                         const poplar::DebugContext &debugContext = {},
                         const poplar::OptionFlags &options = {});
/// The same written to `output`, or added to it.
void histogram(poplar::Graph &graph, const poplar::Tensor &input, poplar::Tensor &output,
               bool updateOutput, const poplar::Tensor &levels, bool absoluteOfInput,
               poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
               const poplar::OptionFlags &options = {});

} // namespace popops

#endif
