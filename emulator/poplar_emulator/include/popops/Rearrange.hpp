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

/// Whether the device has a transposition of its own for such matrices: of two-byte elements, each
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
/// A tensor with the two last dimensions transposed, which `cs` writes.
poplar::Tensor partialTranspose(poplar::Graph &graph, const poplar::Tensor &in,
                                const poplar::ComputeSet &cs,
                                const poplar::DebugContext &debugContext = {});
/// How many elements the fastest regrouping moves at once.
unsigned getMinimumRegroupGrainSize(const poplar::Type &type);
/// The same values, of which groups along the dimension of `to` lie in one piece. Here a copy does
/// it: nothing is added to `transposeCS`. Raises poplibs_error when the size is no multiple of the
/// group.
poplar::Tensor regroupTensor(poplar::Graph &graph, const poplar::Tensor &t,
                             poplar::program::Sequence &copies,
                             const poplar::ComputeSet &transposeCS,
                             const poputil::GroupingInfo &from, const poputil::GroupingInfo &to,
                             const poplar::DebugContext &debugContext = {});
/// `in`, of which no regrouping is of use here [I]: rearrangements cost what is moved.
poplar::Tensor regroupIfBeneficial(poplar::Graph &graph, const poplar::Tensor &in,
                                   const poplar::Tensor &ref, poplar::program::Sequence &prog,
                                   const poplar::DebugContext &debugContext = {});
poplar::Tensor regroupIfBeneficial(poplar::Graph &graph, const poplar::Tensor &in,
                                   std::size_t preferredGrouping, poplar::program::Sequence &prog,
                                   const poplar::DebugContext &debugContext = {});

} // namespace rearrange
} // namespace popops

#endif
