#include "slot_gradients.h"

#include <algorithm>

#include "new_vertex.h"

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
  const std::size_t batch = source.ids.dim(0), size = batch * source.stride;
  rows = graph.addVariable(FLOAT, {parts.size(), size}, "slot_partials");
  for (std::size_t p = 0; p < parts.size(); ++p)
    graph.setTileMapping(rows[p], parts[p].place);
  // As many pieces as there are tiles: first along the slots, then along the rows.
  const std::size_t tiles = plan.tilesPerIpu;
  const std::size_t wide = std::max(kFloatsAPiece, (size + tiles - 1) / tiles + 1) / 2 * 2;
  const std::size_t across = (size + wide - 1) / wide;
  const std::size_t number =
      std::max<std::size_t>(1, std::min({kMostGroups, parts.size(), tiles / across}));
  groups = graph.addVariable(FLOAT, {number, batch, source.stride}, "slot_sums");
  const Tensor flat = groups.reshape({number, size});
  const unsigned ipu = plan.ipuOfLayer[receivers.number];
  for (std::size_t g = 0; g < number; ++g) {
    for (std::size_t a = 0; a < across; ++a) {
      const Place place = plan.workTile(ipu, pieces.size());
      const auto row = [&](std::size_t i) {
        return static_cast<unsigned>(parts.size() * i / number);
      };
      pieces.push_back({place, row(g), row(g + 1), static_cast<unsigned>(g), a * wide,
                        std::min(size, (a + 1) * wide)});
      graph.setTileMapping(flat[g].slice(pieces.back().begin, pieces.back().end), place);
    }
  }
}

void SlotSums::partials(IpuGraphs &graph, ComputeSet set, const NeuronTensor &gradCurrent) const {
  const auto batch = static_cast<unsigned>(source->ids.dim(0));
  for (std::size_t p = 0; p < receivers->parts->size(); ++p) {
    const TilePart &part = (*receivers->parts)[p];
    NewVertex(graph, set, "SlotPartials", part.place)
        .connect("ids", source->idsFor(matrix).flatten())
        .connect("counts", source->countsFor(matrix).flatten())
        .connect("weights", receivers->weights[matrix].field(p))
        .connect("gradCurrent", gradCurrent.field(p))
        .connect("partials", rows[p])
        .set("samples", batch)
        .set("slots", source->stride)
        .set("pairCount", part.pairs())
        .estimate(batch * (25.0 + source->slots * (1.5 + 2 * part.pairs())));
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
