#include "conv_operands.h"

namespace lif {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Sequence;

namespace {

/// Sums over samples are in at most 16 groups, as of spike_conv_reference.py.
constexpr std::size_t kGroups = 16;

Share groupsOf(const ConvOperands &operands) {
  return {operands.batch, std::min<std::size_t>(kGroups, operands.batch)};
}

/// The rows of a group in the order of its sums: samples ascending, steps descending.
std::vector<std::size_t> rowsOf(const ConvOperands &operands, std::size_t group) {
  const Share groups = groupsOf(operands);
  std::vector<std::size_t> rows;
  for (std::size_t b = groups.begin(group); b < groups.end(group); ++b)
    for (std::size_t t = operands.steps; t-- != 0;)
      rows.push_back(t * operands.batch + b);
  return rows;
}

/// Some rows of a tensor, one behind the other.
Tensor chosen(const Tensor &of, const std::vector<std::size_t> &rows, std::size_t first,
              std::size_t end) {
  std::vector<Tensor> found;
  for (std::size_t i = first; i < end; ++i)
    found.push_back(of[rows[i]].flatten());
  return poplar::concat(found);
}

/// Compute sets that run one after the other.
class Passes {
public:
  Passes(Graph &graph, std::string name) : graph(graph), name(std::move(name)) {}
  poplar::ComputeSet operator[](std::size_t pass) {
    while (sets.size() <= pass)
      sets.push_back(graph.addComputeSet(name + "/" + std::to_string(sets.size())));
    return sets[pass];
  }
  Program program() const {
    Sequence found;
    for (const poplar::ComputeSet &set : sets)
      found.add(Execute(set));
    return std::move(found);
  }

private:
  Graph &graph;
  std::string name;
  std::vector<poplar::ComputeSet> sets;
};

/// Adds the rows of a plane [rows, width] to sums on a tile.
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

Tensor variable(Graph &graph, std::size_t size, const char *name, unsigned tile) {
  const Tensor t = graph.addVariable(poplar::FLOAT, {size}, name);
  graph.setTileMapping(t, tile);
  return t;
}

/// The sum of tensors of one shape, the first one first.
Tensor addGroups(Graph &graph, poplar::ComputeSet set, const std::vector<Tensor> &groups,
                 unsigned tile) {
  if (groups.size() == 1)
    return groups[0];
  const Tensor sum = variable(graph, groups[0].numElements(), "SpikeConv/sum", tile);
  std::vector<Tensor> flat;
  for (const Tensor &group : groups)
    flat.push_back(group.flatten());
  addRows(graph, set, poplar::concat(flat), sum, groups.size(), true, tile);
  return sum.reshape(groups[0].shape());
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
  const Tensor planes =
      gradients.reshape({slots.rows(), std::size_t(conv.positions()), conv.filters});
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
      const Tensor plane = planes.slice(filters.begin(filter), filters.end(filter), 2);
      std::vector<Tensor> sums;
      for (std::size_t group = 0; group < groups; ++group) {
        const unsigned tile = tileOfGroup(group);
        const std::vector<std::size_t> rows = rowsOf(operands, group);
        sums.push_back(variable(graph, taps.size(tap) * conv.groupChannels() * width,
                                "SpikeConv/weights", tile)
                           .reshape({taps.size(tap), conv.groupChannels(), width}));
        for (std::size_t first = 0; first < rows.size(); first += together) {
          const std::size_t end = std::min(rows.size(), first + together);
          const double items = static_cast<double>(end - first) * slots.slots;
          operands.vertex(graph, passes[first / together], "ConvWeightProducts", tile)
              .connect("ids", chosen(slots.ids, rows, first, end))
              .connect("counts", chosen(slots.counts, rows, first, end))
              .connect("plane", chosen(plane, rows, first, end))
              .connect("sums", sums.back().flatten())
              .set("rows", static_cast<unsigned>(end - first))
              .set("slots", slots.slots)
              .set("countWidth", slots.countWidth)
              .set("firstTap", static_cast<unsigned>(taps.begin(tap)))
              .set("taps", taps.size(tap))
              .set("firstFilter", static_cast<unsigned>(filters.begin(filter)))
              .set("width", static_cast<unsigned>(width))
              .set("begins", first == 0)
              .estimate(100 + 6 * items * (30 + shareOf(taps.size(tap) * width) * 10));
        }
      }
      ofFilters.push_back(addGroups(graph, add, sums, tileOfGroup(0)));
    }
    ofTaps.push_back(poplar::concat(ofFilters, 2));
  }
  kernel = poplar::concat(ofTaps).reshape(
      {conv.kernel[0], conv.kernel[1], conv.groupChannels(), conv.filters});
  Sequence program;
  program.add(passes.program());
  program.add(Execute(add));
  return std::move(program);
}

/// A tile has one group of samples and a part of the neurons; their sums are then added over
/// positions.
Program convBiasGradients(Graph &graph, const ConvOperands &operands, const Tensor &gradients,
                          Tensor &bias) {
  const Convolution &conv = operands.conv;
  const std::size_t groups = groupsOf(operands).parts;
  const Share neurons{conv.neurons(), tilesFor(graph, groups, conv.neurons())};
  Passes passes(graph, "SpikeConv/bias");
  const poplar::ComputeSet add = graph.addComputeSet("SpikeConv/bias/groups");
  std::vector<Tensor> all;
  for (std::size_t part = 0; part < neurons.parts; ++part) {
    const Tensor plane = gradients.slice(neurons.begin(part), neurons.end(part), 1);
    const std::size_t together = std::max<std::size_t>(1, kPieceFloats / neurons.size(part));
    std::vector<Tensor> sums;
    for (std::size_t group = 0; group < groups; ++group) {
      const unsigned tile = tileOf(graph, part * groups + group, neurons.parts * groups);
      const std::vector<std::size_t> rows = rowsOf(operands, group);
      sums.push_back(variable(graph, neurons.size(part), "SpikeConv/bias", tile));
      for (std::size_t first = 0; first < rows.size(); first += together) {
        const std::size_t end = std::min(rows.size(), first + together);
        addRows(graph, passes[first / together], chosen(plane, rows, first, end), sums.back(),
                end - first, first == 0, tile);
      }
    }
    all.push_back(
        addGroups(graph, add, sums, tileOf(graph, part * groups, neurons.parts * groups)));
  }
  const Tensor planes = poplar::concat(all).reshape({conv.positions(), conv.filters});
  const Share filters{conv.filters, tilesFor(graph, 1, conv.filters)};
  Passes over(graph, "SpikeConv/bias/positions");
  std::vector<Tensor> ofFilters;
  for (std::size_t part = 0; part < filters.parts; ++part) {
    const unsigned tile = tileOf(graph, part, filters.parts);
    ofFilters.push_back(variable(graph, filters.size(part), "SpikeConv/bias", tile));
    const Tensor own = planes.slice(filters.begin(part), filters.end(part), 1);
    const std::size_t together = std::max<std::size_t>(1, kPieceFloats / filters.size(part));
    for (std::size_t first = 0; first < conv.positions(); first += together) {
      const std::size_t end = std::min<std::size_t>(conv.positions(), first + together);
      addRows(graph, over[first / together], own.slice(first, end), ofFilters.back(), end - first,
              first == 0, tile);
    }
  }
  bias = poplar::concat(ofFilters);
  Sequence program;
  program.add(passes.program());
  program.add(Execute(add));
  program.add(over.program());
  return std::move(program);
}

} // namespace lif
