#ifndef popops_Rearrange_hpp
#define popops_Rearrange_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <functional>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poputil/VarStructure.hpp>

namespace popops {
namespace rearrange {

/// Returns whether the device has a fast transposition for such matrices: two-byte elements, each
/// dimension a multiple of 4. Here all transpositions are equal.
bool canUseFastTranspose(const poplar::Target &target, const poplar::Type &type, unsigned numRows,
                         unsigned numColumns, unsigned numTranspositions);
/// Transposes rows * cols elements into as many, once for every index in the mapping, which says on
/// what tile; `getInOut` gives the tensors of an index.
void addTransposeVertices(
    poplar::Graph &graph, const poplar::ComputeSet &cs, const poplar::Type &dType, unsigned rows,
    unsigned cols, const poplar::Graph::TileToTensorMapping &mapping,
    std::function<std::pair<const poplar::Tensor, const poplar::Tensor>(std::size_t)> getInOut,
    const poplar::DebugContext &debugContext = {});
/// Returns a tensor with the last two dimensions transposed; `cs` writes it.
poplar::Tensor partialTranspose(poplar::Graph &graph, const poplar::Tensor &in,
                                const poplar::ComputeSet &cs,
                                const poplar::DebugContext &debugContext = {});
/// The number of elements that the fastest regrouping moves at once.
unsigned getMinimumRegroupGrainSize(const poplar::Type &type);
/// Returns the same values, with contiguous groups along the dimension of `to`. Here a copy does
/// this: nothing is added to `transposeCS`. Raises poplibs_error if the group does not divide the
/// size.
poplar::Tensor regroupTensor(poplar::Graph &graph, const poplar::Tensor &t,
                             poplar::program::Sequence &copies,
                             const poplar::ComputeSet &transposeCS,
                             const poputil::GroupingInfo &from, const poputil::GroupingInfo &to,
                             const poplar::DebugContext &debugContext = {});
/// The same, or `t` itself if the group does not divide the size.
poplar::Tensor regroupIfPossible(poplar::Graph &graph, const poplar::Tensor &t,
                                 poplar::program::Sequence &prog, const poputil::GroupingInfo &to,
                                 const poplar::DebugContext &debugContext = {});
/// Returns `in`: regrouping has no advantage here [I], because rearrangements cost by the bytes
/// moved.
poplar::Tensor regroupIfBeneficial(poplar::Graph &graph, const poplar::Tensor &in,
                                   const poplar::Tensor &ref, poplar::program::Sequence &prog,
                                   const poplar::DebugContext &debugContext = {});
poplar::Tensor regroupIfBeneficial(poplar::Graph &graph, const poplar::Tensor &in,
                                   std::size_t preferredGrouping, poplar::program::Sequence &prog,
                                   const poplar::DebugContext &debugContext = {});

} // namespace rearrange
} // namespace popops

#endif
