#include "sample_groups.h"

namespace lif {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Sequence;

namespace {

/// The gradients of each part of the filters, [rows, positions, width]. They are moved together on
/// the tiles of bands of positions: a tile that receives a part of the filters at every position of
/// many rows needs code for every piece that it receives.
std::vector<Tensor> splitFilters(Graph &graph, const ConvOperands &operands,
                                 const Tensor &gradients, const Share &filters, Sequence &program) {
  const Convolution &conv = operands.conv;
  const std::size_t rows = operands.slots.rows();
  if (filters.parts == 1)
    return {gradients.reshape({rows, std::size_t(conv.positions()), conv.filters})};
  const std::size_t fitting = (conv.neurons() + kPieceFloats - 1) / kPieceFloats;
  const Share positions{
      conv.positions(),
      std::min<std::size_t>(conv.positions(),
                            std::max(fitting, tilesFor(graph, rows, conv.positions())))};
  std::vector<unsigned> bounds;
  for (std::size_t part = 0; part <= filters.parts; ++part)
    bounds.push_back(static_cast<unsigned>(filters.begin(part)));
  Passes passes(graph, "SpikeConv/split");
  std::vector<unsigned> used(graph.getTarget().getNumTiles());
  std::vector<std::vector<Tensor>> found(filters.parts);
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::vector<Tensor>> ofRow(filters.parts);
    for (std::size_t band = 0; band < positions.parts; ++band) {
      const unsigned tile = tileOf(graph, row * positions.parts + band, rows * positions.parts);
      const std::size_t places = positions.size(band);
      const Tensor split = variableOn(graph, places * conv.filters, "SpikeConv/split", tile);
      const Tensor ends =
          graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {bounds.size()}, bounds.data());
      graph.setTileMapping(ends, tile);
      NewVertex(graph, passes[used[tile]++], "ConvSplitFilters", tile)
          .connect("gradients", gradients[row].slice(positions.begin(band) * conv.filters,
                                                     positions.end(band) * conv.filters))
          .connect("bounds", ends)
          .connect("byParts", split)
          .set("positions", static_cast<unsigned>(places))
          .set("filters", conv.filters)
          .set("parts", static_cast<unsigned>(filters.parts))
          .estimate(50 + 6 * shareOf(places) *
                             (15.0 * static_cast<double>(filters.parts) + 3 * conv.filters));
      for (std::size_t part = 0; part < filters.parts; ++part)
        ofRow[part].push_back(split.slice(filters.begin(part) * places, filters.end(part) * places)
                                  .reshape({1, places, filters.size(part)}));
    }
    for (std::size_t part = 0; part < filters.parts; ++part)
      found[part].push_back(poplar::concat(ofRow[part], 1));
  }
  program.add(passes.program());
  std::vector<Tensor> byParts;
  for (const std::vector<Tensor> &part : found)
    byParts.push_back(poplar::concat(part));
  return byParts;
}

} // namespace

/// A tile has one group of samples, and a part of the taps and the filters: the gradient of a
/// weight is then one chain of additions of one worker, in the order of the CPU. The bands of the
/// forward pass would each have a part of that chain.
Program convWeightGradients(Graph &graph, const ConvOperands &operands, const Tensor &gradients,
                            Tensor &kernel) {
  const Convolution &conv = operands.conv;
  const SlotRows &slots = operands.slots;
  const std::size_t groups = groupsOf(operands).parts;
  const Share filters{conv.filters, tilesFor(graph, groups, (conv.filters + 1) / 2)};
  const Share taps{conv.taps(), tilesFor(graph, groups * filters.parts, conv.taps())};
  Sequence program;
  const std::vector<Tensor> planes = splitFilters(graph, operands, gradients, filters, program);
  Passes passes(graph, "SpikeConv/weights");
  const poplar::ComputeSet add = graph.addComputeSet("SpikeConv/weights/groups");
  std::vector<Tensor> ofTaps;
  for (std::size_t tap = 0; tap < taps.parts; ++tap) {
    std::vector<Tensor> ofFilters;
    for (std::size_t filter = 0; filter < filters.parts; ++filter) {
      const std::size_t width = filters.size(filter);
      const std::size_t together =
          std::max<std::size_t>(1, kPieceFloats / (conv.positions() * width + slots.slots));
      const std::size_t part = tap * filters.parts + filter;
      const auto tileOfGroup = [&](std::size_t group) {
        const std::size_t parts = taps.parts * filters.parts;
        return tileOf(graph, part * groups + group, parts * groups);
      };
      std::vector<Tensor> sums;
      for (std::size_t group = 0; group < groups; ++group) {
        const unsigned tile = tileOfGroup(group);
        const std::vector<std::size_t> rows = rowsOf(operands, group);
        sums.push_back(variableOn(graph, taps.size(tap) * conv.groupChannels() * width,
                                  "SpikeConv/weights", tile)
                           .reshape({taps.size(tap), conv.groupChannels(), width}));
        for (std::size_t first = 0; first < rows.size(); first += together) {
          const std::size_t end = std::min(rows.size(), first + together);
          const double items = static_cast<double>(end - first) * slots.slots;
          operands.vertex(graph, passes[first / together], "ConvWeightProducts", tile)
              .connect("ids", chosen(slots.ids, rows, first, end))
              .connect("counts", chosen(slots.counts, rows, first, end))
              .connect("plane", chosen(planes[filter], rows, first, end))
              .connect("sums", sums.back().flatten())
              .set("rows", static_cast<unsigned>(end - first))
              .set("slots", slots.slots)
              .set("countWidth", slots.countWidth)
              .set("firstTap", static_cast<unsigned>(taps.begin(tap)))
              .set("taps", taps.size(tap))
              .set("firstFilter", static_cast<unsigned>(filters.begin(filter)))
              .set("width", static_cast<unsigned>(width))
              .set("begins", first == 0)
              .estimate(100 + 6 * items * (90 + shareOf(taps.size(tap) * width) * 30));
        }
      }
      ofFilters.push_back(addGroups(graph, add, sums, tileOfGroup(0)));
    }
    ofTaps.push_back(poplar::concat(ofFilters, 2));
  }
  kernel = poplar::concat(ofTaps).reshape(
      {conv.kernel[0], conv.kernel[1], conv.groupChannels(), conv.filters});
  program.add(passes.program());
  program.add(Execute(add));
  return std::move(program);
}

} // namespace lif
