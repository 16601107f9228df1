#include <popops/Sort.hpp>
#include <popops/TopK.hpp>
#include <poputil/exceptions.hpp>

namespace popops {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;

namespace {

TopKParams ascending(const Tensor &rows) {
  return {static_cast<unsigned>(rows.dim(rows.rank() - 1)), false, SortOrder::ASCENDING, true};
}

/// Dimension `dim` last, where topK works, and back.
Tensor last(const Tensor &t, unsigned dim) {
  if (dim >= t.rank())
    throw poputil::poplibs_error("sort: dimension " + std::to_string(dim) +
                                 " of a tensor of shape " + t.shapeToString());
  return t.dimRoll(dim, t.rank() - 1);
}

} // namespace

Tensor sort(Graph &graph, const Tensor &t, unsigned dim, Sequence &prog,
            const poplar::DebugContext &debugContext) {
  const Tensor rows = last(t, dim);
  return topK(graph, prog, rows, ascending(rows), debugContext).dimRoll(t.rank() - 1, dim);
}

void sortInPlace(Graph &graph, const Tensor &t, unsigned dim, Sequence &prog,
                 const poplar::DebugContext &debugContext) {
  prog.add(Copy(sort(graph, t, dim, prog, debugContext), t, false, debugContext));
}

Tensor sortKeyValue(Graph &graph, const Tensor &k, const Tensor &v, unsigned dim, Sequence &prog,
                    const poplar::DebugContext &debugContext) {
  const Tensor keys = last(k, dim);
  return topKKeyValue(graph, prog, keys, last(v, dim), ascending(keys), debugContext)
      .second.dimRoll(k.rank() - 1, dim);
}

void sortKeyValueInPlace(Graph &graph, const Tensor &k, const Tensor &v, unsigned dim,
                         Sequence &prog, const poplar::DebugContext &debugContext) {
  const Tensor keys = last(k, dim);
  const auto sorted = topKKeyValue(graph, prog, keys, last(v, dim), ascending(keys), debugContext);
  prog.add(Copy(sorted.first, keys, false, debugContext));
  prog.add(Copy(sorted.second, last(v, dim), false, debugContext));
}

} // namespace popops
