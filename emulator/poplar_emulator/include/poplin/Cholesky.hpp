#ifndef poplin_Cholesky_hpp
#define poplin_Cholesky_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/PlanningCache.hpp>

namespace poplin {

// Of symmetric, positive definite matrices [..., n, n], each by itself.

poplar::Tensor createCholeskyInput(poplar::Graph &graph, const poplar::Type &type,
                                   const std::vector<std::size_t> &shape, bool lower,
                                   const poplar::DebugContext &debugContext,
                                   const poplar::OptionFlags &options = {},
                                   PlanningCache *cache = nullptr);
/// The triangular l with l l' = a, or u with u' u = a; of a only that triangle is looked at.
poplar::Tensor cholesky(poplar::Graph &graph, const poplar::Tensor &a, bool lower,
                        poplar::program::Sequence &prog,
                        const poplar::DebugContext &debugContext = {},
                        const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
void choleskyInPlace(poplar::Graph &graph, const poplar::Tensor &a, bool lower,
                     poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
                     const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);

} // namespace poplin

#endif
