// `op_name="SelectSpikes"`, and its gradient. docs/reference/poplar_op.md lists inputs, outputs,
// attributes.
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/exceptions.hpp>

#include "api_level.h"
#include "exported_op.h"
#include "forward/forward.h"
#include "forward/selection.h"
#include "layout/slot_rows.h"
#include "words.h"

using lif::SlotRows;
using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Execute;
using poplar::program::Program;
using poplar::program::Sequence;

extern "C" {

IPULSE_METADATA(SelectSpikes)
IPULSE_METADATA(SelectSpikes_grad)

IPULSE_BUILD(SelectSpikes) {
  const lif::Words words(attributes, "ipulse-select-spikes/1", {"slots", "surrogate"},
                         {"second_threshold", "cyclic", "top"});
  const bool gated = words.flag("second_threshold"), cyclic = words.flag("cyclic");
  if (cyclic && words.flag("top"))
    throw poputil::poplibs_error("SelectSpikes: cyclic or top, not both; got '" + attributes + "'");
  lif::checkNumber("SelectSpikes", inputs, 2 + gated + cyclic,
                   "u, threshold, second_threshold if there is one, offsets if cyclic");
  if (inputs[0].rank() != 2 || inputs[0].elementType() != FLOAT)
    throw poputil::poplibs_error("SelectSpikes: u must be float [batch, neurons]; got " +
                                 inputs[0].shapeToString());
  const auto batch = static_cast<unsigned>(inputs[0].dim(0));
  const auto neurons = static_cast<unsigned>(inputs[0].dim(1));
  for (std::size_t i = 1; i < 2u + gated; ++i)
    lif::checkShape("a threshold", inputs[i], {neurons});
  if (cyclic)
    lif::checkShape("offsets", inputs.back(), {batch});
  if (cyclic && inputs.back().elementType() != poplar::INT)
    throw poputil::poplibs_error("SelectSpikes: offsets must be int; got " +
                                 inputs.back().elementType().toString());
  lif::Network network;
  network.inputs = network.inputSlots = 1;
  lif::Layer layer;
  layer.neurons = neurons;
  layer.slots = words.whole("slots");
  if (layer.slots > neurons)
    throw poputil::poplibs_error("SelectSpikes: slots must be 1 to " + std::to_string(neurons) +
                                 "; got " + std::to_string(layer.slots));
  network.layers.push_back(layer);
  const lif::TilePlan plan = lif::planFor(graph, network, batch);
  lif::IpuGraphs graphs(graph, plan);
  lif::Arrivals arrivals(graphs);
  const lif::SpikeSource source(graphs, plan, 1, batch, layer.slots, {0}, arrivals);
  const lif::Policy policy = cyclic              ? lif::Policy::Cyclic
                             : words.flag("top") ? lif::Policy::Top
                                                 : lif::Policy::Index;
  lif::Selection selection(graphs, words.surrogate(), policy, plan.ranges[0][0], inputs[1],
                           gated ? inputs[2] : Tensor(), layer.slots, false, arrivals,
                           plan.names[0]);
  if (cyclic)
    selection.beginAt(inputs.back().reinterpret(poplar::UNSIGNED_INT));
  const auto history = [&](std::size_t width, const char *name) {
    return lif::sampleTensor(graphs, FLOAT, batch, 1, width, plan.samples(1), name);
  };
  const lif::SlotHistory slots{history(layer.slots, "ids"),
                               history(2, "counts"),
                               history(1, "dropped"),
                               {history(layer.slots, "surrogate")}};
  const lif::StepNumber step(graphs, plan, "step");
  arrivals.zero(step.all());
  const poplar::ComputeSet list = graph.addComputeSet("list"), join = graph.addComputeSet("join");
  selection.list(graphs, list, inputs[0]);
  selection.join(graphs, join, plan, source, slots, step);
  Sequence program;
  arrivals.addTo(program);
  program.add(Execute(list));
  program.add(Execute(join));
  outputs = {slots.ids.squeeze({1}), slots.counts.squeeze({1}), slots.dropped.reshape({batch}),
             slots.values[0].squeeze({1})};
  return std::move(program);
}

IPULSE_GRADIENT(SelectSpikes) {
  static_cast<void>(attributes);
  const SlotRows slots(results[0].expand({0}), results[1].expand({0}));
  const auto neurons = static_cast<unsigned>(inputs[0].dim(1));
  Tensor dense;
  Sequence program;
  program.add(lif::scatter(graph, slots, gradients[0], &results[3], neurons, dense));
  const Tensor sum =
      popops::reduce(graph, dense, {0}, popops::ReduceParams(popops::Operation::ADD), program);
  outputs = {dense, popops::neg(graph, sum, program)};
  return std::move(program);
}

} // extern "C"
