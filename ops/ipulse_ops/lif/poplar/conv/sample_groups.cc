#include "sample_groups.h"

namespace lif {

using poplar::Graph;
using poplar::Tensor;

Share groupsOf(const ConvOperands &operands) {
  return {operands.batch, std::min<std::size_t>(16, operands.batch)};
}

std::vector<std::size_t> rowsOf(const ConvOperands &operands, std::size_t group) {
  const Share groups = groupsOf(operands);
  std::vector<std::size_t> rows;
  for (std::size_t b = groups.begin(group); b < groups.end(group); ++b)
    for (std::size_t t = operands.steps; t-- != 0;)
      rows.push_back(t * operands.batch + b);
  return rows;
}

Tensor chosen(const Tensor &of, const std::vector<std::size_t> &rows, std::size_t first,
              std::size_t end) {
  std::vector<Tensor> found;
  for (std::size_t i = first; i < end; ++i)
    found.push_back(of[rows[i]].flatten());
  return poplar::concat(found);
}

void addRows(Graph &graph, poplar::ComputeSet set, const Tensor &plane, const Tensor &sums,
             std::size_t rows, bool begins, unsigned tile) {
  const std::size_t width = sums.numElements();
  NewVertex(graph, set, "ConvAddedRows", tile)
      .connect("plane", plane.flatten())
      .connect("sums", sums.flatten())
      .set("rows", static_cast<unsigned>(rows))
      .set("width", static_cast<unsigned>(width))
      .set("begins", begins)
      .estimate(50 + 6 * shareOf(width) * (10 + 4.0 * static_cast<double>(rows)));
}

Tensor variableOn(Graph &graph, std::size_t size, const char *name, unsigned tile) {
  const Tensor t = graph.addVariable(poplar::FLOAT, {size}, name);
  graph.setTileMapping(t, tile);
  return t;
}

Tensor addGroups(Graph &graph, poplar::ComputeSet set, const std::vector<Tensor> &groups,
                 unsigned tile) {
  if (groups.size() == 1)
    return groups[0];
  const Tensor sum = variableOn(graph, groups[0].numElements(), "SpikeConv/sum", tile);
  std::vector<Tensor> flat;
  for (const Tensor &group : groups)
    flat.push_back(group.flatten());
  addRows(graph, set, poplar::concat(flat), sum, groups.size(), true, tile);
  return sum.reshape(groups[0].shape());
}

} // namespace lif
