#ifndef poplin_TriangularSolve_hpp
#define poplin_TriangularSolve_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/PlanningCache.hpp>

namespace poplin {

// Functions of matrices [..., n, n], each separately.

/// An operand of triangularSolve.
poplar::Tensor createTriangularSolveInputLHS(poplar::Graph &graph, const poplar::Type &inputType,
                                             const poplar::Type &outputType,
                                             const std::vector<std::size_t> &aShape,
                                             const std::vector<std::size_t> &bShape, bool leftSide,
                                             const poplar::DebugContext &debugContext,
                                             const poplar::OptionFlags &options = {},
                                             PlanningCache *cache = nullptr);
poplar::Tensor createTriangularSolveInputRHS(poplar::Graph &graph, const poplar::Type &inputType,
                                             const poplar::Type &outputType,
                                             const std::vector<std::size_t> &aShape,
                                             const std::vector<std::size_t> &bShape, bool leftSide,
                                             const poplar::DebugContext &debugContext,
                                             const poplar::OptionFlags &options = {},
                                             PlanningCache *cache = nullptr);
/// a with 0 above, or below, its diagonal, which unitDiagonal sets to 1.
poplar::Tensor triangularMask(poplar::Graph &graph, const poplar::Tensor &a, bool lower,
                              bool unitDiagonal, poplar::program::Sequence &prog,
                              const poplar::DebugContext &debugContext = {});
/// Returns x with a x = b, or x a = b unless leftSide. Only one triangle of a is read, without its
/// diagonal if unitDiagonal. Raises poplibs_error for incompatible shapes.
poplar::Tensor triangularSolve(poplar::Graph &graph, const poplar::Tensor &a,
                               const poplar::Tensor &b, bool leftSide, bool lower,
                               bool unitDiagonal, poplar::program::Sequence &prog,
                               const poplar::DebugContext &debugContext = {},
                               const poplar::OptionFlags &options = {},
                               PlanningCache *cache = nullptr);

/// Returns the products to plan ahead: none, because the emulator's vertices solve without
/// products.
inline std::vector<std::pair<MatMulParams, poplar::OptionFlags>>
getTriangularSolveMatMulPrePlanParameters(const poplar::Type &, const poplar::Type &,
                                          const std::vector<std::size_t> &,
                                          const std::vector<std::size_t> &, bool, bool,
                                          const poplar::OptionFlags &) {
  return {};
}

} // namespace poplin

#endif
