#include "rows.h"

#include <algorithm>

namespace lif {

using poplar::Graph;
using poplar::Tensor;

namespace {

constexpr std::size_t kWideFloats = 4096; // of the rows of a tile that other tiles could have

} // namespace

Rows::Rows(const Graph &graph, std::size_t rows, std::size_t width) : rows(rows) {
  // A row for every worker before another tile is asked, unless they are wide.
  std::size_t together = graph.getTarget().getNumWorkerContexts();
  if (width != 0)
    together = std::max<std::size_t>(1, std::min(together, kWideFloats / width));
  const std::size_t wanted = std::max<std::size_t>(1, (rows + together - 1) / together);
  parts = static_cast<unsigned>(std::min<std::size_t>(graph.getTarget().getNumTiles(), wanted));
}

Tensor Rows::variable(Graph &graph, std::size_t width, const std::string &name) const {
  const Tensor t = graph.addVariable(poplar::FLOAT, {rows, width}, name);
  for (unsigned part = 0; part < parts; ++part)
    graph.setTileMapping(t.slice(bound(part), bound(part + 1)), part);
  return t;
}

poplar::program::Program Rows::execute(Graph &graph, const std::string &type,
                                       const std::vector<RowField> &fields,
                                       const std::function<void(NewVertex &)> &more) const {
  const poplar::ComputeSet set = graph.addComputeSet(type);
  for (unsigned part = 0; part < parts; ++part) {
    NewVertex vertex(graph, set, type, part);
    double elements = 0;
    for (const RowField &field : fields) {
      const Tensor own = field.second.slice(bound(part), bound(part + 1)).flatten();
      vertex.connect(field.first, own);
      elements += static_cast<double>(own.numElements());
    }
    vertex.set("rows", static_cast<unsigned>(bound(part + 1) - bound(part)))
        .estimate(100 + 3 * elements);
    more(vertex);
  }
  return poplar::program::Execute(set);
}

} // namespace lif
