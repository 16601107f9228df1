#include "layer_run.h"

#include <poputil/VertexTemplates.hpp>

#include "layout/new_vertex.h"

namespace lif {

using poplar::ComputeSet;
using poplar::FLOAT;
using poplar::Tensor;

namespace {

/// Adds the part of a spiking layer on one of its IPUs.
void addRange(IpuGraphs &graph, const Network &network, const TilePlan &plan,
              const Operands &operands, const Range &range, bool stored, Arrivals &arrivals,
              LayerRun &run) {
  const unsigned l = run.neurons.number;
  const Layer &layer = network.layers[l];
  const std::string &name = plan.names[l];
  const bool membranes = network.recordsMembranes(layer);
  const SampleTiles tiles = plan.samples(l + 1, range.ipu);
  run.selection.emplace_back(
      graph, network.surrogate, layer.policy, range, operands.get(Role::Threshold, l),
      operands.get(Role::SecondThreshold, l), layer.slots, membranes, arrivals, name);
  if (layer.policy == Policy::Cyclic) {
    run.offsets.push_back(
        sampleTensor(graph, poplar::UNSIGNED_INT, operands.batch, 1, 1, tiles, name + "/offsets")
            .flatten());
    run.selection.back().beginAt(run.offsets.back());
  }
  const auto history = [&](std::size_t width, const char *what) {
    return sampleTensor(graph, FLOAT, operands.batch, operands.steps, width, tiles, name + what);
  };
  SlotHistory slots;
  if (run.slots.empty()) {
    slots.ids = history(layer.slots, "/slot_ids");
    slots.counts = history(2, "/slot_counts");
    slots.dropped = history(1, "/dropped");
  }
  for (unsigned v = 0; stored && v < (membranes ? 2 : 1); ++v)
    slots.values.push_back(history(layer.slots, v ? "/slot_u" : "/slot_phi"));
  run.slots.push_back(std::move(slots));
}

} // namespace

LayerRun newRun(IpuGraphs &graph, const Network &network, const TilePlan &plan,
                const Operands &operands, Neurons neurons, Stored stored, Arrivals &arrivals) {
  const unsigned l = neurons.number;
  const Layer &layer = network.layers[l];
  const unsigned batch = operands.batch, steps = operands.steps;
  const std::vector<TilePart> &parts = plan.layers[l];
  const std::string &name = plan.names[l];
  LayerRun run{std::move(neurons), {}, {}, {}, {}, {}, {}, {}};
  const Tensor bias = operands.get(Role::Bias, l);
  run.state.bias = bias.valid() ? arrivals.neurons(bias, parts, name + "/bias")
                                : constantNeurons(graph, parts, 0);
  const poplar::Type type = network.states == States::Float ? FLOAT : poplar::HALF;
  run.state.u = arrivals.zeros(batch, parts, name + "/u", type);
  if (layer.synapse)
    run.state.i = arrivals.zeros(batch, parts, name + "/i", type);
  if (layer.adapts) {
    run.state.rise = arrivals.zeros(batch, parts, name + "/rise");
    run.state.shifted = arrivals.zeros(batch, parts, name + "/shifted");
  }
  const auto everyStep = [&](const char *what) {
    return NeuronTensor(graph, std::size_t{steps} * batch, parts, name + what);
  };
  if (stored.membranes && layer.membrane)
    run.membranes = everyStep("/membranes");
  if (stored.forBackward && network.constantGradients) {
    run.state.carried = everyStep("/carried");
    run.state.current = everyStep("/current");
    if (layer.adapts)
      run.state.raised = everyStep("/raised");
  }
  if (!layer.spiking)
    return run;
  if (stored.forBackward && network.recordsResets(layer))
    run.resets =
        NeuronTensor(graph, std::size_t{steps} * ((batch + 23) / 24), parts, name + "/resets");
  for (const Range &range : plan.ranges[l])
    addRange(graph, network, plan, operands, range, stored.forBackward, arrivals, run);
  const unsigned values = network.recordsMembranes(layer) ? 2 : 1;
  if (run.selection.size() > 1)
    run.split.emplace_back(graph, plan, l, batch, layer.slots, values);
  return run;
}

void record(IpuGraphs &graph, ComputeSet set, const LayerRun &run, unsigned batch,
            const StepNumber &step) {
  const std::vector<TilePart> &parts = *run.neurons.parts;
  const poplar::Type type = run.state.u.part(0).elementType();
  const poplar::Type compared = run.state.compared().part(0).elementType();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const TilePart &part = parts[p];
    if (!run.membranes.empty())
      NewVertex(graph, set, poputil::templateVertex("RecordMembrane", type), part.place)
          .connect("u", run.state.u.field(p))
          .connect("step", step.on(part.place))
          .connect("history", run.membranes.field(p))
          .set("pairCount", batch * part.pairs())
          .estimate(6.0 * 20 + 2.0 * batch * part.pairs());
    if (!run.resets.empty())
      NewVertex(graph, set, poputil::templateVertex("RecordResets", compared), part.place)
          .connect("u", run.state.compared().field(p))
          .connect("threshold", run.neurons.threshold.field(p))
          .connect("step", step.on(part.place))
          .connect("history", run.resets.field(p))
          .set("samples", batch)
          .set("row", part.row())
          .estimate(6.0 * 20 + 6.0 * batch * part.row());
  }
}

} // namespace lif
