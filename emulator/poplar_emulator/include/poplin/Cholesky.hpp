#ifndef poplin_Cholesky_hpp
#define poplin_Cholesky_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/PlanningCache.hpp>

namespace poplin {

// Functions of symmetric, positive definite matrices [..., n, n], each separately.

poplar::Tensor createCholeskyInput(poplar::Graph &graph, const poplar::Type &type,
                                   const std::vector<std::size_t> &shape, bool lower,
                                   const poplar::DebugContext &debugContext,
                                   const poplar::OptionFlags &options = {},
                                   PlanningCache *cache = nullptr);
/// Returns the triangular l with l l' = a, or u with u' u = a; only that triangle of a is read.
poplar::Tensor cholesky(poplar::Graph &graph, const poplar::Tensor &a, bool lower,
                        poplar::program::Sequence &prog,
                        const poplar::DebugContext &debugContext = {},
                        const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);
void choleskyInPlace(poplar::Graph &graph, const poplar::Tensor &a, bool lower,
                     poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
                     const poplar::OptionFlags &options = {}, PlanningCache *cache = nullptr);

/// Returns the products to plan ahead: none, because the emulator's vertices solve without
/// products.
inline std::vector<std::pair<MatMulParams, poplar::OptionFlags>>
getCholeskyMatMulPrePlanParameters(const poplar::Type &, const std::vector<std::size_t> &, bool,
                                   poplar::OptionFlags) {
  return {};
}

} // namespace poplin

#endif
