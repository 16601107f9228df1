#include "slot_gradients.h"

#include <algorithm>

#include <poputil/VertexTemplates.hpp>

#include "layout/new_vertex.h"

namespace lif {
namespace {

constexpr std::size_t kFloatsAPiece = 12; // a pair for every worker
constexpr std::size_t kMostGroups = 8;    // of rows, which the sample's tile adds up

} // namespace

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;

SlotSums::SlotSums(IpuGraphs &graph, const TilePlan &plan, const Neurons &receivers,
                   std::size_t matrix, const SpikeSource &source)
    : receivers(&receivers), matrix(matrix), source(&source) {
  const std::vector<TilePart> &parts = *receivers.parts;
  const std::size_t batch = source.batch, size = batch * source.stride;
  rows = graph.addVariable(FLOAT, {parts.size(), size},
                           plan.names[receivers.number] + "/slot_partials");
  for (std::size_t p = 0; p < parts.size(); ++p)
    graph.setTileMapping(rows[p], parts[p].place);
  // One piece per tile of an IPU: first along the slots, then along the rows.
  const std::size_t tiles = plan.tilesPerIpu;
  const std::size_t wide = std::max(kFloatsAPiece, (size + tiles - 1) / tiles + 1) / 2 * 2;
  const std::size_t across = (size + wide - 1) / wide;
  const std::vector<Range> &ranges = plan.ranges[receivers.number];
  const std::size_t most =
      std::max<std::size_t>(1, std::min(kMostGroups / ranges.size(), tiles / across));
  std::vector<Tensor> summed;
  std::size_t first = 0;
  for (const Range &range : ranges) {
    std::size_t number = 0; // of the parts on this IPU
    while (first + number < parts.size() && parts[first + number].place.ipu == range.ipu)
      ++number;
    const std::size_t count = std::min(most, number);
    for (std::size_t g = 0, piece = 0; g < count; ++g) {
      const Tensor group =
          graph.addVariable(FLOAT, {size}, plan.names[receivers.number] + "/slot_sums");
      for (std::size_t begin = 0; begin < size; begin += wide, ++piece) {
        const auto row = [&](std::size_t i) {
          return static_cast<unsigned>(first + number * i / count);
        };
        pieces.push_back({plan.workTile(range.ipu, piece), row(g), row(g + 1),
                          static_cast<unsigned>(summed.size()), begin,
                          std::min(size, begin + wide)});
        graph.setTileMapping(group.slice(begin, pieces.back().end), pieces.back().place);
      }
      summed.push_back(group.reshape({1, batch, source.stride}));
    }
    first += number;
  }
  groups = poplar::concat(summed);
}

void SlotSums::partials(IpuGraphs &graph, ComputeSet set, const NeuronTensor &gradCurrent) const {
  const auto batch = static_cast<unsigned>(source->batch);
  for (std::size_t p = 0; p < receivers->parts->size(); ++p) {
    const TilePart &part = (*receivers->parts)[p];
    const Tensor &weights = receivers->weights[matrix].part(p);
    NewVertex(graph, set, poputil::templateVertex("SlotPartials", weights.elementType()),
              part.place)
        .connect("ids", source->ids.on(part.place.ipu).flatten())
        .connect("counts", source->counts.on(part.place.ipu).flatten())
        .connect("weights", receivers->weights[matrix].field(p))
        .connect("gradCurrent", gradCurrent.field(p))
        .connect("partials", rows[p])
        .set("samples", batch)
        .set("slots", source->stride)
        .set("pairCount", part.pairs())
        .estimate(6.0 * shareOf(batch) *
                  (25 + source->slots * (part.pairs() == 1 ? 9.0 : 5.5 + 5.3 * part.pairs())));
  }
}

void SlotSums::sum(IpuGraphs &graph, ComputeSet set) const {
  const Tensor flat = groups.reshape({groups.dim(0), groups.dim(1) * groups.dim(2)});
  for (const Piece &piece : pieces)
    NewVertex(graph, set, "SumRows", piece.place)
        .connect("rows",
                 rows.slice({piece.firstRow, piece.begin}, {piece.lastRow, piece.end}).flatten())
        .connect("sum", flat[piece.group].slice(piece.begin, piece.end))
        .set("rowCount", piece.lastRow - piece.firstRow)
        .set("pairCount", static_cast<unsigned>(piece.end - piece.begin) / 2)
        .estimate(6.0 * (20 + shareOf((piece.end - piece.begin) / 2) *
                                  (10 + 5.0 * (piece.lastRow - piece.firstRow))));
}

Tensor sumsOfSample(const std::vector<const SlotSums *> &all, std::size_t sample) {
  std::vector<Tensor> rows;
  for (const SlotSums *one : all)
    rows.push_back(one->sums().slice(sample, sample + 1, 1).squeeze({1}));
  return poplar::concat(rows);
}

} // namespace lif
