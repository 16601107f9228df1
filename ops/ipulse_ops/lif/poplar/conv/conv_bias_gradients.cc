#include "sample_groups.h"

namespace lif {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Sequence;

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
      sums.push_back(variableOn(graph, neurons.size(part), "SpikeConv/bias", tile));
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
    ofFilters.push_back(variableOn(graph, filters.size(part), "SpikeConv/bias", tile));
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
