#ifndef popops_Scatter_hpp
#define popops_Scatter_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstddef>
#include <functional>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Windows of `updates` written into `operand` where `indices` say, in place: XLA's scatter.
///
/// indices: of the windows' first elements, along indexVectorDim; element k of such a vector is
/// along dimension scatterDimsToOperandDims[k] of the operand. indexVectorDim = rank: each index is
/// a vector of one. Negative ones and windows that do not fit are left out.
/// updateWindowDims: the dimensions of updates that are the window's; the others are the
/// indices'. insertWindowDims: the dimensions of the operand of which a window has one element.
/// Raises poplibs_error for shapes and dimensions that do not go together.
void scatter(poplar::Graph &graph, const poplar::Tensor &operand, const poplar::Tensor &indices,
             const poplar::Tensor &updates, std::size_t indexVectorDim,
             std::vector<unsigned> updateWindowDims, std::vector<std::size_t> insertWindowDims,
             std::vector<unsigned> scatterDimsToOperandDims, poplar::program::Sequence &prog,
             const poplar::DebugContext &debugContext = {},
             const poplar::OptionFlags &optionFlags = {});

/// Computes the new value of a window from the present value and the update.
using UpdateComputationFunc =
    std::function<poplar::Tensor(poplar::Graph &graph, poplar::Tensor &current,
                                 poplar::Tensor &update, poplar::program::Sequence &prog)>;

/// The same with values that a computation makes, one window after another.
void scatter(poplar::Graph &graph, const poplar::Tensor &operand, const poplar::Tensor &indices,
             const poplar::Tensor &updates, std::size_t indexVectorDim,
             std::vector<unsigned> updateWindowDims, std::vector<std::size_t> insertWindowDims,
             std::vector<unsigned> scatterDimsToOperandDims,
             UpdateComputationFunc &updateComputation, poplar::program::Sequence &prog,
             const poplar::DebugContext &debugContext = {},
             const poplar::OptionFlags &optionFlags = {});

} // namespace popops

#endif
