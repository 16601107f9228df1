#ifndef popops_TopK_hpp
#define popops_TopK_hpp

// [M] Signatures from memory but for topK, topKKeyValue, topKWithPermutation and TopKParams.

#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popops/SortOrder.hpp>

namespace popops {

struct TopKParams {
  unsigned k;
  bool largest;
  SortOrder sortOrder;
  bool stableSort; ///< the emulator's sort always is

  TopKParams(unsigned k, bool largest, SortOrder sortOrder, bool stableSort = false) noexcept
      : k(k), largest(largest), sortOrder(sortOrder), stableSort(stableSort) {}
};

/// The k largest or smallest elements of the last dimension of t.
poplar::Tensor topK(poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &t,
                    const TopKParams &params, const poplar::DebugContext &debugContext = {});
/// The same, and the index of each, UNSIGNED_INT.
std::pair<poplar::Tensor, poplar::Tensor>
topKWithPermutation(poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &t,
                    const TopKParams &params, const poplar::DebugContext &debugContext = {});

/// The same, and the element of `value` that goes with each.
std::pair<poplar::Tensor, poplar::Tensor>
topKKeyValue(poplar::Graph &graph, poplar::program::Sequence &prog, const poplar::Tensor &key,
             const poplar::Tensor &value, const TopKParams &params,
             const poplar::DebugContext &debugContext = {});
/// A tensor for topK to read.
poplar::Tensor createTopKInput(poplar::Graph &graph, const poplar::Type &type,
                               const std::vector<std::size_t> &shape, const TopKParams &params,
                               const poplar::DebugContext &debugContext = {});

} // namespace popops

#endif
