#include <poputil/VertexTemplates.hpp>

#include "conv_neurons.h"
#include "sample_groups.h"

namespace lif {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

namespace {

/// A tile has the neurons of a band of positions of a sample, in all steps. Positions are split
/// only if there are fewer samples than tiles.
struct Bands {
  Bands(const Graph &graph, const ConvOperands &of)
      : samples(of.batch),
        positions{of.conv.positions(), tilesFor(graph, of.batch, of.conv.positions())} {}
  std::size_t samples;
  Share positions;

  unsigned tile(const Graph &graph, std::size_t sample, std::size_t band) const {
    return tileOf(graph, sample * positions.parts + band, samples * positions.parts);
  }
  /// A variable [steps, neurons of the band].
  Tensor variable(Graph &graph, const ConvOperands &of, std::size_t sample, std::size_t band,
                  const char *name) const {
    const Tensor t = graph.addVariable(
        poplar::FLOAT, {of.steps, std::size_t(positions.size(band)) * of.conv.filters}, name);
    graph.setTileMapping(t, tile(graph, sample, band));
    return t;
  }
  /// The band's columns of rows `step * batch + sample`, [steps, neurons of the band].
  Tensor chosen(const ConvOperands &of, const Tensor &rows, std::size_t sample,
                std::size_t band) const {
    const std::size_t filters = of.conv.filters;
    return rows.reshape({of.steps, of.batch, rows.dim(1)})
        .slice(sample, sample + 1, 1)
        .squeeze({1})
        .slice(positions.begin(band) * filters, positions.end(band) * filters, 1);
  }
};

/// Rows `step * batch + sample` of bands, by sample and band.
Tensor rowsOf(const ConvOperands &of, const std::vector<std::vector<Tensor>> &bands) {
  std::vector<Tensor> samples;
  for (const std::vector<Tensor> &ofSample : bands)
    samples.push_back(poplar::concat(ofSample, 1).expand({1}));
  return poplar::concat(samples, 1).reshape({of.slots.rows(), of.conv.neurons()});
}

} // namespace

/// A tile sees the slots of as many steps at once as fit beside the rest.
Program convMembranes(Graph &graph, const ConvNeurons &neurons, Tensor &membranes) {
  const ConvOperands &of = neurons.operands;
  const SlotRows &slots = of.slots;
  const Bands bands(graph, of);
  const unsigned together = std::max(1u, static_cast<unsigned>(kPieceFloats) / slots.slots);
  const Tensor ids = slots.ids.reshape({of.steps, of.batch, slots.slots});
  const Tensor counts = slots.counts.reshape({of.steps, of.batch, slots.countWidth});
  const Tensor unused = of.kernel.slice(0, 1);
  const auto type = poputil::templateVertex("ConvMembranes", ids.elementType());
  Passes passes(graph, "ConvLIF/membranes");
  std::vector<std::vector<Tensor>> all(of.batch);
  for (std::size_t b = 0; b < of.batch; ++b)
    for (std::size_t band = 0; band < bands.positions.parts; ++band) {
      const Tensor u = bands.variable(graph, of, b, band, "ConvLIF/membranes");
      const unsigned places = bands.positions.size(band);
      for (unsigned t = 0; t < of.steps; t += together) {
        const unsigned end = std::min(of.steps, t + together);
        const double hits = (40.0 + 5.0 * of.conv.filters) * places / of.conv.positions();
        const double bySpike = 400 + of.conv.taps() * (20 + hits);
        of.vertex(graph, passes[t / together], type, bands.tile(graph, b, band))
            .connect("ids", ids.slice({t, b, 0}, {end, b + 1, slots.slots}).flatten())
            .connect("counts", counts.slice({t, b, 0}, {end, b + 1, slots.countWidth}).flatten())
            .connect("kernel", of.kernel)
            .connect("bias", of.biased ? of.bias : unused)
            .connect("before", t ? u[t - 1] : unused)
            .connect("membranes", u.slice(t, end).flatten())
            .set("steps", end - t)
            .set("slots", slots.slots)
            .set("countWidth", slots.countWidth)
            .set("firstPosition", static_cast<unsigned>(bands.positions.begin(band)))
            .set("positions", places)
            .set("reset", neurons.reset)
            .set("decay", neurons.decay)
            .set("threshold", neurons.threshold)
            .set("biased", of.biased)
            .set("goesOn", t != 0)
            .estimate((end - t) *
                      (6 * 20 * shareOf(places) * of.conv.filters + slots.slots * bySpike));
      }
      all[b].push_back(u);
    }
  membranes = rowsOf(of, all);
  return passes.program();
}

Program convAdjoint(Graph &graph, const ConvNeurons &neurons, const Tensor &membranes,
                    const Tensor &bySpikes, Tensor &byMembranes) {
  const ConvOperands &of = neurons.operands;
  const Bands bands(graph, of);
  const std::vector<float> &given = neurons.surrogate.table;
  const std::vector<float> values = given.empty() ? std::vector<float>(2, 0.0f) : given;
  const poplar::ComputeSet set = graph.addComputeSet("ConvLIF/adjoint");
  std::vector<std::vector<Tensor>> all(of.batch);
  for (std::size_t b = 0; b < of.batch; ++b)
    for (std::size_t band = 0; band < bands.positions.parts; ++band) {
      const Tensor found = bands.variable(graph, of, b, band, "ConvLIF/by_membranes");
      const unsigned tile = bands.tile(graph, b, band);
      const auto width = static_cast<unsigned>(found.dim(1));
      const Tensor table = graph.addConstant<float>(poplar::FLOAT, {values.size()}, values.data());
      graph.setTileMapping(table, tile);
      NewVertex(graph, set, "ConvAdjoint", tile)
          .connect("membranes", bands.chosen(of, membranes, b, band).flatten())
          .connect("bySpikes", bands.chosen(of, bySpikes, b, band).flatten())
          .connect("secondThreshold",
                   neurons.gated ? neurons.secondThreshold : of.kernel.slice(0, 1))
          .connect("table", table)
          .connect("byMembranes", found.flatten())
          .set("steps", of.steps)
          .set("neurons", width)
          .set("reset", neurons.reset)
          .set("resetGradient", neurons.resetGradient)
          .set("kind", neurons.surrogate.kind)
          .set("decay", neurons.decay)
          .set("threshold", neurons.threshold)
          .set("parameter", neurons.surrogate.parameter)
          .set("gated", neurons.gated)
          .estimate(100 + 6 * 40 * shareOf(width) * of.steps);
      all[b].push_back(found);
    }
  byMembranes = rowsOf(of, all);
  return poplar::program::Execute(set);
}

} // namespace lif
