#include "reduce_stages.h"

#include <algorithm>
#include <map>

#include <poputil/exceptions.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace popops {

using poplar::ComputeSet;
using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;
using poplar::VertexRef;

Reduction arrange(const Tensor &in, const std::vector<std::size_t> &dims) {
  std::vector<unsigned> order, last;
  Reduction r;
  std::size_t outputs = 1;
  for (unsigned d = 0; d < in.rank(); ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    (reduced ? last : order).push_back(d);
    if (!reduced) {
      r.shape.push_back(in.dim(d));
      outputs *= in.dim(d);
    }
  }
  for (const std::size_t d : dims)
    if (d >= in.rank())
      throw poputil::poplibs_error("reduce: dimension " + std::to_string(d) +
                                   " of a tensor of "
                                   "shape " +
                                   in.shapeToString());
  order.insert(order.end(), last.begin(), last.end());
  r.matrix = in.dimShuffle(order).reshape({outputs, outputs ? in.numElements() / outputs : 0});
  return r;
}

namespace {

/// Adds a vertex that reduces rows to elements of a tile. scale: of one element, or none.
void addVertex(Graph &graph, ComputeSet cs, unsigned tile, const std::vector<Tensor> &rows,
               const Tensor &out, const ReduceParams &params, const Tensor &scale) {
  const VertexRef v = graph.addVertex(cs, params.update ? poplar::emulator::kReduceUpdate
                                                        : poplar::emulator::kReduce);
  graph.connect(v["rows"], rows);
  graph.connect(v["scalar"], scale.reshape({}));
  graph.connect(v[params.update ? "inout" : "out"], out);
  graph.setInitialValue(v["type"], static_cast<unsigned>(rows[0].elementType().identity()));
  graph.setInitialValue(v["outType"], static_cast<unsigned>(out.elementType().identity()));
  graph.setInitialValue(v["choice"], static_cast<unsigned>(params.op));
  graph.setInitialValue(v["a"], params.useScale ? 1.f : 0.f);
  graph.setTileMapping(v, tile);
}

/// The scale of vertices that have none.
Tensor noScale(Graph &graph, unsigned tile) {
  const Tensor scale = graph.addConstant<float>(poplar::FLOAT, {}, 1.0f);
  graph.setTileMapping(scale, tile);
  return scale;
}

/// Reduces each row of a matrix to an element of `out`, on the tile of that element.
void addRows(Graph &graph, const std::vector<Tensor> &matrix, const Tensor &out,
             const ReduceParams &params, ComputeSet cs) {
  const auto mapping = graph.getTileMapping(out);
  Tensor scale = params.scale;
  bool scaled = params.useScale;
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    if (!scaled)
      scale = noScale(graph, tile), scaled = true;
    std::vector<Tensor> rows;
    for (const Interval &i : mapping[tile])
      rows.insert(rows.end(), matrix.begin() + static_cast<std::ptrdiff_t>(i.begin()),
                  matrix.begin() + static_cast<std::ptrdiff_t>(i.end()));
    addVertex(graph, cs, tile, rows,
              poplar::concat(out.slices(poplar::ArrayRef<Interval>(mapping[tile]))), params, scale);
  }
}

/// The elements of a row that are on a tile, as intervals of the flat matrix.
using RowsOfTile = std::map<std::size_t, std::vector<Interval>>;

/// The rows of a matrix in parts by tile, if that moves less than reducing each row on the tile of
/// its output; else nothing. Few elements are worth no second compute set.
std::vector<RowsOfTile> partsByTile(Graph &graph, const Tensor &matrix, const Tensor &out) {
  constexpr std::size_t kBytesOfOneStage = 16384, kBytesThatHardlyFit = 200000, kParts = 200000;
  const std::size_t length = matrix.dim(1);
  const std::size_t size = graph.getTarget().getTypeSize(matrix.elementType());
  std::size_t most = 0;
  for (const auto &intervals : graph.getTileMapping(out)) {
    std::size_t outputs = 0;
    for (const Interval &i : intervals)
      outputs += i.size();
    most = std::max(most, outputs * length * size);
  }
  if (most <= kBytesOfOneStage)
    return {};
  const auto mapping = graph.getTileMapping(matrix.flatten());
  std::vector<RowsOfTile> tiles(mapping.size());
  std::size_t parts = 0, mapped = 0;
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    for (const Interval &i : mapping[tile])
      for (std::size_t begin = i.begin(); begin < i.end();) {
        const std::size_t row = begin / length, end = std::min(i.end(), (row + 1) * length);
        tiles[tile][row].push_back({begin, end});
        mapped += end - begin;
        begin = end;
      }
    parts += tiles[tile].size();
  }
  if (mapped < matrix.numElements()) // the checks of the graph report it
    return {};
  const bool few = parts <= kParts && parts <= matrix.numElements() / 8;
  if (few || (most > kBytesThatHardlyFit && parts <= matrix.numElements() / 2))
    return tiles;
  return {};
}

} // namespace

void addReduce(Graph &graph, const Tensor &in, const Tensor &out,
               const std::vector<std::size_t> &dims, const ReduceParams &params,
               std::vector<ComputeSet> &css, const poplar::DebugContext &debugContext) {
  const Reduction r = arrange(in, dims);
  if (out.numElements() != r.matrix.dim(0))
    throw poputil::poplibs_error("reduce: the output has shape " + out.shapeToString());
  if (css.empty())
    css.push_back(graph.addComputeSet({debugContext, "Reduce"}));
  std::vector<Tensor> rows;
  const auto tiles = partsByTile(graph, r.matrix, out.flatten());
  if (tiles.empty()) {
    for (std::size_t o = 0; o < r.matrix.dim(0); ++o)
      rows.push_back(r.matrix[o]);
    addRows(graph, rows, out.flatten(), params, css[0]);
    return;
  }
  if (css.size() == 1)
    css.push_back(graph.addComputeSet({debugContext, "ReduceStage2"}));
  const bool adds = params.op == popops::Operation::ADD ||
                    params.op == popops::Operation::SQUARE_ADD ||
                    params.op == popops::Operation::LOG_ADD;
  const poplar::Type partial =
      adds && in.elementType() == poplar::HALF ? poplar::FLOAT : in.elementType();
  const Tensor flat = r.matrix.flatten();
  std::vector<std::vector<Tensor>> partials(r.matrix.dim(0));
  Tensor scale;
  for (unsigned tile = 0; tile < tiles.size(); ++tile) {
    if (tiles[tile].empty())
      continue;
    if (!scale.valid())
      scale = noScale(graph, tile);
    const Tensor made =
        graph.addVariable(partial, {tiles[tile].size()}, {debugContext, "partials"});
    graph.setTileMapping(made, tile);
    std::vector<Tensor> parts;
    for (const auto &[row, intervals] : tiles[tile]) {
      partials[row].push_back(made.slice(parts.size(), parts.size() + 1));
      parts.push_back(poplar::concat(flat.slices(poplar::ArrayRef<Interval>(intervals))));
    }
    addVertex(graph, css[0], tile, parts, made, ReduceParams(params.op), scale);
  }
  ReduceParams second = params;
  if (params.op == popops::Operation::SQUARE_ADD)
    second.op = popops::Operation::ADD;
  for (const std::vector<Tensor> &of : partials)
    rows.push_back(poplar::concat(of));
  addRows(graph, rows, out.flatten(), second, css[1]);
}

} // namespace popops
