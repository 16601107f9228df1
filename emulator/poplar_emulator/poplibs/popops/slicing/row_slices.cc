#include "row_slices.h"

namespace popops {

using poplar::ArrayRef;
using poplar::ComputeSet;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;
using poplar::VertexRef;
using poplar::emulator::MultiUpdate;

namespace {

/// The elements of each row that are in `regions`.
std::vector<Tensor> partsOf(const Tensor &rows, const std::vector<Interval> &regions) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < rows.dim(0); ++i)
    parts.push_back(poplar::concat(rows[i].slices(ArrayRef<Interval>(regions))));
  return parts;
}

} // namespace

Tensor rowsOf(const Tensor &t, unsigned dim) { return t.dimRoll(dim).flatten(1, t.rank()); }

void addUpdate(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
               const Tensor &scale, MultiUpdate kind, unsigned dim, ComputeSet cs) {
  if (s.numElements() == 0) // no lookups, or slices of no rows
    return;
  const Tensor to = rowsOf(t, dim);
  const Tensor from = s.dimRoll(dim + 1, 1).flatten(2, s.rank()).flatten(0, 2);
  const auto mapping = graph.getTileMapping(to[0]);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    const VertexRef v = graph.addVertex(cs, poplar::emulator::kMultiUpdate);
    graph.connect(v["rows"], partsOf(from, mapping[tile]));
    graph.connect(v["inout"], partsOf(to, mapping[tile]));
    graph.connect(v["indices"], offsets.flatten());
    graph.connect(v["scalar"], scale.reshape({}));
    graph.setInitialValue(v["type"], static_cast<unsigned>(t.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(kind));
    graph.setTileMapping(v, tile);
  }
}

Tensor addMultiSlice(Graph &graph, const Tensor &from, const Tensor &offsets, std::size_t size,
                     ComputeSet cs, const DebugContext &debugContext) {
  const std::size_t slices = offsets.dim(0);
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < slices * size; ++i)
    made.push_back(graph.clone(from[0], debugContext).expand({0}));
  // Without offsets there is nothing to move.
  const Tensor to = made.empty()
                        ? graph.addVariable(from.elementType(), {0, from.dim(1)}, debugContext)
                        : poplar::concat(made);
  const auto mapping = graph.getTileMapping(from[0]);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty() || made.empty())
      continue;
    const VertexRef v = graph.addVertex(cs, poplar::emulator::kMultiSlice);
    graph.connect(v["rows"], partsOf(from, mapping[tile]));
    graph.connect(v["out"], poplar::concat(partsOf(to, mapping[tile])));
    graph.connect(v["indices"], offsets.flatten());
    graph.setInitialValue(v["type"], static_cast<unsigned>(from.elementType().identity()));
    graph.setInitialValue(v["choice"], static_cast<unsigned>(size));
    graph.setTileMapping(v, tile);
  }
  return to;
}

} // namespace popops
