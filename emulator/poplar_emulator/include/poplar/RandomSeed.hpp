#ifndef poplar_RandomSeed_hpp
#define poplar_RandomSeed_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

/// The state of the random number generators of all tiles, as in poprand: UNSIGNED_INT [tiles, 4].
/// The state of __builtin_ipu_urand32() is not part of it.
Tensor getHwSeeds(Graph &graph, program::Sequence &prog, const DebugContext &debugContext = {});
void setHwSeeds(Graph &graph, const Tensor &hwSeeds, program::Sequence &prog,
                const DebugContext &debugContext = {});

} // namespace poplar

#endif
